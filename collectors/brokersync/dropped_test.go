package brokersync_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/internal/testkit"
)

// A capture stream without a leader loses the one advisory by which the broker tells that a message's attempts are used up.
func TestAMessageWhoseAdvisoryWasLostIsExhaustedByTheBrokersState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "silent").works(nats.ConsumerConfig{MaxDeliver: 2, AckWait: 200 * time.Millisecond})
	a.publish("dropped")
	a.must(a.takes().InProgress())
	b.captured(t, "OBS_ACK", 1)
	a.takes()
	testkit.Eventually(t, patience, func() error { // The broker drops it when its consumer pulls once more.
		a.take(100 * time.Millisecond)
		info, err := a.js.ConsumerInfo("TASKS", "silent-task-worker")
		if err != nil || info.NumAckPending > 0 {
			return errors.Join(errors.New("not dropped yet"), err)
		}
		return nil
	})
	b.captured(t, "OBS_EVT", 1)
	a.must(a.js.PurgeStream("OBS_EVT"))
	b.start()
	b.expect(t, "dropped", "failed (lease expired)\n1 timed_out beats")
	testkit.Eventually(t, 3*patience, func() error {
		if got := b.trace("dropped"); got != "exhausted (max deliveries)\n1 timed_out beats" {
			return errors.New(got)
		}
		return nil
	})
}
