package api

import (
	"testing"

	"fleetglass/lifecycle"
)

func TestALeaseThatWasHandedBackSaysThatItIsDue(t *testing.T) {
	t.Parallel()
	const now = lifecycle.Micros(1_700_000_000_000_000)
	o := lifecycle.OpenMessage{Message: lifecycle.MessageFacts{
		Key: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1}, Consumer: "cto-task-worker", Stored: &lifecycle.StoredFacts{At: now - 9e6},
		Attempts: []lifecycle.AttemptFacts{{N: 1, DeliveredAt: now - 8e6, SeenAt: now - 8e6, NakAt: now - 4e6, LastNakAt: now - 4e6, NakDelay: 2e9}},
	}}
	consumer := &lifecycle.ConsumerState{Name: "cto-task-worker", AckWait: 30e9, MaxDeliver: 3}
	for _, at := range []struct {
		now lifecycle.Micros
		due bool
	}{{now - 3e6, false}, {now, true}} {
		l, _ := lifecycle.LeaseOf(o, consumer, lifecycle.Typical{}, lifecycle.At(at.now))
		if got := leaseOf(l, nil, at.now); got.Due != at.due {
			t.Errorf("%d µs before now: due %t, want %t", now-at.now, got.Due, at.due)
		}
	}
}
