package views

import (
	"strings"
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
		stale  lifecycle.StaleKind
		due    bool
		awaits string
		left   time.Duration
		want   string
	}{
		{"", false, "", 0, "unless it answers: redelivered"},
		{lifecycle.StaleLease, false, "", -time.Millisecond, "redelivered to the next free worker; due"},
		{"", true, "", 0, "redelivered to the next free worker; due"},
		{lifecycle.StaleLease, false, "a worker subscribes", -time.Millisecond, "redelivered once a worker subscribes; due"},
		{"", true, "its consumer resumes", 0, "redelivered once its consumer resumes; due"},
	} {
		l := lifecycle.Lease{State: lifecycle.StateProcessing, Deadline: passed, Next: next, Stale: c.stale, Due: c.due, Awaits: c.awaits}
		if left, what := leftNow(l, now), nextOf(l, now); left != c.left || what != c.want {
			t.Errorf("%+v: %v left, %q", c, left, what)
		}
	}
}

// A page may stand still while the time comes at which something is due. Nobody has looked then what came of it.
func TestWhatIsDueHasNotHappened(t *testing.T) {
	t.Parallel()
	now := lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	for ahead, want := range map[time.Duration]string{5 * time.Second: "in 5 s", 0: "now", -3 * time.Second: "(due)"} {
		if got := (Env{Now: now}).due(now.Add(ahead)); got != want {
			t.Errorf("due in %s reads %q, want %q", ahead, got, want)
		}
	}
	for at, want := range map[lifecycle.Micros]bool{now.Add(time.Minute): true, now.Add(-time.Minute): false} {
		var text strings.Builder
		if err := answer("retried", "What comes next?", lifecycle.Answer{At: at}).Render(With(t.Context(), Env{Now: now, Zone: time.UTC, Asset: func(name string) string { return name }}), &text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), `data-ago="due"`); got != want {
			t.Errorf("an answer of %d: said to be due: %v, want %v", at, got, want)
		}
	}
}

// What follows of a lease that runs is no promise: a worker that answers in time, or sends a heartbeat, changes it.
func TestWhatFollowsOfARunningLeaseDependsOnItsWorker(t *testing.T) {
	t.Parallel()
	now := lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	for what, want := range map[string]string{"redelivery": "unless it answers: redelivered", "exhaustion": "unless it answers: attempts run out"} {
		l := lifecycle.Lease{State: lifecycle.StateProcessing, Next: lifecycle.NextStep{What: what, At: now.Add(time.Minute)}}
		if got := nextOf(l, now); got != want {
			t.Errorf("%s a minute from now reads %q, want %q", what, got, want)
		}
	}
}

// TestHealthyIsAsMuchAsWasSeen has heartbeats in a gap: that nothing is wrong is more than anybody knows.
func TestHealthyIsAsMuchAsWasSeen(t *testing.T) {
	t.Parallel()
	at := lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	seen, unseen := lifecycle.Lease{Deadline: at, Latest: at}, lifecycle.Lease{Deadline: at, Latest: at.Add(time.Minute)}
	for want, leases := range map[string][]lifecycle.Lease{
		"Within the ack wait. Nothing is wrong.":                                          {seen},
		"Within the ack wait. Nothing wrong was seen, and not every answer was captured.": {seen, unseen},
		"Within the ack wait, where the deadline is known. Nothing wrong was seen.":       {seen, {}},
		"The deadline is not known. Nothing wrong was seen.":                              {{}},
	} {
		g := LeaseGroup{Kind: LeasesHealthy}
		for _, l := range leases {
			g.Leases = append(g.Leases, LeaseRow{Lease: l})
		}
		if got := g.meaning(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// An agent says that it works on a message of which nothing else shows a delivery: the number of the attempt is its word, or nobody's.
func TestTheBoardClaimsNoAttemptThatNothingShows(t *testing.T) {
	t.Parallel()
	for from, want := range map[lifecycle.Provenance][2]string{
		"":                 {">2/3 </td>", "attempt 2/3; its consumer is not known"},
		lifecycle.Reported: {">2/3 <small><span class=\"dim tipped\" tabindex=\"0\" data-tip=\"The number is the agent", "attempt 2/3, reported; its consumer is not known"},
		lifecycle.Inferred: {"Its agent reports work on it without the number", "attempt not known; its consumer is not known"},
	} {
		l := lifecycle.Lease{State: lifecycle.StateProcessing, Attempt: 2, MaxDeliver: 3, AttemptFrom: from}
		var row strings.Builder
		if err := leaseRow(LeaseRow{Lease: l}).Render(t.Context(), &row); err != nil {
			t.Fatal(err)
		}
		cells := strings.Join(strings.Fields(row.String()), " ")
		if !strings.Contains(cells, want[0]) {
			t.Errorf("known from %q: the row has no %s:\n%s", from, want[0], cells)
		}
		if got := heldBy(l); got != want[1] {
			t.Errorf("known from %q: the page of the message says %q", from, got)
		}
	}
}
