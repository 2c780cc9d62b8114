package brokersync

import (
	"fmt"
	"slices"
	"strings"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// A stream that is no work queue keeps its messages after an acknowledgement, and several consumers may take one message. That a message is there says
// nothing of it then, and only workers' consumers judge it (SITUATIONS, "Streams and consumers"; ADR 23).

// pending reports whether a consumer may still wait for an answer to a message that it delivered and that is in the stream.
func (v view) pending(c Consumer, seq uint64) bool {
	return !v.Kept || awaits(c, seq)
}

// awaits reports whether a consumer may wait for an answer to a message.
func awaits(c Consumer, seq uint64) bool { return c.AckPending > 0 && seq > c.FloorSeq }

// watched reports whether a consumer that only watches takes the subject of a message.
func (v view) watched(m lifecycle.MessageFacts) bool {
	for _, c := range v.Consumers {
		if c.Watches && m.Stored != nil && lifecycle.MatchesAny(c.Filters, m.Stored.Subject) {
			return true
		}
	}
	return false
}

// shared reports whether several workers' consumers take the subject of a message, so that none of them alone proves what became of it.
func (v view) shared(m lifecycle.MessageFacts) bool {
	n := 0
	for _, c := range v.Consumers {
		if v.Kept && !c.Watches && m.Stored != nil && lifecycle.MatchesAny(c.Filters, m.Stored.Subject) {
			n++
		}
	}
	return n > 1
}

// shares reports whether a message is one as one of several consumers has it: as the one has it that it names.
func (v view) shares(m lifecycle.MessageFacts) bool {
	for i := range v.Consumers { // There may be a thousand: none is copied.
		c := &v.Consumers[i]
		if c.Name != m.Consumer {
			continue
		}
		if v.Kept && !c.Watches && (m.Stored == nil || lifecycle.MatchesAny(c.Filters, m.Stored.Subject) || c.strayedWith(m)) || v.holdsOn(*c, m) {
			return true
		}
	}
	return false
}

// takes reports whether a consumer delivers a message: in a work queue the only one does, in another stream each workers' consumer that takes its subject, or is
// named by its lines where no publish line says that. None does that was past it before it took its subject.
func (v view) takes(c Consumer, m lifecycle.MessageFacts) bool {
	switch {
	case c.skipped(m):
		return false
	case m.Stored != nil && (v.Kept || m.Stored.Subject != ""):
		return !c.Watches && lifecycle.MatchesAny(c.Filters, m.Stored.Subject)
	case v.Kept:
		return !c.Watches && namedBy(c.Name, m)
	}
	of := v.consumerOf(m)
	return of != nil && of.Name == c.Name
}

// beside are the other workers' consumers that may still have to answer a message that one of them is done with, by name: it is not over (ADR 73). c is nil where
// that one lives no more.
func (v view) beside(c *Consumer, m lifecycle.MessageFacts) (out []string) {
	for _, o := range v.Consumers {
		may := v.takes(o, m) || o.strayedWith(m) || m.Stored == nil && c != nil && !o.Watches && o.meets(*c)
		if v.Kept && may && o.Name != m.Consumer && o.FloorSeq < m.Key.Seq {
			out = append(out, o.Name)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), collectors.MaxBeside)]
}

// partsOf is a message as each of the workers' consumers has it that take it, or may still have it in hand; itself where a work queue has one, and where there is none.
func (v view) partsOf(m lifecycle.MessageFacts) []lifecycle.MessageFacts {
	var out []lifecycle.MessageFacts
	several := v.several(m)
	for _, c := range v.Consumers {
		if several && (v.takes(c, m) || v.Kept && c.strayedWith(m) || v.holdsOn(c, m)) {
			out = append(out, m.Of(c.Name).Believed())
		}
	}
	switch {
	case out != nil:
		return out
	case len(m.Consumers) > 0:
		return m.Parts()[:1]
	}
	return []lifecycle.MessageFacts{m}
}

// notTaken says of consumers whose answer to a message is waited for that they do not take it: they are deleted, or take other subjects.
func (v view) notTaken(m lifecycle.MessageFacts) (out []lifecycle.Event) {
	if !v.Kept || m.Stored == nil {
		return nil
	}
	takes := func(name string) bool {
		return slices.ContainsFunc(v.Consumers, func(c Consumer) bool { return c.Name == name && (v.takes(c, m) || c.Refiltered.Strays) })
	}
	for _, name := range m.NotOwed(takes, v.ConsumersAt) {
		out = append(out, v.hasNot(name, m))
	}
	return out
}

// hasNot says of a consumer that it has a message no more, or does not take it.
func (v view) hasNot(name string, m lifecycle.MessageFacts) lifecycle.Event {
	e := newEvent(lifecycle.NotTaken, m, &Consumer{ConsumerState: lifecycle.ConsumerState{Name: name}}, v.ConsumersAt)
	e.Detail.Apart = true
	return e
}

// partsOfOpen is [view.partsOf] of open messages. shared are those that several consumers may have.
func (v view) partsOfOpen(open []lifecycle.OpenMessage) (out []lifecycle.OpenMessage, shared map[lifecycle.MessageKey]bool) {
	shared = map[lifecycle.MessageKey]bool{}
	for _, o := range open {
		if !v.several(o.Message) {
			out = append(out, o)
			continue
		}
		shared[o.Message.Key] = true
		parts := v.partsOf(o.Message)
		for i := range parts {
			out = append(out, o.OfPart(parts, i))
		}
	}
	return out, shared
}

// ofOneConsumer are the kinds of events that speak of one consumer's deliveries, whether or not they number them.
var ofOneConsumer = map[lifecycle.Kind]bool{
	lifecycle.Delivered: true, lifecycle.ConsumerRecreated: true, lifecycle.MaxDeliveries: true, lifecycle.ExhaustionDenied: true,
	lifecycle.NotTaken: true,
}

// setApart marks what is concluded of one consumer in a stream that keeps its messages.
func (v view) setApart(events []lifecycle.Event) {
	for i := range events {
		e := &events[i]
		e.Detail.Apart = e.Detail.Apart || v.Kept && e.Consumer != "" && (e.Attempt > 0 || ofOneConsumer[e.Kind])
	}
}

// unjudged says of a stream which of its messages cannot be judged; empty where all can: those that only consumers take which are not named as a worker's.
func (o Observation) unjudged() string {
	if !o.Kept {
		return ""
	}
	var alone []string
	for _, c := range o.Consumers {
		if c.Watches && !slices.ContainsFunc(o.Consumers, func(w Consumer) bool { return !w.Watches && w.meets(c) }) {
			alone = append(alone, c.Name)
		}
	}
	if len(alone) == 0 {
		return ""
	}
	slices.Sort(alone)
	names := strings.Join(alone[:min(len(alone), unjudgedNamed)], ", ")
	if more := len(alone) - unjudgedNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s keeps messages after they are acknowledged, and nobody who is named as a worker (--worker-consumers) takes what %s takes: those tasks cannot be judged", o.Stream.Name, names)
}

// unjudgedNamed is how many consumers are named that nobody works beside.
const unjudgedNamed = 3

// meets reports whether two consumers may take one message. One without filters takes all.
func (c Consumer) meets(o Consumer) bool {
	return fleet.FiltersMeet(c.Filters, o.Filters)
}
