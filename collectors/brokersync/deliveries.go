package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// inFlight is what a consumer has handed to its workers, as far as store and broker agree.
type inFlight struct {
	messages []lifecycle.MessageFacts // Delivered, in the stream and not exhausted, in sequence order.
	others   []lifecycle.MessageFacts // All other messages that its open deliveries may belong to; only asked where several may be in hand, or may have been.
	complete bool                     // others is complete: the store has heard of each.
	unclear  bool                     // One of the others is in the stream, and it may have delivered that one or never do so.
	moved    map[string]lifecycle.Micros
}

// deliveries attributes the consumer sequences that no line accounts for to the messages in hand, as far as only one can own them.
// Consumer sequences grow by one per delivery, so each of them is an attempt of some message.
func deliveries(v view, c Consumer, f inFlight) []lifecycle.Event {
	if len(f.messages) == 0 || c.DeliveredCSeq <= c.FloorCSeq || c.Refiltered.Strays || !linesDrained(v, c) {
		return nil
	}
	if c.single() {
		return soleInFlight(v, c, f)
	}
	return sharedInFlight(v, c, f)
}

// linesDrained reports whether the lines of everything up to the consumer's last delivery have been stored.
func linesDrained(v view, c Consumer) bool {
	if !c.DeliveredAt.Known() { // The broker forgets the time when it restarts.
		return v.Drained >= v.ConsumersAt
	}
	return v.Drained >= c.DeliveredAt.Add(captureLagMax)
}

// soleInFlight serves consumers that hold one message at a time. Messages are then delivered strictly one after the other, so the last deliveries are those
// of the message in hand. How many they are a line that numbers one of them says, or else what the others had.
func soleInFlight(v view, c Consumer, f inFlight) []lifecycle.Event {
	i := slices.IndexFunc(f.messages, func(m lifecycle.MessageFacts) bool { return m.Key.Seq == c.DeliveredSeq })
	if c.AckPending != 1 || i < 0 {
		return nil
	}
	m := f.messages[i]
	known := evidenceOf(m, c)
	first, ok := known.begins()
	if !ok {
		return nil
	}
	switch {
	case first > 0:
	case v.tellsLater(c):
		return nil
	default:
		n, _ := f.left(v, c, m)
		first = c.DeliveredCSeq - n + 1
	}
	if f.heldOthers(c, max(first, c.FloorCSeq+1)) {
		return sharedInFlight(v, c, f)
	}
	var unanswered []uint64
	for cseq := max(first, c.FloorCSeq+1); cseq < c.DeliveredCSeq; cseq++ {
		if _, seen := known[cseq]; !seen {
			unanswered = append(unanswered, cseq)
		}
	}
	events := attempts(v, m, c, unanswered, func(cseq uint64) int { return int(cseq-first) + 1 })
	return append(events, lastDelivery(v, c, m, v.movesOf(c, m, f.moved))...)
}

// heldOthers reports whether a line tells of another message that it was one of the consumer's deliveries from one on: what is set to hold one message at a
// time held several before.
func (f inFlight) heldOthers(c Consumer, from uint64) bool {
	return slices.ContainsFunc(f.others, func(m lifecycle.MessageFacts) bool {
		for cseq := range evidenceOf(m, c) {
			if cseq >= from {
				return true
			}
		}
		return false
	})
}

// attempts says that deliveries happened of which no line was seen, no later than the consumer's last delivery, or the look where the broker forgot when that was.
func attempts(v view, m lifecycle.MessageFacts, c Consumer, cseqs []uint64, number func(cseq uint64) int) []lifecycle.Event {
	at := c.DeliveredAt
	if !at.Known() {
		at = v.ConsumersAt
	}
	var events []lifecycle.Event
	for _, cseq := range cseqs {
		e := newEvent(lifecycle.AttemptUnanswered, m, &c, at, cseq)
		e.ConsumerSeq, e.Attempt = cseq, number(cseq)
		events = append(events, e)
	}
	return events
}

// lastDelivery says when the consumer's last delivery, which is one of m, happened: exactly, unless something else may have moved that
// time since; then only that it was no later.
func lastDelivery(v view, c Consumer, m lifecycle.MessageFacts, moved moves) []lifecycle.Event {
	exact := isDelivery(c, m, moved)
	if exact && knownExactly(m, c.DeliveredCSeq) {
		return nil
	}
	_, seen := evidenceOf(m, c)[c.DeliveredCSeq]
	if !exact && seen {
		return nil
	}
	at := c.DeliveredAt
	if !at.Known() {
		at = v.ConsumersAt
	}
	how := uint64(0)
	if exact {
		how = uint64(at)
	}
	e := newEvent(lifecycle.Delivered, m, &c, at, c.DeliveredCSeq, how)
	e.ConsumerSeq, e.Detail.Exact = c.DeliveredCSeq, exact
	return []lifecycle.Event{e}
}

func knownExactly(m lifecycle.MessageFacts, cseq uint64) bool {
	return slices.ContainsFunc(m.CurrentLife().Deliveries, func(d lifecycle.DeliveryFacts) bool { return d.CSeq == cseq && d.At.Known() })
}

// answeredDelivery gives the exact time of the consumer's last delivery to a message that has been answered already, where a line of
// that very delivery names the message.
func answeredDelivery(v view, c Consumer, m lifecycle.MessageFacts, others map[string]lifecycle.Micros) []lifecycle.Event {
	if !c.DeliveredAt.Known() || c.Refiltered.Strays || !linesDrained(v, c) || evidenceOf(m, c)[c.DeliveredCSeq] == 0 || m.Key.Seq != c.DeliveredSeq {
		return nil
	}
	if moved := v.movesOf(c, m, others); isDelivery(c, m, moved) {
		return lastDelivery(v, c, m, moved)
	}
	return nil
}

// isDelivery reports whether the time that the broker gives for the consumer's last delivery, one of m, is that of a delivery: nothing
// else was noted there since, and no line of the delivery is older.
func isDelivery(c Consumer, m lifecycle.MessageFacts, moved moves) bool {
	line := firstLine(m, c.DeliveredCSeq)
	return c.DeliveredAt.Known() && moved.known && moved.until < c.DeliveredAt && (!line.Known() || c.DeliveredAt <= line)
}

// unknownDelivery says of a message that the broker has delivered, and of which no delivery is known, that its first one happened. Lines that
// tell more may be under way: they are waited for until the next poll, not for as long as a busy consumer delivers.
func unknownDelivery(v view, c Consumer, m lifecycle.MessageFacts) []lifecycle.Event {
	if m.CurrentAttempt() > 0 || !linesDrained(v, c) && !v.deliveredBefore(c, m.Key.Seq) {
		return nil
	}
	at := c.DeliveredAt
	if !at.Known() {
		at = v.ConsumersAt
	}
	e := newEvent(lifecycle.Delivered, m, &c, at, 1)
	e.Attempt = 1
	return []lifecycle.Event{e}
}
