package lifecycle

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// The broker keeps one lease for each message (SITUATIONS, "Leases"). A heartbeat of any attempt that is still pending extends it, also one of
// a worker that has lost the message to a later attempt. So does one that names a delivery which the consumer never made: the broker looks at no more than the sequence of the message.
// A heartbeat after the deadline does not: the message is due since its deadline and goes to the next free worker.

// beatIn reports whether a heartbeat is known after one time and no later than another.
func (m *MessageFacts) beatIn(after, until Micros) bool {
	return slices.ContainsFunc(m.beatsSince(after+1), func(b beat) bool { return b.at <= until })
}

// beat is a heartbeat and the attempt that sent it, zero for one of a former incarnation of the consumer, or of nobody who is known to have the message.
type beat struct {
	at Micros
	n  int
}

// beatsSince are the known heartbeats from a time on, sorted. Where several are of one time it is that of the highest attempt.
func (m *MessageFacts) beatsSince(from Micros) (out []beat) {
	note := func(a *AttemptFacts, n int) {
		for _, at := range a.beats() {
			if at >= from {
				out = append(out, beat{at, n})
			}
		}
	}
	for i := range m.Attempts {
		note(&m.Attempts[i], m.Attempts[i].N)
	}
	for i := range m.Former {
		note(&m.Former[i], 0)
	}
	for _, c := range m.Claims {
		if c.Kind == Heartbeat && c.Consumer == m.Consumer && c.At >= from {
			out = append(out, beat{c.At, 0})
		}
	}
	slices.SortFunc(out, func(a, b beat) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.n, a.n)) })
	return slices.CompactFunc(out, func(a, b beat) bool { return a.at == b.at })
}

// apart is how far two heartbeats that are kept may be apart although others came between them.
func (m *MessageFacts) apart() (span time.Duration) {
	for a := range m.everyAttempt() {
		span = max(span, a.BeatsApart)
	}
	return span
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
	latest   Micros // When it runs out at the latest: later where heartbeats may not have been captured, or the consumer was reset and may have delivered the message since.
	basis    Micros // The delivery or heartbeat that the deadline counts from.
	beat     Micros // The latest heartbeat that counts, of whichever attempt.
	sender   int    // The attempt that sent it; zero for one of a former incarnation of the consumer.
	atLatest bool   // It may have run out before the deadline; see [evidence.mayEndEarlier].
}

// lease judges the lease under the consumer's configuration. Where no time of the attempt is known there is no deadline.
func (ev *evidence) lease(c *ConsumerState, unseen []Gap) lease {
	if x, _ := ev.passed(); x != nil {
		held := ev.lapsed(x)
		held.atLatest = x.AtLatest || ev.mayEndEarlier(c, x.Basis)
		return held
	}
	wait := c.Wait(ev.n)
	held, doubtful := lease{basis: ev.beganAt}, false
	for i, b := range ev.beats() {
		certain := i > 0 || ev.deliveredAt.Known() // Without the broker's time of the delivery the first one may have been in time.
		certain = certain && b.at >= c.WaitsSince  // So may one that came under a wait that was in force before.
		until := c.Until(held.basis, max(wait, ev.life.apart()))
		if certain && b.at > latestDeadline(unseen, ev.m.Key.Stream.Name, held.basis, until) {
			break
		}
		doubtful = doubtful || certain && b.at > until // It came in time only if another one came in a gap.
		held.basis, held.beat = b.at, b.at
		if held.sender = b.n; b.n != ev.n && ev.current.LastBeat == b.at {
			held.sender = ev.n
		}
	}
	if held.deadline = c.Until(held.basis, wait); held.deadline.Known() && held.basis < c.WaitsSince {
		held.deadline = latest(held.deadline, c.WaitsSince) // The broker did not look by the new wait before.
	}
	if held.latest = held.deadline; held.deadline.Known() {
		held.latest = latestDeadline(unseen, ev.m.Key.Stream.Name, held.basis, held.deadline)
		if held.basis < c.ResetBy && !ev.deliveredAt.Known() { // What is known may be of the attempt before the reset.
			held.latest = latest(held.latest, c.Until(c.ResetBy, wait))
		}
	}
	held.atLatest = doubtful || ev.mayEndEarlier(c, held.basis)
	return held
}

