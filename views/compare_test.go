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

// Who compares attempts after a failure asks what may have happened already, and who says so.
func TestEffectsSayWhoKnowsOfThem(t *testing.T) {
	t.Parallel()
	effect := func(kind lifecycle.Kind, id, tool, ref, key string) lifecycle.Event {
		return lifecycle.Event{Kind: kind, Detail: lifecycle.Detail{
			Naming: lifecycle.Naming{IdempotencyKey: key}, StepReport: lifecycle.StepReport{StepID: id, Tool: tool}, OutcomeReport: lifecycle.OutcomeReport{ResultRef: ref},
		}}
	}
	begun := effect(lifecycle.EffectLogged, "", "pay", "", "k")
	begun.Detail.Status = "pending"
	for name, test := range map[string]struct {
		events []lifecycle.Event
		want   string
	}{
		"nothing":                     {nil, ""},
		"an announcement alone":       {[]lifecycle.Event{effect(lifecycle.ReportStepIntent, "1", "pay", "", "")}, "pay (announced, not confirmed in this attempt)"},
		"a receipt":                   {[]lifecycle.Event{effect(lifecycle.ReportStepIntent, "1", "pay", "", ""), effect(lifecycle.ReportStepReceipt, "1", "pay", "ch_1", "")}, "pay → ch_1 (reported)"},
		"a receipt of another step":   {[]lifecycle.Event{effect(lifecycle.ReportStepIntent, "1", "pay", "", ""), effect(lifecycle.ReportStepReceipt, "2", "mail", "", "")}, "pay (announced, not confirmed in this attempt), mail (reported)"},
		"a log entry":                 {[]lifecycle.Event{effect(lifecycle.EffectLogged, "", "mail", "m-1", "k")}, "mail → m-1 (recorded)"},
		"the log confirms a step":     {[]lifecycle.Event{effect(lifecycle.ReportStepIntent, "1", "pay", "", "k"), effect(lifecycle.EffectLogged, "", "pay", "ch_1", "k")}, "pay → ch_1 (recorded)"},
		"the log has another key":     {[]lifecycle.Event{effect(lifecycle.ReportStepIntent, "1", "pay", "", "k"), effect(lifecycle.EffectLogged, "", "pay", "", "l")}, "pay (announced, not confirmed in this attempt), pay (recorded)"},
		"the log has it as begun":     {[]lifecycle.Event{effect(lifecycle.ReportStepIntent, "1", "pay", "", "k"), begun}, "pay (announced, not confirmed in this attempt), pay (recorded as pending)"},
		"a message that was sent":     {[]lifecycle.Event{effect(lifecycle.ReportOutboundIntent, "o", "", "", ""), effect(lifecycle.ReportOutboundSent, "o", "", "", "")}, "sent o (reported)"},
		"a message about to be sent":  {[]lifecycle.Event{effect(lifecycle.ReportOutboundIntent, "o", "", "", "")}, "o (announced, not confirmed in this attempt)"},
		"a receipt is not a delivery": {[]lifecycle.Event{effect(lifecycle.ReportOutboundIntent, "o", "", "", ""), effect(lifecycle.ReportStepReceipt, "o", "", "", "")}, "o (announced, not confirmed in this attempt), o (reported)"},
	} {
		if got := (chosen{events: test.events}).effects(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
