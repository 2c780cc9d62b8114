package brokersync

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

func TestASweepIsIdleOnlyWhileNothingChanges(t *testing.T) {
	t.Parallel()
	var s Sweep
	for _, c := range []struct {
		second    int
		msgs      uint64
		delivered uint64
		open      int
		last      bool
		again     bool
		idleAfter bool
	}{
		{0, 500, 0, 100, false, false, false}, // The first page.
		{1, 500, 0, 100, true, false, false},  // Too soon after the change that was the first observation.
		{12, 500, 0, 100, false, false, false},
		{13, 500, 0, 100, true, true, false}, // There was something to do.
		{14, 500, 0, 100, false, false, false},
		{15, 500, 0, 100, true, false, true},
		{60, 501, 0, 100, false, false, false}, // The stream changed.
		{80, 501, 0, 10, true, false, false},   // That sweep began too soon after the change.
		{81, 501, 0, 10, true, false, false},   // Few open messages: reading them costs nothing.
		{82, 501, 0, 900, true, false, true},
		{100, 501, 1, 900, true, false, false}, // A message was delivered, for the first time or again.
		{111, 501, 1, 900, true, false, true},
		{111 + 301, 501, 1, 0, false, false, false}, // Long enough.
	} {
		o := Observation{At: at(time.Duration(c.second) * time.Second), Msgs: c.msgs, FirstSeq: 1, LastSeq: 900, Consumers: []Consumer{{ConsumerState: lifecycle.ConsumerState{DeliveredCSeq: c.delivered}}}}
		s = s.observe(o)
		if !s.idle(o.At) {
			s = s.turn(o, c.open, c.last, c.again)
		}
		if got := s.idle(o.At); got != c.idleAfter {
			t.Errorf("at %d s: idle %t, want %t (%+v)", c.second, got, c.idleAfter, s)
		}
	}
}
