package brokerstate

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestABusyCollectorIsDrainedUpToWhatItHasAcknowledged(t *testing.T) {
	t.Parallel()
	d := drain{}
	look := func(second int, delivered, floor, pending uint64, unanswered int) {
		d.note(&jetstream.ConsumerInfo{
			TimeStamp: at(time.Duration(second) * time.Second).Time(), Delivered: jetstream.SequenceInfo{Stream: delivered},
			AckFloor: jetstream.SequenceInfo{Stream: floor}, NumPending: pending, NumAckPending: unanswered,
		})
	}
	for _, c := range []struct {
		second                    int
		delivered, floor, pending uint64
		unanswered, want          int
	}{
		{1, 50, 40, 50, 10, 0},    // 100 lines, 40 stored.
		{2, 120, 90, 80, 30, 0},   // 200 lines, 90 stored.
		{3, 220, 100, 80, 120, 1}, // What was there at 1 s is stored.
		{4, 300, 250, 50, 50, 2},  // And at 2 s.
		{5, 350, 350, 0, 0, 5},    // Everything.
		{6, 351, 350, 9, 1, 5},    // Busy again.
		{7, 400, 400, 1000, 0, 6}, // Nothing unanswered, but lines wait: those of 6 s are stored.
	} {
		look(c.second, c.delivered, c.floor, c.pending, c.unanswered)
		if want := at(time.Duration(c.want) * time.Second); (c.want == 0 && d.upTo.Known()) || (c.want > 0 && d.upTo != want) {
			t.Errorf("at %d s drained up to %s, want %d s", c.second, d.upTo.Sub(t0), c.want)
		}
	}
}
