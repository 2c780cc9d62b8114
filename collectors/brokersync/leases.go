package brokersync

import (
	"fmt"

	"fleetglass/lifecycle"
)

// leases says that the deadline of the current attempt of o passed without an answer. The message is still in the stream, so nothing
// has ended it. Attempts that the broker itself declared over are left to it.
func leases(v view, c Consumer, o lifecycle.OpenMessage) []lifecycle.Event {
	m := o.Message
	l, _ := lifecycle.LeaseOf(o, &c.ConsumerState, lifecycle.Typical{}, lifecycle.Moment{Now: v.At, Read: v.At, Unseen: v.unseenAnswers()})
	basis := l.Basis
	if c.tookOver(m) || !v.pending(c, m.Key.Seq) || l.Attempt == 0 || basis < c.Began() || m.MaxDeliveriesAt > basis {
		return nil
	}
	a := attemptOf(m.CurrentLife(), l.Attempt)
	last := c.MaxDeliver > 0 && l.Attempt >= c.MaxDeliver
	if last && c.mayHaveGiven(m, l.Attempt) {
		return nil
	}
	switch {
	case a.NakAt.Known() && last:
		l.Basis, l.Deadline, l.Latest, l.AtLatest = max(a.NakAt, basis), a.NakAt, a.NakAt, false
		return expiry(v, c, m, a, lifecycle.PresumedDead, l, numbered(l.Attempt, c)+" was handed back and no attempt is left")
	case a.NakAt.Known() && a.Dead != nil && (a.Expired == nil || a.Expired.Judged <= a.Dead.Judged): // It was said that no attempt is left, and one is.
		l.Basis, l.Deadline, l.Latest, l.AtLatest = a.Dead.Basis, a.Dead.Deadline, a.Dead.Deadline, a.Dead.AtLatest
		return expiry(v, c, m, a, lifecycle.LeaseExpired, l, "")
	case a.NakAt.Known() || !l.Deadline.Known():
		return nil
	case last:
		return expiry(v, c, m, a, lifecycle.PresumedDead, l, numbered(l.Attempt, c)+" was never answered and no attempt is left")
	}
	return expiry(v, c, m, a, lifecycle.LeaseExpired, l, "")
}

// numbered names an attempt. Where fewer were allowed since, it is beyond their number.
func numbered(n int, c Consumer) string {
	if n > c.MaxDeliver {
		return fmt.Sprintf("attempt %d", n)
	}
	return fmt.Sprintf("attempt %d of %d", n, c.MaxDeliver)
}

// expiry says that a lease ran out, unless the store knows it, or the deadline may not have passed: the heartbeats sent by the latest one must be stored, and the consumer was
// looked at since. Where the store knows the opposite as the later conclusion, max_deliver was changed in between, and the event is said again.
func expiry(v view, c Consumer, m lifecycle.MessageFacts, a lifecycle.AttemptFacts, kind lifecycle.Kind, l lifecycle.Lease, why string) []lifecycle.Event {
	if l.Latest > l.Deadline { // Heartbeats of which the lines were lost may have prolonged it.
		l.Deadline, l.AtLatest = l.Latest, true
	}
	known, opposite := a.Expired, a.Dead
	if kind == lifecycle.PresumedDead {
		known, opposite = opposite, known
	}
	coordinates := []uint64{uint64(a.N), uint64(l.Basis), uint64(l.Deadline)}
	if known != nil && known.Basis >= l.Basis {
		if opposite == nil || opposite.Judged <= known.Judged {
			return nil
		}
		coordinates = append(coordinates, uint64(c.ObservedAt))
	}
	if c.ObservedAt < l.Latest || v.Drained < l.Latest.Add(captureLag) {
		return nil
	}
	e := newEvent(kind, m, &c, l.Deadline, coordinates...)
	e.Attempt = a.N
	e.Detail.Basis, e.Detail.Deadline, e.Detail.Reason = l.Basis, l.Deadline, why
	e.Detail.Judged, e.Detail.AtLatest = c.ObservedAt, l.AtLatest
	if kind == lifecycle.PresumedDead {
		e.Detail.Beside = v.beside(&c, m)
	}
	return []lifecycle.Event{e}
}

func attemptOf(m lifecycle.MessageFacts, n int) lifecycle.AttemptFacts {
	for _, a := range m.Attempts {
		if a.N == n {
			return a
		}
	}
	return lifecycle.AttemptFacts{N: n}
}
