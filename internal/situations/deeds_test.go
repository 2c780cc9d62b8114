//go:build linux

package situations

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// deed is what a worker did with one delivery.
type deed struct {
	by    string // Its consumer.
	n     int    // The number of the attempt, as the broker told the worker.
	cseq  uint64
	asked time.Time            // It was delivered after that; zero where the broker sends.
	got   time.Time            // And before that.
	ends  map[string]time.Time // How the worker ended it, or is about to: acked, naked, terminated; and when it began to.
}

const (
	// shortestWait and longestWait bound the ack waits, and the steps of a backoff, that consumers of random worlds have.
	shortestWait, longestWait = 700 * time.Millisecond, 3700 * time.Millisecond
	// deedSlack is how far a time that is told may be from what the clients measured.
	deedSlack = 100 * time.Millisecond
)

// deedsTold holds when each attempt that is told agrees with what the worker who had it did.
func (w *life) deedsTold(m *mail, said *seenMessage) error {
	if *withForgery {
		return nil
	}
	for _, part := range append([]seenTaker{{Consumer: said.Consumer, Attempts: said.Attempts}}, said.Others...) {
		for _, a := range part.Attempts {
			if err := w.deedTold(m, part.Consumer, a); err != nil {
				return fmt.Errorf("attempt %d of %s, %+v: %w", a.N, part.Consumer, a, err)
			}
		}
	}
	return nil
}

func (w *life) deedTold(m *mail, by string, a seenAttempt) error {
	numbered := func(n int) []*deed {
		return slices.DeleteFunc(slices.Clone(m.deeds), func(d *deed) bool { return d.by != by || d.n != n })
	}
	mine := numbered(a.N)
	ended := slices.ContainsFunc(mine, func(d *deed) bool { return !d.ends[a.End].IsZero() })
	if strings.Contains(a.Reason, "through Fleetglass") { // It takes the message from whoever has it, and its number may be too low.
		return w.givenBack(m, by, a)
	}
	unasked := a.End == "acked" && (m.swept || m.unasked) // Nobody had to end it so.
	switch {
	case slices.Contains([]string{"acked", "naked", "terminated"}, a.End) && !ended && !unasked:
		return errors.New("its worker did not end it so")
	case w.renewed: // Numbers and sequences begin anew.
		return nil
	}
	if err := w.owned(m, by, a); err != nil {
		return err
	}
	if a.ConsumerSeq != nil { // Its number may be too low.
		mine = slices.DeleteFunc(slices.Clone(m.deeds), func(d *deed) bool { return d.by != by || strconv.FormatUint(d.cseq, 10) != *a.ConsumerSeq })
	}
	if len(mine) != 1 {
		return nil
	}
	d := mine[0]
	next, answered := numbered(d.n+1), d.ends[a.End]
	switch {
	case !answered.IsZero() && !a.EndedAt.IsZero() && a.EndedAt.Before(answered.Add(-deedSlack)):
		return fmt.Errorf("its worker answered at %s", answered)
	case !d.asked.IsZero() && !a.BeganAt.IsZero() && a.BeganAt.Before(d.asked.Add(-deedSlack)):
		return fmt.Errorf("its worker asked at %s", d.asked)
	case a.BeganExact && a.BeganAt.After(d.got.Add(deedSlack)):
		return fmt.Errorf("its worker had it at %s", d.got)
	case a.End != "timed_out" || a.EndedAt.IsZero():
	case !d.asked.IsZero() && a.EndedAt.Before(d.asked.Add(shortestWait-deedSlack)) && !m.takenBack(by, a):
		return fmt.Errorf("its worker asked at %s, and no wait is so short", d.asked)
	case len(next) == 1 && !a.EndedLatest && a.EndedAt.After(next[0].got.Add(deedSlack)):
		return fmt.Errorf("the next attempt began before %s", next[0].got)
	}
	return nil
}

// givenBack holds when somebody handed back through Fleetglass what a worker of the consumer had, in that attempt or a later one.
func (w *life) givenBack(m *mail, by string, a seenAttempt) error {
	if !slices.ContainsFunc(m.deeds, func(d *deed) bool { return d.by == by && d.n >= a.N && !d.ends[a.End].IsZero() }) {
		return errors.New("nobody handed it back")
	}
	return nil
}

// takenBack reports whether the worker of an earlier attempt handed the message back before this one ended: the broker takes it from whoever has it.
func (m *mail) takenBack(by string, a seenAttempt) bool {
	return slices.ContainsFunc(m.deeds, func(d *deed) bool {
		at := d.ends["naked"]
		return d.by == by && d.n < a.N && !at.IsZero() && at.Before(a.EndedAt.Add(deedSlack))
	})
}

