package collectors

import (
	"testing"
	"testing/synctest"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// How fast a collector catches up is said once it was measured over a while, and no longer than it is behind.
func TestACollectorThatIsBehindMeasuresHowFastItCatchesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStatus("acks")
		s.upTo = lifecycle.MicrosOf(time.Now().Add(-time.Minute))
		drains := func() (float64, bool) { p, _ := s.snapshot(); return p.Drains, p.DrainsKnown }
		for i, step := range []struct {
			after   time.Duration
			pending uint64
			want    float64
			known   bool
		}{
			{0, 10_000, 0, false}, {5 * time.Second, 9_000, 0, false}, {5 * time.Second, 4_000, 600, true}, {2 * time.Second, 3_900, 600, true},
			{8 * time.Second, 5_000, -100, true}, {time.Second, 0, 0, false},
		} {
			time.Sleep(step.after)
			s.backlog(step.pending, 0, time.Now())
			if got, known := drains(); got != step.want || known != step.known {
				t.Errorf("step %d: %v lines a second, known %v; want %v, %v", i, got, known, step.want, step.known)
			}
		}
	})
}

// A program that starts on a backlog says so with the first lines of it: nobody may take what it has read for all there is.
func TestACollectorIsBehindWithTheFirstLinesOfABacklog(t *testing.T) {
	t.Parallel()
	s, now := newStatus("acks"), time.Now()
	s.set(health.OK, "")
	s.backlog(10_000, 0, now)
	if p, _ := s.snapshot(); !p.LastAt.IsZero() {
		t.Errorf("it has read nothing, and its last sign is at %v", p.LastAt)
	}
	s.committed(&decoded{upTo: lifecycle.MicrosOf(now.Add(-time.Minute))}, 1, now)
	if p, _ := s.snapshot(); p.State != health.Behind || p.Lag < time.Minute {
		t.Errorf("it is %s, with a lag of %v", p.State, p.Lag)
	}
}

// What is shown of a short backlog goes by LastAt less Lag: that is never later than the last line that was read.
func TestACollectorHasReadNoFurtherThanItsLastLine(t *testing.T) {
	t.Parallel()
	s, began := newStatus("acks"), time.Now()
	at := func(after time.Duration) time.Time { return began.Add(after) }
	s.committed(&decoded{lines: 1, last: 1, upTo: lifecycle.MicrosOf(at(0))}, 1, at(0))
	s.backlog(3, 0, at(time.Second))
	s.committed(&decoded{lines: 1, last: 2, upTo: lifecycle.MicrosOf(at(time.Second))}, 1, at(4*time.Second))
	p, _ := s.snapshot()
	if read := p.Read(); read.After(at(time.Second)) || p.State != health.OK {
		t.Errorf("read up to %s after the beginning, %s; want 1s, ok", read.Sub(began), p.State)
	}
}

// A line that was stored long ago and is read only now proves nothing of what was stored since, although nothing waited at the last look.
func TestALineThatIsReadLateShowsHowFarItIsBehind(t *testing.T) {
	t.Parallel()
	s, began := newStatus("acks"), time.Now()
	at := func(after time.Duration) time.Time { return began.Add(after) }
	s.backlog(0, 0, at(0))
	s.committed(&decoded{lines: 1, last: 1, upTo: lifecycle.MicrosOf(at(time.Second))}, 1, at(20*time.Second))
	p, _ := s.snapshot()
	if read := p.Read(); read.After(at(time.Second)) || p.State != health.Behind {
		t.Errorf("read up to %s after the beginning, %s; want 1s, behind", read.Sub(began), p.State)
	}
	s.backlog(0, 0, at(21*time.Second))
	if p, _ := s.snapshot(); !p.Read().Equal(at(21*time.Second)) || p.State != health.OK {
		t.Errorf("nothing waits, and it is %s with a lag of %s", p.State, p.Lag)
	}
}

// A line that waits just as the broker is asked came since nothing waited: how long ago the line before it came says nothing of that.
func TestALineAfterAQuietTimeIsNotBehind(t *testing.T) {
	t.Parallel()
	s, began := newStatus("acks"), time.Now()
	at := func(after time.Duration) time.Time { return began.Add(after) }
	s.committed(&decoded{lines: 1, last: 1, upTo: lifecycle.MicrosOf(began)}, 1, began)
	for _, look := range []struct {
		after   time.Duration
		pending uint64
		state   health.State
		lag     time.Duration
	}{
		{time.Hour, 0, health.OK, 0},
		{time.Hour + 2*time.Second, 1, health.OK, 2 * time.Second}, // At most.
		{time.Hour + 6*time.Second, 1, health.Behind, 6 * time.Second},
		{time.Hour + 8*time.Second, 0, health.OK, 0},
	} {
		s.backlog(look.pending, 0, at(look.after))
		if p, _ := s.snapshot(); p.State != look.state || p.Lag != look.lag {
			t.Errorf("after %v it is %s with a lag of %v, want %s and %v", look.after, p.State, p.Lag, look.state, look.lag)
		}
	}
}
