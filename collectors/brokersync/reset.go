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
			c.CreatedAt, c.MadeAt = old.CreatedAt, old.MadeAt
			if wasReset(old, *c) {
				c.CreatedAt, c.MadeAt = resetAt(old, *c), made
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
	return old.ObservedAt + 1
}
