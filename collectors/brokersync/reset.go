package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// A consumer that is reset (nats-server 2.14 and later) counts its deliveries and their attempts from one again, and awaits no answer to what it delivered before.
// It keeps its name and its time of creation, and no advisory tells of it: only its counters show it. From then on it is another incarnation, as one that is
// created again under its name.

// incarnated are the consumers of an observation. Of one that was reset, the time of that takes the place of its time of creation.
func (s State) incarnated(o Observation) []Consumer {
	consumers := slices.Clone(o.Consumers)
	for i := range consumers {
		c := &consumers[i]
		old, known := s.Consumers[consumerKey{c.Stream, c.Name}]
		if made := c.CreatedAt; known && made == old.Made() {
			c.CreatedAt, c.MadeAt, c.ResetBy = old.CreatedAt, old.MadeAt, old.ResetBy
			if wasReset(old, *c) {
				c.CreatedAt, c.MadeAt, c.ResetBy = resetAt(old, *c), made, c.ObservedAt
			}
		}
	}
	return consumers
}

// wasReset reports whether a consumer forgot all that it had in hand at an earlier observation: it has delivered nothing, or less than it had answers to by then. One
// that has delivered fewer than before, and no less than that, may be of a broker that was killed and forgot its last deliveries.
func wasReset(old lifecycle.ConsumerState, c Consumer) bool {
	return c.DeliveredCSeq < old.DeliveredCSeq && (c.DeliveredCSeq == 0 || c.DeliveredCSeq < old.FloorCSeq)
}

// resetAt is when a consumer was reset: when it was asked, where it had delivered nothing since, else just after it was asked before, so that what it delivered since is
// never taken for a delivery from before. A look at many consumers takes a while: each has a time of its own.
func resetAt(old lifecycle.ConsumerState, c Consumer) lifecycle.Micros {
	if c.DeliveredCSeq == 0 {
		return c.ObservedAt
	}
	return max(old.ObservedAt, old.DeliveredAt) + 1
}

// lastBeforeReset is the last that is known of a message which only the former life of a consumer that was reset can have brought, after the earliest time at which that
// can have been: a sign of a delivery that the consumer has not made since, or of more attempts than it has made deliveries, or what was concluded by a look before. Zero for nothing.
func lastBeforeReset(c Consumer, m lifecycle.MessageFacts) (last lifecycle.Micros) {
	if !c.ResetBy.Known() {
		return 0
	}
	note := func(cseq uint64, at lifecycle.Micros) {
		if cseq > c.DeliveredCSeq && at >= c.CreatedAt && at.Add(captureLagMax) <= c.ObservedAt {
			last = max(last, at)
		}
	}
	note(uint64(m.MaxDeliveriesN), m.MaxDeliveriesAt)
	for _, d := range m.Deliveries {
		note(d.CSeq, max(d.At, d.Bound, d.LastAt, d.LastBound))
	}
	for _, a := range m.Attempts {
		for i, cseq := range a.CSeqs {
			note(cseq, a.CSeqAt[i])
		}
		for _, x := range []*lifecycle.Expiry{a.Expired, a.Dead} {
			if x != nil && x.Judged >= c.CreatedAt && x.Judged < c.ResetBy {
				last = max(last, x.Judged)
			}
		}
	}
	return last
}

// answeredBeforeReset is when somebody who was given a message first answered a delivery that its consumer has not made since it was reset, and nothing else tells of
// one; zero where nobody did.
func answeredBeforeReset(c Consumer, m lifecycle.MessageFacts) lifecycle.Micros {
	if m.Stored == nil || m.Stored.At >= c.ResetBy {
		return 0
	}
	return m.ContestedBy(c.Name)
}
