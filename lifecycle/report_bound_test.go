package lifecycle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// However many reports an agent sends about a task of another, and in whatever order, those of the other are kept.
func TestNobodysReportsTakeThePlaceOfAnothers(t *testing.T) {
	t.Parallel()
	report := func(agent, msgID string, attempt int) Event {
		e := Event{ID: NewEventID(agent, msgID), Kind: ReportCompleted, At: 100, TaskID: "T", Agent: agent, Attempt: attempt, Provenance: Reported}
		e.Detail.MsgID = msgID
		return e
	}
	events := []Event{report("cto", "T", 1)}
	for n := range 2 * maxReportsKept {
		events = append(events, report("mallory", "", n))
	}
	var want TaskFacts
	for i := range 3 {
		facts := TaskFacts{ID: "T"}
		for _, e := range events {
			facts.Join(e)
		}
		if !slices.ContainsFunc(facts.Reports, func(r ReportFacts) bool { return r.Agent == "cto" }) || len(facts.Reports) != maxReportsOfOne+1 {
			t.Errorf("order %d: %d reports are kept, want %d with that of the task's agent", i, len(facts.Reports), maxReportsOfOne+1)
		}
		if i == 0 {
			want = facts
		} else if diff := cmp.Diff(want, facts); diff != "" {
			t.Errorf("the order matters (-first +another):\n%s", diff)
		}
		slices.Reverse(events)
		events = append(events[i+5:], events[:i+5]...)
	}
}