// mayEndEarlier reports whether a lease that counts from basis may have run out before: the consumer's wait changed since the attempt began, and its heartbeats may have come
// late by the former one; the broker may have gone by another wait before it was looked at; the worker of an earlier attempt handed the message back; or the broker's own time
// of the delivery is not known, and no heartbeat came in time whenever the delivery was.
func (ev *evidence) mayEndEarlier(c *ConsumerState, basis Micros) bool {
	if c.Unseen(basis) || latest(ev.beganAt, ev.notBefore(c)) < c.WaitsSince || ev.handedBackByAnother() {
		return basis.Known()
	}
	if !basis.Known() || ev.deliveredAt.Known() {
		return false
	}
	inTime := c.Until(ev.notBefore(c), c.Wait(ev.n))
	return !slices.ContainsFunc(ev.beats(), func(b beat) bool { return b.at <= basis && b.at <= inTime })
}

// handedBackByAnother reports whether the worker of an earlier attempt handed the message back after the current one began: the broker delivers it again.
func (ev *evidence) handedBackByAnother() bool {
	return slices.ContainsFunc(ev.life.Attempts, func(a AttemptFacts) bool { return a.N < ev.n && ev.beganAt.Known() && a.LastNakAt > ev.beganAt })
}

// notBefore is a time before which the current attempt was not delivered.
func (ev *evidence) notBefore(c *ConsumerState) (at Micros) {
	if ev.m.Stored != nil {
		at = ev.m.Stored.At
	}
	if ev.life != ev.m {
		at = latest(at, ev.m.RecreatedAt)
	}
	for _, a := range ev.life.Attempts {
		if a.N >= ev.n {
			continue
		}
		if at = latest(at, a.DeliveredAt); a.HandedBackInTime(c, at) {
			at = a.NakAt
		}
	}
	for _, d := range ev.deliveries {
		if d.N < ev.n {
			at = latest(at, d.At)
		}
	}
	return at
}

// HandedBackInTime reports whether the attempt was handed back before the broker can have delivered the message again, whenever it was delivered after a time. Who hands it
// back later may not know that another has it.
func (a *AttemptFacts) HandedBackInTime(c *ConsumerState, after Micros) bool {
	until := c.Until(after, c.Wait(a.N))
	for _, beat := range a.beats() {
		if beat <= until {
			until = latest(until, c.Until(beat, c.Wait(a.N)))
		}
	}
	return a.NakAt.Known() && a.NakAt >= latest(after, c.WaitsSince) && a.NakAt <= until
}

// forever is after everything.
const forever = Micros(math.MaxInt64)

// latestDeadline is when a lease that is known to last from basis to deadline ran out at the latest: heartbeats in a gap may have extended it. It is [forever] where the
// gap is open.
func latestDeadline(unseen []Gap, stream string, basis, deadline Micros) Micros {
	wait := deadline.Sub(basis)
	for _, g := range unseen {
		switch {
		case !g.Concerns(stream), g.From > deadline, g.To.Known() && g.To <= basis:
		case !g.To.Known():
			return forever
		default:
			deadline = max(deadline, g.To.Add(wait))
		}
	}
	return deadline
}

// lapsed is the lease that is known to have run out. A heartbeat that came later changed nothing.
func (ev *evidence) lapsed(x *Expiry) lease {
	held := lease{deadline: x.Deadline, latest: x.Deadline, basis: x.Basis}
	for _, b := range ev.beats() {
		if b.at <= x.Basis {
			held.beat, held.sender = b.at, b.n
		}
	}
	return held
}

// beats are the known heartbeats that may extend the lease of the current attempt. Where no time of the attempt is known, those of earlier attempts may be from
// before it.
func (ev *evidence) beats() []beat {
	all := ev.life.beatsSince(ev.beganAt)
	if ev.beganAt.Known() {
		return all
	}
	return slices.DeleteFunc(all, func(b beat) bool { return b.n < ev.n })
}

// passed is [AttemptFacts.passed] of the current attempt.
func (ev *evidence) passed() (x *Expiry, last bool) {
	return ev.current.passed(ev.life, ev.deliveredAt)
}
