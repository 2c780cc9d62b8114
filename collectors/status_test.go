package collectors

import (
	"testing"
	"testing/synctest"
	"time"

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
			s.backlog(step.pending, time.Now())
			if got, known := drains(); got != step.want || known != step.known {
				t.Errorf("step %d: %v lines a second, known %v; want %v, %v", i, got, known, step.want, step.known)
			}
		}
	})
}
