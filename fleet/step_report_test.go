package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// A worker of the kit adds to each report what it knows of its message. None of that is a step's: not the hash of the message's input, and not the task's
// idempotency key.
func TestWhatAWorkerAddsOfItsMessageIsNoSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, b.records, func(ctx context.Context, d fleet.Delivery) (string, error) {
		return "done", errors.Join(
			d.Report(ctx, lifecycle.ReportStepIntent, fleet.ReportData{StepID: "s1", Tool: "git.push"}),
			d.Report(ctx, lifecycle.ReportStepIntent, fleet.ReportData{StepID: "s2", Tool: "git.push"}),
			d.Report(ctx, lifecycle.ReportStepIntent, fleet.ReportData{Tool: "mail.send"}),
			d.Report(ctx, lifecycle.ReportStepIntent, fleet.ReportData{Tool: "bank.pay"}),
		)
	})
	b.publish(t, fleet.NewTask{ID: "t-1", Payload: map[string]any{"n": 1}})
	awaitReports(t, b, "claimed", "step_intent", "step_intent", "step_intent", "step_intent", "completed")
	facts := lifecycle.TaskFacts{ID: "t-1"}
	for _, e := range reportsOf(t, b) {
		facts.Join(e)
	}
	if cases := lifecycle.Ledger(&facts); len(cases) > 0 {
		t.Errorf("two steps of one tool whose inputs nobody told are duplicates: %+v", cases)
	}
	var names []string
	for _, i := range facts.Intents {
		names = append(names, i.Step)
	}
	if got := fmt.Sprint(names); got != "[bank.pay mail.send s1 s2]" {
		t.Errorf("effects of the steps: %s", got)
	}
}

// reportsOf reads the reports that the broker has.
func reportsOf(t *testing.T, b *bench) (events []lifecycle.Event) {
	t.Helper()
	stream, err := b.js.Stream(t.Context(), fleet.CaptureReport)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		msg, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		agent, _, _ := b.contract.ParseReportSubject(msg.Subject)
		if events, err = fleet.DecodeReports(events, msg.Data, fleet.ReportOrigin{Source: "OBS_REPORT", Seq: seq, At: lifecycle.MicrosOf(msg.Time), Agent: agent}); err != nil {
			t.Fatal(err)
		}
	}
	return events
}
