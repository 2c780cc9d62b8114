package views

import (
	"strings"
	"testing"

	"fleetglass/lifecycle"
)

// What an agent reports that never had the message stands in the list with its name, and tells nothing of the attempt.
func TestAStrangersReportStandsAloneInTheStory(t *testing.T) {
	t.Parallel()
	events, trace := twoMessages()
	for i := range trace.Facts.Copies {
		trace.Facts.Copies[i].Agent = "marketing"
	}
	forged := lifecycle.Event{ID: 90, Kind: lifecycle.ReportFailed, Provenance: lifecycle.Reported, At: events[8].At, TaskID: "t", Attempt: 2, Agent: "mallory", Message: events[8].Message,
		Detail: lifecycle.Detail{Ending: lifecycle.Ending{Reason: "forged"}, ModelUse: lifecycle.ModelUse{Model: "m", CostUSD: 0.5}}}
	story := Arrange(append(events, forged), trace)
	for _, r := range Compare(trace, story, []string{"TASKS:1/1", "TASKS:1/2"}).Rows {
		if said := r.Left + r.Right; strings.Contains(said, "forged") || strings.Contains(said, "$") {
			t.Errorf("the comparison says %s: %q", r.Name, said)
		}
	}
	found := false
	for _, r := range EventRows(story, trace, 0, true, href) {
		if r.Event.ID == forged.ID {
			found = true
			if got := r.text(); got != "mallory is not known to have had the message · forged · model m" {
				t.Errorf("its line says %q", got)
			}
		} else if r.Stranger {
			t.Errorf("%s is called a stranger's", r.Event.Kind)
		}
	}
	if !found {
		t.Error("the list does not have it")
	}
}
