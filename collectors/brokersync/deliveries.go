package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// Hands is what a consumer has in its workers' hands, as far as store and broker agree.
type Hands struct {
	Messages []lifecycle.MessageFacts // Delivered, in the stream and not exhausted, in sequence order.
	Others   []lifecycle.MessageFacts // All other messages that its open deliveries may belong to; only asked where several may be in hand.
	Complete bool                     // Others is complete.
}

// deliveries attributes the consumer sequences that no line accounts for to the messages in hand, as far as only one can own them.
// Consumer sequences grow by one per delivery, so each of them is an attempt of some message.
func deliveries(look Look, c Consumer, h Hands) []lifecycle.Event {
	if len(h.Messages) == 0 || c.DeliveredCSeq <= c.FloorCSeq || !spoken(look, c) {
		return nil
	}
	if c.MaxAckPending == 1 {
		return soleHand(look, c, h)
	}
	return sharedHands(look, c, h)
}

// spoken reports whether the lines of everything up to the consumer's last delivery have been stored.
func spoken(look Look, c Consumer) bool {
	if !c.DeliveredAt.Known() { // The broker forgets the time when it restarts.
		return look.Drained >= look.ConsumersAt
	}
	return look.Drained >= c.DeliveredAt.Add(hush)
}

// soleHand serves consumers that hold one message at a time. Messages are then delivered strictly one after the other, so the last
// deliveries are those of the message in hand; messages that died before it, without anything acknowledged since, used up their
// attempts each.
func soleHand(look Look, c Consumer, h Hands) []lifecycle.Event {
	i := slices.IndexFunc(h.Messages, func(m lifecycle.MessageFacts) bool { return m.Key.Seq == c.DeliveredSeq })
	if c.AckPending != 1 || i < 0 {
		return nil
	}
	m := h.Messages[i]
	known := evidenceOf(m, c)
	first, ok := known.begins()
	if !ok {
		return nil
	}
	if first == 0 {
		n := c.DeliveredCSeq - c.FloorCSeq
		if c.MaxDeliver > 0 {
			n = (n-1)%uint64(c.MaxDeliver) + 1
		}
		first = c.DeliveredCSeq - n + 1
	}
	var unanswered []uint64
	for cseq := max(first, c.FloorCSeq+1); cseq < c.DeliveredCSeq; cseq++ {
		if _, seen := known[cseq]; !seen {
			unanswered = append(unanswered, cseq)
		}
	}
	events := attempts(m, c, unanswered, func(cseq uint64) int { return int(cseq-first) + 1 })
	return append(events, lastDelivery(look, c, m, noise(m))...)
}

// sharedHands serves consumers that hold several messages. It says nothing unless the lines leave exactly one reading.
func sharedHands(look Look, c Consumer, h Hands) []lifecycle.Event {
	if !h.Complete || len(h.Messages) != c.AckPending || look.Drained < c.quietSince().Add(settle) || look.Drained < look.ConsumersAt {
		return nil
	}
	accounted, loud, dead := evidence{}, lifecycle.Micros(0), 0
	for _, m := range h.Others {
		known := evidenceOf(m, c)
		if n := m.CurrentAttempt(); n > len(known) && firstSign(m) >= c.CreatedAt {
			return nil // It owns deliveries of which the sequences are not known.
		}
		if m.MaxDeliveriesAt.Known() {
			dead++
		}
		accounted, loud = accounted.join(known), max(loud, noise(m))
	}
	own := make([]evidence, len(h.Messages))
	var fresh []int
	for i, m := range h.Messages {
		own[i] = evidenceOf(m, c)
		accounted, loud = accounted.join(own[i]), max(loud, noise(m))
		if len(own[i]) == 0 {
			fresh = append(fresh, i)
		}
	}
	var open []uint64
	for cseq := c.FloorCSeq + 1; cseq <= c.DeliveredCSeq; cseq++ {
		if _, ok := accounted[cseq]; !ok {
			open = append(open, cseq)
		}
	}
	redelivered := c.Redelivered > dead
	switch {
	case len(h.Messages) == 1 && (len(own[0])+len(open) <= 1 || redelivered):
		return ownAll(look, c, h.Messages[0], own[0], open, loud)
	case len(open) == len(fresh) && !redelivered:
		return firstOfEach(look, c, h.Messages, fresh, open, loud)
	}
	return nil
}

