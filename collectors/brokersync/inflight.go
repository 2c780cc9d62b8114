package brokersync

import (
	"cmp"
	"slices"

	"fleetglass/lifecycle"
)

const (
	// lookback is how many sequences before a consumer's floor may hold messages that it redelivered after the floor passed them.
	lookback = 1000
	// inFlightRead bounds the messages read for a consumer that may hold several.
	inFlightRead = 1000
)

func bySequence(a, b lifecycle.OpenMessage) int { return a.Message.Key.Compare(b.Message.Key) }

func compareSeq(o lifecycle.OpenMessage, seq uint64) int { return cmp.Compare(o.Message.Key.Seq, seq) }

// readInFlight reads the messages that consumers hold, where they may lie outside the page.
func (st *step) readInFlight() {
	if st.page.whole {
		return
	}
	have := map[uint64]bool{}
	for _, o := range st.known.open {
		have[o.Message.Key.Seq] = true
	}
	for _, c := range st.view.Consumers {
		if c.AckPending == 0 {
			continue
		}
		from, limit := c.FloorSeq+1, min(inFlightRead, 4*c.AckPending)
		if c.single() {
			from, limit = c.DeliveredSeq, 1
		}
		open, _ := st.openFrom(from, limit)
		for _, o := range open {
			if seq := o.Message.Key.Seq; seq <= c.DeliveredSeq && seq <= st.view.LastSeq && !have[seq] {
				have[seq] = true
				st.known.open = append(st.known.open, o)
			}
		}
	}
	slices.SortFunc(st.known.open, bySequence)
}

// readAnswered reads the messages that consumers delivered last and that are not open any more, once for each delivery.
func (st *step) readAnswered() {
	for _, c := range st.view.Consumers {
		if c.DeliveredCSeq == 0 || st.next.Answered[c.Name] == c.DeliveredCSeq || !linesDrained(st.view, c) || st.known.isOpen(c.DeliveredSeq) {
			continue
		}
		rows, ok := st.rowsIn(c.DeliveredSeq, c.DeliveredSeq, 1)
		if !ok {
			continue
		}
		if !slices.ContainsFunc(st.known.answered, func(m lifecycle.MessageFacts) bool { return m.Key.Seq == c.DeliveredSeq }) { // Another consumer may have delivered it last too.
			st.known.answered = append(st.known.answered, rows...)
		}
		final := c.Alone || st.view.Drained >= c.DeliveredAt.Add(movedLag)
		if final && (hasLastDelivery(rows, c) || st.view.Drained >= c.quietSince().Add(captureLag)) {
			st.next.Answered[c.Name] = c.DeliveredCSeq
		}
	}
}

// hasLastDelivery reports whether a line of the consumer's last delivery is known.
func hasLastDelivery(rows []lifecycle.MessageFacts, c Consumer) bool {
	return len(rows) > 0 && evidenceOf(rows[0], c)[c.DeliveredCSeq] > 0
}

// readOthers reads, for consumers that may hold several messages, or may have done so just before, the settled ones that their open deliveries may belong to.
func (st *step) readOthers() {
	st.known.others, st.known.early, st.known.unheard = map[string][]lifecycle.MessageFacts{}, map[string]bool{}, map[string]bool{}
	for _, c := range st.view.Consumers {
		if c.AckPending == 0 || c.openSpan() < 2 && c.single() || st.accounted(c) {
			continue
		}
		if !c.single() && c.DeliveredSeq > st.next.Comparison.Verified {
			st.known.early[c.Name] = true
			continue
		}
		from := c.FloorSeq + 1 - min(c.FloorSeq, lookback)
		rows, ok := st.rowsIn(from, c.DeliveredSeq, lookback+inFlightRead)
		if !ok || len(rows) == lookback+inFlightRead {
			continue
		}
		at, _ := slices.BinarySearchFunc(rows, c.FloorSeq+1, func(m lifecycle.MessageFacts, seq uint64) int { return cmp.Compare(m.Key.Seq, seq) })
		st.known.unheard[c.Name] = uint64(len(rows)-at) < c.DeliveredSeq-min(c.FloorSeq, c.DeliveredSeq)
		others := slices.DeleteFunc(slices.Clone(rows), func(m lifecycle.MessageFacts) bool {
			return !st.view.takes(c, m) && !c.took(m) || st.known.isOpen(m.Key.Seq)
		})
		for i := range others {
			others[i] = others[i].Of(c.Name)
		}
		st.known.others[c.Name] = others
	}
}

// readBeside finds, in a stream that keeps its messages, what a consumer may have in hand although the message is settled: another consumer's worker acknowledged it
// before this one's gave a sign, or one of this consumer's former incarnation did.
func (st *step) readBeside() {
	st.known.beside, st.known.anew = map[string][]lifecycle.MessageFacts{}, nil
	for _, c := range st.view.Consumers {
		if !st.view.Kept || c.Watches || c.AckPending == 0 {
			continue
		}
		rows := st.known.others[c.Name]
		if c.single() && !st.known.isOpen(c.DeliveredSeq) {
			rows, _ = st.rowsIn(c.DeliveredSeq, c.DeliveredSeq, 1)
		}
		for _, m := range rows {
			part := m.Of(c.Name)
			anew := recreated(c, part)
			for _, e := range anew {
				part = part.Clone()
				part.Join(e)
			}
			if (st.view.takes(c, m) || c.strayedWith(m)) && st.view.pending(c, m.Key.Seq) && deliveredBy(c, m.Key.Seq) && !c.mayHaveSkipped(part) && !answered(part) && !exhausted(part, c) {
				st.known.beside[c.Name] = append(st.known.beside[c.Name], part)
				st.known.anew = append(st.known.anew, anew...)
			}
		}
	}
}

// accounted reports whether lines account for every open delivery of a consumer, so that nothing is to be found out.
func (st *step) accounted(c Consumer) bool {
	var taken []lifecycle.MessageFacts
	for _, o := range st.known.open {
		if st.view.takes(c, o.Message) {
			taken = append(taken, o.Message)
		}
	}
	return accountFor(c, taken)
}

// accountFor reports whether the lines of some messages account for every open delivery of a consumer.
func accountFor(c Consumer, some []lifecycle.MessageFacts) bool {
	all := evidence{}
	for _, m := range some {
		all.join(evidenceOf(m, c))
	}
	return all.open(c) >= c.openSpan()
}

// openSpan is how many deliveries it made after the last one up to which all were answered.
func (c Consumer) openSpan() uint64 { return c.DeliveredCSeq - min(c.FloorCSeq, c.DeliveredCSeq) }

// deliveredBy reports whether a consumer has delivered so far that it may hold the message.
func deliveredBy(c Consumer, seq uint64) bool { return c.DeliveredCSeq > 0 && seq <= c.DeliveredSeq }
