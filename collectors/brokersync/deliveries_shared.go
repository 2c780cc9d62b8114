package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// sharedInFlight serves consumers that hold several messages. It says nothing unless the lines leave exactly one reading.
func sharedInFlight(v view, c Consumer, f inFlight) []lifecycle.Event {
	if !f.complete || !f.knows(c.DeliveredSeq) || len(f.messages) != c.AckPending || !v.quiet(c) || v.Drained < v.ConsumersAt {
		return nil
	}
	a, ok := account(v, c, f)
	if len(f.messages) == 1 && !ok {
		least, most := f.left(v, c, f.messages[0])
		ok = least == most
	}
	if !ok {
		return nil
	}
	open := a.open(c)
	redelivered := c.Redelivered > a.dead || c.hidesRedelivered() && len(open) > len(a.fresh)
	moved := moves{until: a.nonDelivery.Add(movedLag), known: v.captured(c.DeliveredAt) && v.Drained >= c.DeliveredAt.Add(movedLag)}
	switch {
	case len(f.messages) == 1 && (len(a.own[0])+len(open) <= 1 || redelivered):
		return ownAll(v, c, f.messages[0], a.own[0], open, moved)
	case len(open) == len(a.fresh) && !redelivered:
		return firstOfEach(v, c, f.messages, a.fresh, open, moved)
	case redelivered && len(open) > 0:
		if i := a.dueAlone(c, f); i >= 0 {
			return ownAll(v, c, f.messages[i], a.own[i], open, moved)
		}
	}
	return nil
}

// knows reports whether a message is known that the consumer had: of one whose publish line was lost, and that left before it was read, nothing may be.
func (f inFlight) knows(seq uint64) bool {
	return slices.ContainsFunc(slices.Concat(f.messages, f.others), func(m lifecycle.MessageFacts) bool { return m.Key.Seq == seq })
}

// dueAlone is the only message in hand that the broker can have delivered again; negative where several can.
func (a accounts) dueAlone(c Consumer, f inFlight) int {
	due := -1
	for i, m := range f.messages {
		if waitsStill(c, m, a.own[i]) {
			continue
		}
		if due >= 0 {
			return -1
		}
		due = i
	}
	return due
}

// accounts is what lines say about the deliveries of a consumer that holds several messages.
type accounts struct {
	all         evidence
	own         []evidence       // Of each message in flight.
	fresh       []int            // The messages in flight of which no delivery is known.
	dead        int              // Other messages that used up their attempts.
	nonDelivery lifecycle.Micros // As [lastNonDelivery], of all.
}

// account is not ok when another message owns deliveries of which the sequences are not known, or may: one that was answered late may have been
// delivered again before.
func account(v view, c Consumer, f inFlight) (a accounts, ok bool) {
	a.all, ok = evidence{}, true
	for _, m := range f.others {
		known := evidenceOf(m, c)
		ok = ok && mostOpen(v, c, m) <= known.open(c)
		if m.MaxDeliveriesAt.Known() {
			a.dead++
		}
		a.all, a.nonDelivery = a.all.join(known), max(a.nonDelivery, lastNonDelivery(m))
	}
	for i, m := range f.messages {
		a.own = append(a.own, evidenceOf(m, c))
		a.all, a.nonDelivery = a.all.join(a.own[i]), max(a.nonDelivery, lastNonDelivery(m))
		if len(a.own[i]) == 0 {
			a.fresh = append(a.fresh, i)
		}
	}
	return a, ok
}

// open are the deliveries of the consumer that no line accounts for.
func (a accounts) open(c Consumer) (open []uint64) {
	for cseq := c.FloorCSeq + 1; cseq <= c.DeliveredCSeq; cseq++ {
		if _, ok := a.all[cseq]; !ok {
			open = append(open, cseq)
		}
	}
	return open
}

func (e evidence) join(o evidence) evidence {
	for cseq, n := range o {
		e[cseq] = n
	}
	return e
}

// ownAll gives every open delivery to the only message in hand, unless there are more than its waits left room for.
func ownAll(v view, c Consumer, m lifecycle.MessageFacts, known evidence, open []uint64, moved moves) []lifecycle.Event {
	all, ok := known.with(open)
	if !ok || len(open) > mostUnseen(c, m, known, c.ObservedAt) {
		return nil
	}
	unanswered := slices.DeleteFunc(slices.Clone(open), func(cseq uint64) bool { return cseq == c.DeliveredCSeq })
	events := attempts(v, m, c, unanswered, func(cseq uint64) int { return all[cseq] })
	if _, last := all[c.DeliveredCSeq]; last {
		events = append(events, lastDelivery(v, c, m, moved)...)
	}
	return events
}

// firstOfEach gives one delivery to each message of which none is known: nothing was redelivered, and first deliveries keep the order of
// the stream.
func firstOfEach(v view, c Consumer, hand []lifecycle.MessageFacts, fresh []int, open []uint64, moved moves) []lifecycle.Event {
	var events []lifecycle.Event
	for n, i := range fresh {
		if open[n] == c.DeliveredCSeq {
			events = append(events, lastDelivery(v, c, hand[i], moved)...)
			continue
		}
		events = append(events, attempts(v, hand[i], c, open[n:n+1], func(uint64) int { return 1 })...)
	}
	return events
}
