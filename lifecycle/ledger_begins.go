package lifecycle

import (
	"slices"
	"time"
)

// Whether a repeat was caught by a record depends on what came first: the record, or the begin of the attempt. So that begin must be known not to be earlier than
// is thought. Most of what dates a begin may be late: a deadline that counts from a bound of the delivery, a heartbeat that came after the lease had run out,
// a worker that hands back what it lost long before, a broker that notes other things as its last delivery.

const (
	// movedBefore is how much later than its line something may have moved the broker's time of a delivery.
	movedBefore = 500 * time.Millisecond
	// maxBeginsKept is how many attempts before one are asked for when it began: the latest ones.
	maxBeginsKept = 8
)

// notBegunBefore is a time before which an attempt surely did not begin. Attempts of several incarnations of a consumer are not compared: their
// numbers say nothing of their order.
func (m *MessageFacts) notBegunBefore(a AttemptFacts) (at Micros) {
	if m.Stored != nil {
		at = m.Stored.At
	}
	if m.RecreatedAt.Known() || len(m.Former) > 0 {
		return at
	}
	numbered := m.numbered()
	for n := max(1, a.N-maxBeginsKept); n < a.N; n++ {
		p := m.attemptFacts(n)
		exact := earliest(p.DeliveredAt, deliveryIn(numbered, n).At)
		if x, _ := p.passed(m, exact); x != nil && m.surelyOver(x, latest(at, exact), exact.Known()) {
			at = latest(at, x.Deadline.Add(-bindingSlack)) // It may have run out as much earlier as a poll dates late.
		}
		at = latest(at, exact) // Also where something else moved that time: the consumer had not delivered any further by then.
	}
	if exact := earliest(a.DeliveredAt, deliveryIn(numbered, a.N).At); exact.Known() && !m.movedBy(exact, a.N) {
		at = latest(at, exact)
	}
	return at
}

// lostAt reports whether an attempt surely lost its lease at the deadline that it let pass, and not before.
func (m *MessageFacts) lostAt(x *Expiry, a AttemptFacts, numbered []NumberedDelivery) bool {
	exact := earliest(a.DeliveredAt, deliveryIn(numbered, a.N).At)
	if len(a.beats()) == 0 { // The usual case. When other attempts began is not needed then.
		return exact.Known() && m.surelyOver(x, exact, true)
	}
	return m.surelyOver(x, latest(m.notBegunBefore(a), exact), exact.Known())
}

// surelyOver reports whether an attempt that began at a time, or at some time after it, had surely lost its lease only at a deadline: what that counts from is
// its begin, or heartbeats that came in time.
func (m *MessageFacts) surelyOver(x *Expiry, began Micros, exact bool) bool {
	if x.AtLatest {
		return false
	}
	if exact && x.Basis <= began {
		return true
	}
	wait := max(x.Deadline.Sub(x.Basis), m.apart())
	for _, b := range m.beatsSince(began) {
		if b.at > x.Basis || b.at > began.Add(wait) {
			break
		}
		began = b.at
	}
	return began == x.Basis
}

// movedBy reports whether something else than a delivery may have moved the time that the broker noted as that of an attempt's delivery: a sign of another
// attempt, a delayed nak, or the end of all attempts. A heartbeat of its own tells that it worked.
func (m *MessageFacts) movedBy(exact Micros, attempt int) bool {
	near := func(at Micros) bool {
		return at.Known() && at >= exact.Add(-movedBefore) && at <= exact.Add(bindingSlack)
	}
	if near(m.MaxDeliveriesAt) || near(m.ExhaustedSaid) {
		return true
	}
	for a := range m.everyAttempt() {
		delayed := a.NakDelay > 0 || a.LastNakAt > a.NakAt
		if delayed && (near(a.NakAt) || near(a.LastNakAt)) || a.N != attempt && slices.ContainsFunc(a.beats(), near) {
			return true
		}
	}
	return false
}
