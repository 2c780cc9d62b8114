package fleet_test

import (
	"context"
	"testing"

	"fleetglass/fleet"

	"github.com/nats-io/nats.go"
)

// A task without a body may have the headers by which the broker itself ends a pull. Clients of nats.go take it for the broker's word.
func TestATaskWithTheBrokersStatusIsWorkedLikeAnyOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, header := range []nats.Header{
		{"Status": {"100"}, "Description": {"Idle Heartbeat"}}, {"Status": {"404"}, "Description": {"No Messages"}},
		{"Status": {"409"}, "Description": {"Consumer Deleted"}}, {"Status": {"503"}},
	} {
		if _, err := b.js.PublishMsg(t.Context(), &nats.Msg{Subject: b.contract.TaskSubject("cto", "code_review"), Header: header}); err != nil {
			t.Fatal(err)
		}
	}
	b.publish(t, fleet.NewTask{ID: "t"})
	b.work(t, b.records, func(context.Context, fleet.Delivery) (string, error) { return "done", nil })
	b.awaitAnswers(t, "1 +ACK", "1 +ACK", "1 +ACK", "1 +ACK", "1 +ACK")
}
