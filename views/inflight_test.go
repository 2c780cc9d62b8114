package views

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// A row is drawn a moment after its lease was judged. Its words fit that judgement.
func TestALeaseAtItsDeadlineReadsAsItWasJudged(t *testing.T) {
	t.Parallel()
	now := lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	passed := now.Add(-time.Millisecond)
	next := lifecycle.NextStep{What: "redelivery", At: passed}
	for _, c := range []struct {
		stale lifecycle.StaleKind
		due   bool
		left  time.Duration
		want  string
	}{
		{"", false, 0, "redelivered unless it answers"},
		{lifecycle.StaleLease, false, -time.Millisecond, "redelivered at the next pull; due"},
		{"", true, 0, "redelivered at the next pull; due"},
	} {
		l := lifecycle.Lease{Deadline: passed, Next: next, Stale: c.stale, Due: c.due}
		if left, what := leftNow(l, now), nextOf(l, now); left != c.left || what != c.want {
			t.Errorf("%+v: %v left, %q", c, left, what)
		}
	}
}
