package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// A stream with Interest retention keeps a message only while a consumer that takes it did not answer. Where the last of them is deleted it drops the
// message, unanswered, in hand or not, and says nothing.

// advisoryLag is how much later than the deletion that it tells of an advisory may be captured by a busy broker.
const advisoryLag = time.Second

// lostInterest reports whether the stream dropped a message with a consumer that took it and was deleted before the message was missed: whoever takes it now
// was created after that.
func (v view) lostInterest(m lifecycle.MessageFacts, missed lifecycle.Micros) bool {
	if !v.Interest || m.Stored == nil {
		return false
	}
	last := v.lastTakerGone(m, missed)
	return last.Known() && !slices.ContainsFunc(v.Consumers, func(c Consumer) bool {
		return c.Made() <= last && lifecycle.MatchesAny(c.Filters, m.Stored.Subject)
	})
}

// lastTakerGone is when a consumer that took a message was deleted last, up to a time: as an advisory says, else as it was seen to be gone. An advisory
// has the time at which it was captured, which may be later than that at which the message was missed.
func (v view) lastTakerGone(m lifecycle.MessageFacts, until lifecycle.Micros) (last lifecycle.Micros) {
	note := func(at lifecycle.Micros) {
		if at >= m.Stored.At && at <= until {
			last = max(last, at)
		}
	}
	said := map[string]lifecycle.Micros{}
	if v.Deleted != nil {
		said = v.Deleted.Last
	}
	for name, at := range said {
		if v.took(name, m) {
			if at > until && at <= until.Add(advisoryLag) {
				at = until
			}
			note(at)
		}
	}
	for _, gone := range v.Gone {
		if _, known := said[gone.Name]; !known && lifecycle.MatchesAny(gone.Filters, m.Stored.Subject) {
			note(gone.ObservedAt)
		}
	}
	return last
}

// took reports whether a consumer of that name took a message: lines of its deliveries say so, or it was seen to take the subject.
func (v view) took(name string, m lifecycle.MessageFacts) bool {
	if namedBy(name, m) {
		return true
	}
	if took, known := v.seenToTake(name, m.Stored); known {
		return took
	}
	return m.Stored.Agent != "" && v.mayHaveTaken(name, m.Stored)
}

// namedBy reports whether lines of a message name a consumer of that name.
func namedBy(name string, m lifecycle.MessageFacts) bool {
	return m.Consumer == name || slices.ContainsFunc(m.Consumers, func(c lifecycle.ConsumerFacts) bool { return c.Consumer == name })
}
