//go:build linux

package situations

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// ended notes that the worker is about to end its delivery.
func (d *deed) ended(how string) {
	if d.ends[how].IsZero() {
		d.ends[how] = time.Now()
	}
}

// mayBe notes since when a state may be said of the message.
func (m *mail) mayBe(state string, so bool) {
	if so && m.since[state].IsZero() {
		if m.since == nil {
			m.since = map[string]time.Time{}
		}
		m.since[state] = time.Now()
	}
}

// timesTold holds when the message was published when its clients published it, and has its state since they did what led to it, or later.
func (m *mail) timesTold(said *seenMessage) error {
	from, by := m.stored[0], m.stored[1]
	if !from.IsZero() && !said.PublishedAt.IsZero() && (said.PublishedAt.Before(from.Add(-deedSlack)) || said.PublishedAt.After(by.Add(deedSlack))) {
		return fmt.Errorf("it was published between %s and %s, and published_at is %s", from, by, said.PublishedAt)
	}
	from = latestOf(from, m.since[said.State])
	switch {
	case said.StateSince.IsZero():
	case said.StateSince.Before(from.Add(-deedSlack)):
		return fmt.Errorf("it cannot be so before %s, and is said to be since %s", from, said.StateSince)
	case said.StateSince.After(time.Now().Add(deedSlack)):
		return fmt.Errorf("it is said to be so since %s, which is yet to come", said.StateSince)
	}
	return nil
}

// boundariesTold holds when no boundary of a task is said to have been passed before its clients passed it.
func (w *life) boundariesTold(task string, told *seen) error {
	if *withForgery || w.slandered {
		return nil
	}
	var stored, given, done time.Time
	for _, m := range w.letters {
		if m.task != task {
			continue
		}
		stored, done = earliestOf(stored, m.stored[0]), earliestOf(done, m.since["completed"])
		for _, d := range m.deeds {
			given = earliestOf(given, d.asked)
		}
	}
	if w.sends || w.empty > 0 { // What was given first may have reached nobody.
		given = stored
	}
	b := told.Boundaries
	for _, x := range []struct {
		name     string
		at, from time.Time
	}{{"ingress_acked_at", b.IngressAckedAt, stored}, {"dispatched_at", b.DispatchedAt, given}, {"completed_at", b.CompletedAt, done}} {
		if !x.at.IsZero() && x.at.Before(x.from.Add(-deedSlack)) {
			return fmt.Errorf("%s of task %q is %s, and its clients did that after %s", x.name, task, x.at, x.from)
		}
	}
	if !b.CompletedAt.IsZero() && done.IsZero() {
		return fmt.Errorf("task %q is said to be completed at %s, and nobody said so", task, b.CompletedAt)
	}
	if n := len(told.Messages); n > 0 && !told.CompletedAt.IsZero() {
		newest := slices.IndexFunc(w.letters, func(m *mail) bool { return strconv.FormatUint(m.seq, 10) == told.Messages[n-1].Seq })
		if newest >= 0 && w.letters[newest].since["completed"].IsZero() {
			return fmt.Errorf("task %q is said to be completed at %s, and nobody did what its newest message asks for", task, told.CompletedAt)
		}
	}
	return nil
}

// earliestOf is the earlier of two times; one that is zero does not count.
func earliestOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