func (e evidence) join(o evidence) evidence {
	for cseq, n := range o {
		e[cseq] = n
	}
	return e
}

// ownAll gives every open delivery to the only message in hand.
func ownAll(look Look, c Consumer, m lifecycle.MessageFacts, known evidence, open []uint64, loud lifecycle.Micros) []lifecycle.Event {
	all, ok := known.with(open)
	if !ok {
		return nil
	}
	unanswered := slices.DeleteFunc(slices.Clone(open), func(cseq uint64) bool { return cseq == c.DeliveredCSeq })
	events := attempts(m, c, unanswered, func(cseq uint64) int { return all[cseq] })
	if _, last := all[c.DeliveredCSeq]; last {
		events = append(events, lastDelivery(look, c, m, loud)...)
	}
	return events
}

// firstOfEach gives one delivery to each message of which none is known: nothing was redelivered, and first deliveries keep the order of
// the stream.
func firstOfEach(look Look, c Consumer, hand []lifecycle.MessageFacts, fresh []int, open []uint64, loud lifecycle.Micros) []lifecycle.Event {
	var events []lifecycle.Event
	for n, i := range fresh {
		if open[n] == c.DeliveredCSeq {
			events = append(events, lastDelivery(look, c, hand[i], loud)...)
			continue
		}
		events = append(events, attempts(hand[i], c, open[n:n+1], func(uint64) int { return 1 })...)
	}
	return events
}

// attempts says that deliveries happened of which no line was seen, no later than the consumer's last delivery.
func attempts(m lifecycle.MessageFacts, c Consumer, cseqs []uint64, number func(cseq uint64) int) []lifecycle.Event {
	at := c.DeliveredAt
	if !at.Known() {
		at = m.LastAt
	}
	var events []lifecycle.Event
	for _, cseq := range cseqs {
		e := inferred(newEvent(lifecycle.AttemptUnanswered, m, &c, at, cseq))
		e.ConsumerSeq, e.Attempt = cseq, number(cseq)
		events = append(events, e)
	}
	return events
}

// lastDelivery says when the consumer's last delivery, which is one of m, happened: exactly, unless something else may have moved that
// time since; then only that it was no later.
func lastDelivery(look Look, c Consumer, m lifecycle.MessageFacts, loud lifecycle.Micros) []lifecycle.Event {
	exact := isDelivery(c, m, loud)
	if exact && knownExactly(m, c.DeliveredCSeq) {
		return nil
	}
	_, seen := evidenceOf(m, c)[c.DeliveredCSeq]
	if !exact && seen {
		return nil
	}
	at := c.DeliveredAt
	if !at.Known() {
		at = look.ConsumersAt
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
	return slices.ContainsFunc(m.Deliveries, func(d lifecycle.DeliveryFacts) bool { return d.CSeq == cseq && d.At.Known() })
}

// answeredDelivery gives the exact time of the consumer's last delivery to a message that has been answered already, where a line of
// that very delivery names the message.
func answeredDelivery(look Look, c Consumer, m lifecycle.MessageFacts) []lifecycle.Event {
	if !c.DeliveredAt.Known() || !spoken(look, c) || evidenceOf(m, c)[c.DeliveredCSeq] == 0 || m.Key.Seq != c.DeliveredSeq {
		return nil
	}
	if loud := noise(m); isDelivery(c, m, loud) {
		return lastDelivery(look, c, m, loud)
	}
	return nil
}

// isDelivery reports whether the time that the broker gives for the consumer's last delivery, one of m, is that of a delivery: nothing
// else was noted there since, and no line of the delivery is older.
func isDelivery(c Consumer, m lifecycle.MessageFacts, loud lifecycle.Micros) bool {
	line := firstLine(m, c.DeliveredCSeq)
	return c.DeliveredAt.Known() && (!loud.Known() || loud.Add(hush) < c.DeliveredAt) && (!line.Known() || c.DeliveredAt <= line)
}

// inHandUnknown says of a message that the broker has delivered, and of which no delivery is known, that its first one happened.
func inHandUnknown(look Look, c Consumer, m lifecycle.MessageFacts) []lifecycle.Event {
	if m.CurrentAttempt() > 0 || !spoken(look, c) {
		return nil
	}
	at := c.DeliveredAt
	if !at.Known() {
		at = look.ConsumersAt
	}
	e := newEvent(lifecycle.Delivered, m, &c, at, 1)
	e.Attempt = 1
	return []lifecycle.Event{e}
}
