package views

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

func TestAnEventSaysWhatItCarries(t *testing.T) {
	t.Parallel()
	at := lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	subject := lifecycle.Naming{Subject: "genbrain.agents.cto.tasks.review"}
	for _, c := range []struct {
		event lifecycle.Event
		want  string
	}{
		{lifecycle.Event{Kind: lifecycle.Published, Detail: lifecycle.Detail{Naming: subject, Publication: lifecycle.Publication{Generation: 1, RetryOf: "TASKS:7"}}},
			"genbrain.agents.cto.tasks.review, generation 1, retry of TASKS:7"},
		{lifecycle.Event{Kind: lifecycle.PublishAttempted, Detail: lifecycle.Detail{Naming: subject, Publication: lifecycle.Publication{Generation: 1, BestEffort: true}}},
			"genbrain.agents.cto.tasks.review, captured best effort"},
		{lifecycle.Event{Kind: lifecycle.Delivered, Consumer: "cto-task-worker", Detail: lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}}}, "to cto-task-worker"},
		{lifecycle.Event{Kind: lifecycle.AttemptUnanswered, Consumer: "cto-task-worker"}, "to cto-task-worker, no later than this"},
		{lifecycle.Event{Kind: lifecycle.Nacked, Consumer: "cto-task-worker", Detail: lifecycle.Detail{Ending: lifecycle.Ending{Delay: 2 * time.Minute, Reason: "429"}}},
			"429 · from cto-task-worker, asked for 2 m"},
		{lifecycle.Event{Kind: lifecycle.AckConfirmed, Consumer: "cto-task-worker", Detail: lifecycle.Detail{Ending: lifecycle.Ending{AckTime: 8 * time.Second}}}, "after 8 s"},
		{lifecycle.Event{Kind: lifecycle.LeaseExpired, Consumer: "cto-task-worker", Detail: lifecycle.Detail{Timing: lifecycle.Timing{Basis: at, Deadline: at.Add(30 * time.Second)}}},
			"30 s after the last sign"},
		{lifecycle.Event{Kind: lifecycle.DeadLettered, Detail: lifecycle.Detail{Naming: subject, DeadLetter: lifecycle.DeadLetter{Category: "conditionally_recoverable", Entry: "DLQ:5"}}}, "conditionally recoverable, entry DLQ:5"},
		{lifecycle.Event{Kind: lifecycle.Triaged, Detail: lifecycle.Detail{Triage: lifecycle.Triage{Outcome: lifecycle.OutcomeDiscarded, Action: "discard", Actor: "ann"}}},
			"discarded, ann asked to discard"},
		{lifecycle.Event{Kind: lifecycle.Vanished, Detail: lifecycle.Detail{Ending: lifecycle.Ending{Removal: lifecycle.RemovedToQueue}}}, "removed once its dead-letter entry was stored"},
		{lifecycle.Event{Kind: lifecycle.Vanished, Detail: lifecycle.Detail{Ending: lifecycle.Ending{Removal: lifecycle.RemovedUnknown}}}, ""},
		{lifecycle.Event{Kind: lifecycle.ReportStepIntent, Detail: lifecycle.Detail{StepReport: lifecycle.StepReport{Tool: "cms", StepClass: "keyed"}}}, "cms, class keyed"},
	} {
		if got := EventText(c.event); got != c.want {
			t.Errorf("%s: got %q, want %q", c.event.Kind, got, c.want)
		}
	}
}
