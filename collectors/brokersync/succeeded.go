package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// A work queue lets no two consumers take one subject. Yet a message has two where an operator gives its subject to another consumer while the first one's worker has it: the broker delivers
// it to a worker of the other one too, delivers it again for both, and removes it once the one that takes its subject has the answer (docs/broker-facts.md, ADR 96).

// several reports whether several consumers may have a message.
func (v view) several(m lifecycle.MessageFacts) bool {
	return v.Kept || len(m.Consumers) > 0 || slices.ContainsFunc(v.Consumers, func(c Consumer) bool { return c.Name == m.Consumer && v.holdsOn(c, m) })
}

// holdsOn reports whether a consumer of a work queue awaits an answer to a message of which its lines tell, although another one takes the subject now.
func (v view) holdsOn(c Consumer, m lifecycle.MessageFacts) bool {
	named := c.Name == m.Consumer || len(m.Consumers) > 0
	if v.Kept || !named || m.Stored == nil || c.AckPending == 0 || c.FloorSeq >= m.Key.Seq || !deliveredBy(c, m.Key.Seq) || !m.Awaits(c.Name) {
		return false
	}
	takes := func(o Consumer) bool { return lifecycle.MatchesAny(o.Filters, m.Stored.Subject) }
	return !takes(c) && slices.ContainsFunc(v.Consumers, takes)
}

// doneBeside are the open messages of a work queue of which an answer to one consumer ended the message, although another one had it too.
func (v view) doneBeside(open []lifecycle.OpenMessage) map[lifecycle.MessageKey]bool {
	out := map[lifecycle.MessageKey]bool{}
	for _, o := range open {
		if !v.Kept && len(o.Message.Consumers) > 0 && o.Message.AnsweredBeside() {
			out[o.Message.Key] = true
		}
	}
	return out
}

// notHeld says which of the consumers of a message in a work queue have it no more: they are deleted, await no answer to it, or another one's worker ended it. What an advisory says of their
// attempts is decided then: the broker cannot be asked any more.
func (j *judgement) notHeld(m lifecycle.MessageFacts) {
	v := j.view
	if v.Kept || len(m.Consumers) == 0 || m.Stored == nil {
		return
	}
	present, known := v.Present.Has(m.Key.Seq)
	gone := known && !present && m.AnsweredBeside()
	holds := func(name string) bool {
		return !gone && slices.ContainsFunc(v.Consumers, func(c Consumer) bool { return c.Name == name && (v.takes(c, m) || v.holdsOn(c, m)) })
	}
	for _, c := range m.Consumers {
		part := m.Of(c.Consumer)
		switch due := undecidedExhaustion(part) && v.ConsumersAt >= part.ExhaustedSaid.Add(captureLagMax); {
		case !due || holds(c.Consumer):
		case m.Awaits(c.Consumer):
			j.say(j.exhaustionEvent(lifecycle.MaxDeliveries, nil, part))
		default:
			j.say(j.exhaustionEvent(lifecycle.ExhaustionDenied, nil, part))
		}
	}
	for _, name := range append(m.NotHeld(holds, v.ConsumersAt), m.NotOwed(holds, v.ConsumersAt)...) {
		j.say(v.hasNot(name, m))
	}
}

// succeeded says that a consumer is to deliver a message which another one's worker ended for its own alone; not ok where that may not be so.
func (v view) succeeded(c *Consumer, m lifecycle.MessageFacts, at lifecycle.Micros) (lifecycle.Event, bool) {
	other := func(o Consumer) bool {
		return o.Name == m.Consumer && m.Stored != nil && !lifecycle.MatchesAny(o.Filters, m.Stored.Subject)
	}
	if !c.tookOver(m) || !slices.ContainsFunc(v.Consumers, other) {
		return lifecycle.Event{}, false
	}
	return toDeliver(*c, m, at), true
}

// toDeliver says that a consumer is to deliver a message that another one is done with.
func toDeliver(c Consumer, m lifecycle.MessageFacts, at lifecycle.Micros) lifecycle.Event {
	e := newEvent(lifecycle.Adopted, m, &c, at)
	e.Detail.Apart, e.Detail.Beside = true, []string{c.Name}
	return e
}
