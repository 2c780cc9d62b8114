package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// recheckAfter is how long a message that is in the stream although it is settled is not read again.
const recheckAfter = 30 * time.Second

// page is the part of the stream that one poll compares with the store.
type page struct {
	read     bool   // While nothing changes no page is read.
	from, to uint64 // First and last sequence.
	whole    bool   // It is all of the stream.
}

// known is what the store knows about the messages that a poll looks at.
type known struct {
	open     []lifecycle.OpenMessage             // Not settled, in sequence order.
	settled  []lifecycle.MessageFacts            // In the stream, yet settled by the store's account.
	unknown  []uint64                            // In the stream, and never heard of by the store.
	missing  []lifecycle.MessageFacts            // Open, not in the stream, and not explained yet.
	passed   map[string]passed                   // By consumer: what proves that it never delivered missing messages.
	forgot   map[string]bool                     // By consumer: lines tell of deliveries by it that the broker has forgotten.
	answered []lifecycle.MessageFacts            // Messages that a consumer delivered last and that are settled.
	others   map[string][]lifecycle.MessageFacts // By consumer: settled messages that its open deliveries may belong to. Missing where not asked.
	moved    map[string]lifecycle.Micros         // By consumer: when a message that it may have had in hand may have moved the time of its last delivery. Missing where not asked.
	early    map[string]bool                     // By consumer: it is too early to ask for others.
	unheard  map[string]bool                     // By consumer: the store never heard of a message that its open deliveries may belong to. Only where asked for others.
	anew     []lifecycle.Event                   // That the consumers of some of those beside were created anew since.
	ahead    map[string]aheadOf                  // By consumer that came: what another one is done with, and this one is still to deliver.
	beside   map[string][]lifecycle.MessageFacts // By consumer: messages that it may have in hand, as it has them, and that are settled by what another did.
}

// isOpen reports whether a message is among the open ones that were read.
func (k known) isOpen(seq uint64) bool {
	_, found := slices.BinarySearchFunc(k.open, seq, compareSeq)
	return found
}

// readPage reads the page that begins at the cursor.
func (st *step) readPage() {
	n := &st.next
	if n.Sweep.idle(st.view.At) {
		return
	}
	limit := st.rules.PageSize
	open, ok := st.openFrom(n.Sweep.Cursor, limit)
	if !ok {
		return
	}
	open = slices.Clone(open)
	slices.SortFunc(open, bySequence)
	p := page{read: true, from: n.Sweep.Cursor, to: min(st.view.LastSeq, st.view.Present.To)}
	whole := len(open) < limit
	if !whole {
		p.to = min(p.to, open[len(open)-1].Message.Key.Seq)
	}
	st.page = p
	st.readRest(open)
	st.page.whole = whole && p.from == 0 && st.page.to >= st.view.LastSeq
	st.known.open = slices.DeleteFunc(open, func(o lifecycle.OpenMessage) bool { return o.Message.Key.Seq > st.page.to })
	n.Comparison = n.Comparison.swept(st.known.unknown, st.page.to >= st.view.LastSeq)
}

// openFrom are open messages of the observed stream.
func (st *step) openFrom(from uint64, limit int) ([]lifecycle.OpenMessage, bool) {
	open, ok := answer(st.facts.Open, OpenRange{st.view.Stream, from, limit}, &st.questions.Open)
	if !slices.ContainsFunc(open, func(o lifecycle.OpenMessage) bool { return len(o.Message.Claims) > 0 }) {
		return open, ok
	}
	open = slices.Clone(open)
	for i := range open {
		if len(open[i].Message.Claims) > 0 {
			open[i].Message = open[i].Message.Believed()
		}
	}
	return open, ok
}

// rowsIn are messages of the observed stream, open or not.
func (st *step) rowsIn(from, to uint64, limit int) ([]lifecycle.MessageFacts, bool) {
	rows, ok := answer(st.facts.Rows, RowRange{from, to, limit}, &st.questions.Rows)
	return believed(rows), ok
}

// readRest reads what is in the stream and not open by the store's account. It ends the page where that is too much.
func (st *step) readRest(open []lifecycle.OpenMessage) {
	isOpen := map[uint64]bool{}
	for _, o := range open {
		isOpen[o.Message.Key.Seq] = true
	}
	var rest []uint64
	st.view.Present.Between(st.page.from, st.page.to, func(seq uint64) bool {
		if isOpen[seq] || st.view.At < st.was.recheckAt(st.view.Stream, seq) {
			return true
		}
		if rest = append(rest, seq); len(rest) < st.rules.PageSize {
			return true
		}
		st.page.to, st.next.Unfinished = seq, true
		return false
	})
	for _, run := range runsOf(rest) {
		st.readRun(run)
	}
}

// recheckAt is when a settled message is due to be read again.
func (s State) recheckAt(stream lifecycle.StreamID, seq uint64) lifecycle.Micros {
	if s.Stream != stream {
		return 0
	}
	return s.Rechecks[seq]
}

// runsOf splits sequences where more than a few are missing between two of them, so that each run is read at once.
func runsOf(seqs []uint64) (runs [][]uint64) {
	for len(seqs) > 0 {
		n := 1
		for n < len(seqs) && seqs[n]-seqs[n-1] <= 4 {
			n++
		}
		runs, seqs = append(runs, seqs[:n]), seqs[n:]
	}
	return runs
}

// readRun reads one run of messages that are in the stream and not open.
func (st *step) readRun(seqs []uint64) {
	from, to := seqs[0], seqs[len(seqs)-1]
	rows, ok := st.rowsIn(from, to, int(to-from)+1)
	if !ok {
		return
	}
	for _, seq := range seqs {
		i, found := slices.BinarySearchFunc(rows, seq, func(m lifecycle.MessageFacts, seq uint64) int {
			return compareSeq(lifecycle.OpenMessage{Message: m}, seq)
		})
		switch {
		case found:
			st.known.settled = append(st.known.settled, rows[i])
			switch {
			case rows[i].Unread() && seq > st.view.Verifiable: // Its line may still come; where it does not the stream is asked.
				st.next.Unfinished = true
			case !answerPending(rows[i]):
				st.next.Rechecks[seq] = st.view.At.Add(recheckAfter)
			}
		case seq <= st.view.Verifiable:
			st.known.unknown = append(st.known.unknown, seq)
		}
	}
}

// answerPending reports whether an answer to m is still to be refuted, should the message stay in the stream.
func answerPending(m lifecycle.MessageFacts) bool {
	return slices.ContainsFunc(m.Attempts, func(a lifecycle.AttemptFacts) bool {
		return max(a.LastAckAt, a.ConfirmedAt, a.TermAt) > m.RefutedAt
	})
}
