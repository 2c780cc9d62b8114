package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// served says that nobody serves the subject of a message, or that somebody does again. Workers that are just being set up get grace.
func (j *judgement) served(c *Consumer, m lifecycle.MessageFacts) []lifecycle.Event {
	v, grace := j.view, j.waits.Orphan
	if m.Stored == nil || m.Stored.Subject == "" || m.Stored.Schedule != "" { // The broker itself takes a schedule.
		return nil
	}
	orphan := m.OrphanedAt > m.AdoptedAt
	switch {
	case c == nil && v.watched(m): // Whether a worker takes it cannot be told.
		return nil
	case c == nil && j.mayStray(m): // A worker may have it.
		return nil
	case c == nil && !orphan:
		at := max(m.Stored.At, m.AdoptedAt, lastServed(v, m)).Add(grace)
		if at > v.ConsumersAt {
			return nil
		}
		return []lifecycle.Event{newEvent(lifecycle.Orphaned, m, nil, at, uint64(m.AdoptedAt))}
	case c != nil && orphan:
		at := c.CreatedAt
		if at <= m.OrphanedAt { // Its filter was changed.
			at = max(v.ConsumersAt.Truncate(time.Second), m.OrphanedAt+1)
		}
		return []lifecycle.Event{newEvent(lifecycle.Adopted, m, c, at, uint64(m.OrphanedAt))}
	}
	return nil
}

// mayStray reports whether a consumer that does not take a message may have it in hand: it awaits more answers than messages that it takes may account for.
func (j *judgement) mayStray(m lifecycle.MessageFacts) bool {
	return slices.ContainsFunc(j.view.Consumers, func(c Consumer) bool { return j.strays(c, m) })
}

// mayHaveStrayed is [judgement.mayStray] of a message that left the stream. A consumer that is named as another agent's worker is believed to have taken that one's tasks alone.
func (j *judgement) mayHaveStrayed(m lifecycle.MessageFacts) bool {
	return m.Stored != nil && slices.ContainsFunc(j.view.Consumers, func(c Consumer) bool {
		return (c.MayBeFor(m.Stored) || c.strayedWith(m)) && j.strays(c, m)
	})
}

// strays reports whether one consumer that does not take a message may have it in hand.
func (j *judgement) strays(c Consumer, m lifecycle.MessageFacts) bool {
	f := j.inFlight[c.Name]
	return c.MayStray(m) && (f == nil || len(f.messages) < c.AckPending) && !j.view.takes(c, m)
}

// lastServed is when the last of the consumers that are gone, and that served the subject of m, was seen to be gone. That may be later than the
// observation at hand: nodes of a cluster answer with clocks of their own.
func lastServed(v view, m lifecycle.MessageFacts) (at lifecycle.Micros) {
	for _, c := range v.Gone {
		if lifecycle.MatchesAny(c.Filters, m.Stored.Subject) {
			at = max(at, c.ObservedAt)
		}
	}
	return at
}

// recreated says that the consumer of a message was created anew after the message had been delivered: its attempts start again.
func recreated(c Consumer, m lifecycle.MessageFacts) []lifecycle.Event {
	at, began, first := c.CreatedAt, c.Began(), firstSign(m)
	last := lastBeforeReset(c, m)
	if last.Known() {
		at, began = last+1, last+1
	}
	if answer := answeredBeforeReset(c, m); answer.Known() {
		if !last.Known() && (!first.Known() || first >= at) { // Nothing else tells of that delivery: the look before the reset may have come after the answer.
			at = min(at, answer)
		}
		at = max(at, m.Stored.At+1)
		began, first = at, m.Stored.At
	}
	if !first.Known() || first >= began || m.RecreatedAt >= at {
		return nil
	}
	return []lifecycle.Event{newEvent(lifecycle.ConsumerRecreated, m, &c, at)}
}
