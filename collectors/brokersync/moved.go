package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// A broker says of a consumer when it delivered last. It moves that time also when any message that the consumer has in hand gets a heartbeat, is handed back
// with a delay, or is dropped because its attempts are used up. So that time is when the last delivery happened only where nothing of that kind came after it,
// of no message that was in hand then. Where that is not known the delivery happened no later.

const (
	// movedRead is how many sequences are read at most to find what else a consumer may have had in hand.
	movedRead = 200
	// movedLag is as [captureLagMax] of heartbeats, and of the lines of other messages than the one that was delivered: nothing else contradicts a mistake about them.
	movedLag = 500 * time.Millisecond

	// carriedOut is how long before its line is captured the broker may carry out a nak; 7 ms were measured.
	carriedOut = 50 * time.Millisecond
)

// readMoves reads, for consumers that may have had other messages in hand when they delivered last, when one of those others may have moved the time of that. What
// may have been moved is not read again: it stays so.
func (st *step) readMoves() {
	st.known.moved = map[string]lifecycle.Micros{}
	for _, c := range st.view.Consumers {
		if c.Alone || !st.view.captured(c.DeliveredAt) || st.was.MovesRead[c.Name] == c.DeliveredCSeq || !st.asksWhen(c) || st.view.Drained < c.DeliveredAt.Add(movedLag) {
			continue
		}
		from := st.view.mayHoldFrom(c)
		if c.DeliveredSeq-min(from, c.DeliveredSeq) >= movedRead {
			continue
		}
		rows, ok := st.rowsIn(from, c.DeliveredSeq, movedRead)
		if !ok {
			continue
		}
		moved := lifecycle.Micros(0)
		for _, m := range rows {
			if m.Key.Seq != c.DeliveredSeq && (st.view.takes(c, m) || c.took(m)) {
				moved = max(moved, lastNonDelivery(m.Of(c.Name)))
			}
		}
		if st.known.moved[c.Name] = moved; moved.Add(movedLag) >= c.DeliveredAt {
			st.next.MovesRead[c.Name] = c.DeliveredCSeq
		}
	}
}

// asksWhen reports whether the exact time of the consumer's last delivery is looked for and not known yet: of a message that is answered, or of the one that it has in hand.
func (st *step) asksWhen(c Consumer) bool {
	for _, m := range st.known.answered {
		if m.Key.Seq == c.DeliveredSeq {
			part := m.Of(c.Name)
			return hasLastDelivery([]lifecycle.MessageFacts{m}, c) && !knownExactly(part, c.DeliveredCSeq)
		}
	}
	for _, o := range st.known.open {
		if o.Message.Key.Seq == c.DeliveredSeq {
			return c.single() && c.AckPending == 1 && !knownExactly(o.Message.Of(c.Name), c.DeliveredCSeq)
		}
	}
	return false
}

// aloneNow is [State.Alone] and [State.Met] after one more observation: a consumer that may hold one message gives no other out before that one is answered.
func (s State) aloneNow(o Observation) (alone, met map[string]uint64) {
	alone, met = map[string]uint64{}, map[string]uint64{}
	for _, c := range o.Consumers {
		old, same := s.Consumers[consumerKey{c.Stream, c.Name}]
		same = same && old.CreatedAt == c.CreatedAt
		one := c.MaxAckPending == 1 && old.MaxAckPending == 1 && c.AckPending < 2 && (old.AckPending < 2 || c.DeliveredSeq > old.DeliveredSeq)
		switch {
		case c.DeliveredCSeq == 1:
			alone[c.Name] = 1
		case !same:
			if c.MaxAckPending == 1 {
				met[c.Name] = c.DeliveredCSeq
			}
		case old.DeliveredCSeq == c.DeliveredCSeq:
			alone[c.Name], met[c.Name] = s.Alone[c.Name], s.Met[c.Name]
		case one, old.AckPending == 0 && old.DeliveredCSeq+1 == c.DeliveredCSeq:
			alone[c.Name] = c.DeliveredCSeq
		}
	}
	return alone, met
}

// mayHoldFrom is the first sequence that a consumer may have had in hand when it delivered last.
func (v view) mayHoldFrom(c Consumer) uint64 {
	from := uint64(0)
	if before, known := v.Before[consumerKey{c.Stream, c.Name}]; known && before.CreatedAt == c.CreatedAt && before.DeliveredCSeq < c.DeliveredCSeq {
		from = before.FloorSeq
	}
	if c.Redelivered > 0 || c.hidesRedelivered() {
		from -= min(from, lookback)
	}
	return from + 1
}

// moves say when lines tell last of something that may have moved the time of a consumer's last delivery.
type moves struct {
	until lifecycle.Micros // Until then the time that the broker gives may be that of one, however late it carried it out.
	known bool             // All lines that may tell of one were read.
}

// movesOf are those about a consumer of which m is the last delivery.
func (v view) movesOf(c Consumer, m lifecycle.MessageFacts, moved map[string]lifecycle.Micros) moves {
	others, known := moved[c.Name]
	believed := c.single() && c.Met && v.Drained >= c.DeliveredAt.Add(movedLag) // What may hold one when it is seen first is believed to have held no more before, unless lines say so.
	known = v.captured(c.DeliveredAt) && (known || c.Alone || believed)
	own := max(lastNonDelivery(m).Add(captureLagMax), lastBeat(m).Add(movedLag), handedBack(m))
	return moves{max(own, others.Add(movedLag)), known}
}

// handedBack is until when a message that was handed back with a delay does not come again: the delay counts from when the broker carries that out, up to
// [carriedOut] before its line.
func handedBack(m lifecycle.MessageFacts) (until lifecycle.Micros) {
	for _, a := range slices.Concat(m.Attempts, m.Former) {
		if a.NakDelay > 0 {
			until = max(until, a.LastNakAt.Add(time.Duration(a.NakDelay)-carriedOut))
		}
	}
	return until
}

// lastBeat is the latest heartbeat of a message.
func lastBeat(m lifecycle.MessageFacts) (at lifecycle.Micros) {
	for _, a := range slices.Concat(m.Attempts, m.Former) {
		at = max(at, a.LastBeat)
	}
	return at
}
