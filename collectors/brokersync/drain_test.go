package brokersync

import (
	"testing"
	"time"
)

func TestACollectorIsDrainedUpToWhatItHasAcknowledged(t *testing.T) {
	t.Parallel()
	d := Drain{}
	for _, c := range []struct {
		second     int
		end, floor uint64
		pending    uint64
		unanswered int
		want       int // Second; 0 for not known.
	}{
		{1, 100, 40, 50, 10, 0},
		{2, 200, 90, 80, 30, 0},
		{3, 300, 100, 80, 120, 1},  // What was there at 1 s is stored.
		{4, 350, 250, 50, 50, 2},   // And at 2 s.
		{5, 350, 350, 0, 0, 5},     // Everything.
		{6, 360, 350, 9, 1, 5},     // Busy again.
		{7, 1400, 400, 1000, 0, 6}, // Nothing unanswered, but lines wait: those of 6 s are stored.
		{8, 1400, 1400, 0, 0, 8},
		{9, 1401, 1400, 0, 0, 8},  // A new line that is not pending yet.
		{10, 1402, 1401, 0, 0, 9}, // It was stored; again a new one.
		{11, 1402, 1401, 0, 0, 10},
		{12, 1402, 1401, 0, 0, 11}, // That one was discarded: with nothing to do the durable would have it by now.
		{13, 1402, 1401, 1, 0, 11}, // It has something to do.
	} {
		d = d.advance(CaptureEnd{
			At: at(time.Duration(c.second) * time.Second), LastSeq: c.end, Floor: c.floor, Idle: c.pending == 0 && c.unanswered == 0,
		}, 0)
		if want := at(time.Duration(c.want) * time.Second); (c.want == 0 && d.UpTo.Known()) || (c.want > 0 && d.UpTo != want) {
			t.Errorf("at %d s drained up to %s, want %d s", c.second, d.UpTo.Sub(t0), c.want)
		}
	}
}
