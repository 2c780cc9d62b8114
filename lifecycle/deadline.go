package lifecycle

import "slices"

// The broker keeps one lease for each message (SITUATIONS, "Leases"). A heartbeat of any attempt that is still pending extends it, also one of
// a worker that has lost the message to a later attempt. A heartbeat after the deadline does not: the message is due since its deadline
// and goes with the next pull.

// beatIn reports whether a heartbeat of any attempt is known after one time and no later than another.
func (m *MessageFacts) beatIn(after, until Micros) bool {
	return slices.ContainsFunc(m.Attempts, func(a AttemptFacts) bool {
		return (a.FirstBeat > after && a.FirstBeat <= until) || (a.LastBeat > after && a.LastBeat <= until)
	})
}

// beatsSince gives the first and the last known heartbeat of any attempt from a time on; zero where there is none.
func (m *MessageFacts) beatsSince(from Micros) (first, last Micros) {
	for _, a := range m.Attempts {
		for _, beat := range []Micros{a.FirstBeat, a.LastBeat} {
			if beat.Known() && beat >= from {
				first, last = earliest(first, beat), latest(last, beat)
			}
		}
	}
	return first, last
}

// stands reports whether a passed deadline of an attempt still counts: the attempt was not delivered later than was thought, and no
// heartbeat came in time.
func (x *Expiry) stands(m *MessageFacts, delivered Micros) bool {
	return x != nil && delivered <= x.Basis && !m.beatIn(x.Basis, x.Deadline)
}

// passed gives the deadline that an attempt let pass, and whether it was the last attempt. Of two conclusions the later one counts: the
// number of attempts may have been changed in between. It is nil while the attempt's lease is not known to have run out.
func (a *AttemptFacts) passed(m *MessageFacts, delivered Micros) (x *Expiry, last bool) {
	dead, expired := a.Dead.stands(m, delivered), a.Expired.stands(m, delivered)
	switch {
	case dead && (!expired || a.Expired.Judged <= a.Dead.Judged):
		return a.Dead, true
	case expired:
		return a.Expired, false
	}
	return nil, false
}

// lease is the deadline of the current attempt and what it counts from.
type lease struct {
	deadline Micros
	basis    Micros // The delivery or heartbeat that the deadline counts from.
	beat     Micros // The latest heartbeat that counts, of whichever attempt.
	sender   int    // The attempt that sent it.
}

// lease judges the lease under the consumer's configuration. Where no time of the attempt is known there is no deadline.
func (ev *evidence) lease(c *ConsumerState) lease {
	first, last := ev.life.beatsSince(ev.beganAt)
	if x, _ := ev.passed(); x != nil {
		return lease{deadline: x.Deadline, basis: x.Basis, beat: ev.current.LastBeat, sender: ev.n}
	}
	wait := c.Wait(ev.n)
	if due := ev.beganAt.Add(wait); ev.deliveredAt.Known() && first > due {
		return lease{deadline: due, basis: ev.beganAt, beat: ev.current.LastBeat, sender: ev.n}
	}
	basis := latest(ev.beganAt, last)
	return lease{deadline: basis.Add(wait), basis: basis, beat: last, sender: ev.life.sender(last, ev.n)}
}

// passed is [AttemptFacts.passed] of the current attempt.
func (ev *evidence) passed() (x *Expiry, last bool) {
	return ev.current.passed(ev.life, ev.deliveredAt)
}

// sender is the attempt that sent a heartbeat; the current one where several did.
func (m *MessageFacts) sender(beat Micros, current int) int {
	n := 0
	for _, a := range m.Attempts {
		if beat.Known() && (a.FirstBeat == beat || a.LastBeat == beat) && (n == 0 || a.N == current) {
			n = a.N
		}
	}
	return n
}