// owned holds when the delivery of an attempt was one of its message, under its number.
func (w *life) owned(m *mail, by string, a seenAttempt) error {
	if a.ConsumerSeq == nil {
		return nil
	}
	for _, o := range w.letters {
		for _, d := range o.deeds {
			if d.by != by || strconv.FormatUint(d.cseq, 10) != *a.ConsumerSeq {
				continue
			}
			if o != m {
				return fmt.Errorf("that was a delivery of %d", o.seq)
			}
			if d.n < a.N { // It is the lowest that it can be, where no line numbers it.
				return fmt.Errorf("that was attempt %d", d.n)
			}
		}
	}
	return nil
}

// leaseTold holds when the deadline of a lease agrees with when workers of its consumer got the message, and with the heartbeats for it.
func (w *life) leaseTold(m *mail, said *seenMessage) error {
	l := said.Lease
	if l == nil || l.DeadlineAt == nil || w.renewed || *withForgery {
		return nil
	}
	var named, last *deed // The delivery that the lease names, and the last one: a later one may not be known (docs/situations.md).
	for _, d := range m.deeds {
		if d.by == l.Consumer && (last == nil || d.n > last.n) {
			last = d
		}
		if d.by == l.Consumer && l.Attempt != nil && d.n == *l.Attempt {
			named = d
		}
	}
	switch {
	case last == nil || w.empty > 0: // A later delivery may have reached nobody.
	case named != nil && !named.asked.IsZero() && l.DeadlineAt.Before(named.asked.Add(shortestWait-deedSlack)):
		return fmt.Errorf("its worker asked at %s, and no wait is so short", named.asked)
	case !l.AtLatest && l.DeadlineAt.After(latestOf(last.got, m.beatAt).Add(longestWait+deedSlack)):
		return fmt.Errorf("its worker had it at %s, the last heartbeat was at %s, and no wait is so long", last.got, m.beatAt)
	}
	return nil
}

// ages reports whether a message becomes too old for its stream before its own time to live is over.
func (w *life) ages(m *mail) bool {
	age := w.land.streams[0].MaxAge
	return age > 0 && !m.expires.IsZero() && (m.lasts == 0 || age < m.lasts)
}

// ending is how the answers name the attempt whose worker ended a message.
var ending = map[string]*regexp.Regexp{
	"acked":      regexp.MustCompile(`acknowledg(?:ing|ement of) attempt (\d+)`),
	"terminated": regexp.MustCompile(`attempt (\d+)(?: of \d+)? was terminated`),
}

// endTold holds when the attempt that ended the message, by the answers, is the first one whose worker ended it so: what comes later has no effect.
func (w *life) endTold(m *mail, by, words string) error {
	if w.generations(m.task) > 1 || w.renewed || *withForgery {
		return nil
	}
	for end, names := range ending {
		for _, named := range names.FindAllStringSubmatch(words, -1) {
			at := m.endedAt(by, end, named[1])
			for _, d := range m.deeds {
				if other := d.ends[end]; d.by == by && !at.IsZero() && !other.IsZero() && other.Before(at.Add(-deedSlack)) {
					return fmt.Errorf("the answers name attempt %s (%s at %s), and the worker of attempt %d did so at %s", named[1], end, at, d.n, other)
				}
			}
		}
	}
	return nil
}

// endedAt is when the worker of an attempt ended the message so; zero where it did not.
func (m *mail) endedAt(by, end, attempt string) (at time.Time) {
	for _, d := range m.deeds {
		if d.by == by && strconv.Itoa(d.n) == attempt && !d.ends[end].IsZero() {
			at = d.ends[end]
		}
	}
	return at
}

func latestOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// removalTold holds when whoever is said to have removed the message of a task can have done so.
func (w *life) removalTold(m *mail, words string) error {
	if w.generations(m.task) > 1 {
		return nil
	}
	for by, possible := range map[string]bool{
		"removed by an operator ":     m.struck,
		"removed by an operator.":     m.struck,
		"by the max_age of the":       w.ages(m),
		"by its own ttl":              m.lasts > 0 && !w.ages(m),
		"by a limit of the stream":    m.crowded || m.struck && w.land.streams[0].MaxMsgsPerSubject > 0, // It would have dropped it (docs/situations.md).
		"removed with its stream":     false,
		"with the last consumer that": m.unclaimed,
	} {
		if strings.Contains(words, by) && !possible {
			return fmt.Errorf("the answers say %q", by)
		}
	}
	return nil
}
