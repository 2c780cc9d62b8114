package views

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

func TestTwoAttemptsAreCompared(t *testing.T) {
	t.Parallel()
	events, trace := twoMessages()
	failed := lifecycle.Event{ID: 90, Kind: lifecycle.ReportFailed, Provenance: lifecycle.Reported, At: events[8].At, TaskID: "t", Attempt: 2, Message: events[8].Message,
		Detail: lifecycle.Detail{Ending: lifecycle.Ending{Reason: "no, said twice"}, ModelUse: lifecycle.ModelUse{Model: "m", InputTokens: 1200, CostUSD: 0.5}}}
	story := Arrange(append(events, failed), trace)
	got := map[string]CompareRow{}
	v := Compare(trace, story, []string{"TASKS:1/1", "TASKS:1/2"})
	for _, r := range v.Rows {
		got[r.Name] = r
	}
	for _, want := range []CompareRow{
		{Name: "Message", Absent: notKnown, Left: "TASKS:1", Right: "TASKS:1", Difference: "same"},
		{Name: "End", Absent: notKnown, Left: "nak", Right: "terminated", Difference: "differs", Differs: true},
		{Name: "Failure", Absent: noneSeen, Right: "no · no, said twice", Difference: "second only", Differs: true},
		{Name: "Input tokens", Absent: notReported, Right: "1,200", Difference: "second only", Differs: true},
		{Name: "Output tokens", Absent: notReported},
		{Name: "Cost", Absent: notReported, Right: "$0.50", Difference: "second only", Differs: true},
		{Name: "Waited", Absent: notKnown, Left: "10 s", Right: "10 s", Difference: "same"},
		{Name: "Running", Absent: notKnown, Left: "10 s", Right: "10 s", Difference: "same"},
	} {
		if diff := cmp.Diff(want, got[want.Name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
	if v.Left != "Message 1, attempt 1" || v.Right != "Message 1, attempt 2" {
		t.Errorf("compares %q with %q", v.Left, v.Right)
	}
	last := Compare(trace, story, nil)
	if last.Left != "Message 1, attempt 2" || last.Right != "Message 2, attempt 1" {
		t.Errorf("without a choice: compares %q with %q", last.Left, last.Right)
	}
	if one := Compare(trace, story, []string{"TASKS:1/1", "TASKS:9/9"}); len(one.Rows) != 0 || len(one.Choices) != 3 {
		t.Errorf("with one that is not there: %+v", one)
	}
}
