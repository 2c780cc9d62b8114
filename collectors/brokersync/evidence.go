package brokersync

import (
	"maps"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

const (
	// captureLag is how long after something happened its line is in the capture stream, or the other way round.
	captureLag = 50 * time.Millisecond
	// captureLagMax is the same where a mistake would stay: lines may lag that much behind what they tell of on a loaded broker.
	captureLagMax = 150 * time.Millisecond
)

// evidence is what is known of the deliveries of one message by the living incarnation of its consumer: attempt number by consumer
// sequence, zero where the number is not known.
type evidence map[uint64]int

// evidenceOf leaves out what earlier incarnations of the consumer delivered: their sequences mean nothing now.
func evidenceOf(m lifecycle.MessageFacts, c Consumer) evidence {
	known := evidence{}
	if len(m.Consumers) > 0 {
		m = m.Of(c.Name)
	}
	for _, d := range m.Deliveries {
		if at := max(d.At, d.Bound, d.LastAt, d.LastBound); at >= c.Began() && d.CSeq <= c.DeliveredCSeq {
			known[d.CSeq] = 0
		}
	}
	for _, a := range m.Attempts {
		for i, cseq := range a.CSeqs {
			if cseq <= c.DeliveredCSeq && a.CSeqAt[i] >= c.Began() {
				known[cseq] = a.N
			}
		}
	}
	return known
}

func lastSign(a lifecycle.AttemptFacts) lifecycle.Micros {
	return max(a.SeenAt, a.DeliveredAt, a.LastBeat, a.NakAt, a.TermAt, a.LastAckAt, a.ConfirmedAt)
}

func firstSign(m lifecycle.MessageFacts) (first lifecycle.Micros) {
	note := func(at lifecycle.Micros) {
		if at.Known() && (!first.Known() || at < first) {
			first = at
		}
	}
	for _, a := range m.Attempts {
		note(a.SeenAt)
		note(a.DeliveredAt)
	}
	for _, d := range m.Deliveries {
		note(d.At)
		note(d.Bound)
	}
	note(m.MaxDeliveriesAt)
	return first
}

// open is how many of the deliveries the consumer made after the last one up to which all were answered.
func (e evidence) open(c Consumer) (n uint64) {
	for cseq := range e {
		if cseq > c.FloorCSeq {
			n++
		}
	}
	return n
}

// begins is the consumer sequence of the first delivery, as the numbered ones say; zero when none is numbered, not ok when they
// disagree.
func (e evidence) begins() (first uint64, ok bool) {
	for cseq, n := range e {
		if n == 0 {
			continue
		}
		if uint64(n) > cseq {
			return 0, false
		}
		if start := cseq - uint64(n) + 1; first == 0 {
			first = start
		} else if first != start {
			return 0, false
		}
	}
	return first, true
}

// with is the evidence and more deliveries that belong to the same message, in order, numbered where that is possible.
func (e evidence) with(more []uint64) (evidence, bool) {
	all := maps.Clone(e)
	for _, cseq := range more {
		all[cseq] = 0
	}
	order := slices.Sorted(maps.Keys(all))
	shift, anchored := 0, false
	for i, cseq := range order {
		n := all[cseq]
		if n == 0 {
			continue
		}
		if anchored && n-(i+1) != shift {
			return nil, false
		}
		shift, anchored = n-(i+1), true
	}
	if shift < 0 {
		return nil, false
	}
	for i, cseq := range order {
		all[cseq] = i + 1 + shift
	}
	return all, true
}

// firstLine is the earliest line of the delivery with that consumer sequence: it happened before. Zero when none is known.
func firstLine(m lifecycle.MessageFacts, cseq uint64) lifecycle.Micros {
	for _, a := range m.Attempts {
		if slices.Contains(a.CSeqs, cseq) {
			return a.SeenAt
		}
	}
	return 0
}

// lastNonDelivery is the latest moment at which a line of the message tells of something other than a delivery that moves the time of its consumer's last
// delivery. It counts whoever says so, and for which incarnation of the consumer: the broker looks at no more than the sequence of a heartbeat.
func lastNonDelivery(m lifecycle.MessageFacts) (at lifecycle.Micros) {
	for _, attempts := range [][]lifecycle.AttemptFacts{m.Attempts, m.Former} {
		for _, a := range attempts {
			at = max(at, a.LastBeat)
			if a.NakDelay > 0 || a.LastNakAt > a.NakAt { // Of several only the last one's delay is known.
				at = max(at, a.LastNakAt)
			}
		}
	}
	for _, c := range m.Claims {
		if c.Kind == lifecycle.Heartbeat || c.Kind == lifecycle.Nacked && c.Delay > 0 {
			at = max(at, c.At)
		}
	}
	return max(at, m.MaxDeliveriesAt, m.ExhaustedSaid)
}
