package brokersync

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// recover reads lost publishes that are still in the stream. The others become a gap, never a made-up task. It returns how far it came,
// at most to the given end: reading is bounded.
func (st *step) recover(lost []span, end uint64) (reached uint64, ok bool) {
	left, ok := uint64(st.rules.PageSize), true
	for _, run := range lost {
		if left == 0 {
			return run.from - 1, ok
		}
		reading, read := answer(st.facts.Read, ReadRange{run.from, run.to, int(left)}, &st.questions.Read)
		if !read {
			ok = false
			left -= min(left, run.to-run.from+1)
			continue
		}
		left -= min(left, run.to-run.from+1)
		for _, m := range reading.Messages {
			st.repair(m)
		}
		ok = st.gap(span{run.from, reading.Reached}, reading.Messages) && ok
		if reading.Reached < run.to {
			return reading.Reached, ok
		}
	}
	return end, ok
}

// gap says that the lines of a run were lost for good, as far as the stream does not hold their messages any more.
func (st *step) gap(run span, there []ReadMessage) bool {
	if run.from = max(run.from, st.view.Restored+1); run.from > run.to { // The lines of what a backup brought are those of the incarnation before.
		return true
	}
	hole, found := holeIn(run, there)
	if !found {
		return true
	}
	from, known := st.storedBefore(hole.from, there)
	to, knownTo := st.storedAt(run.to+1, st.view.At)
	if !known || !knownTo {
		return false
	}
	st.batch.Gaps = append(st.batch.Gaps, lifecycle.Gap{
		Source: st.view.sibling(fleet.CapturePub).String(), From: from, To: to, FromSeq: hole.from, ToSeq: hole.to,
		Reason: st.lostWords(),
	})
	return true
}

// lostWords say what is not known, and why that may be. A message's own TTL removes its captured line too.
func (st *step) lostWords() string {
	if st.view.Interest { // It numbers what it does not keep.
		return fmt.Sprintf("%s has no message of these sequences, and no publish line: nobody took what was published then (Interest retention), or lines were lost", st.view.Stream.Name)
	}
	words := fmt.Sprintf("publish lines of %s were lost, and the messages are gone", st.view.Stream.Name)
	if st.view.Limits.TTL {
		words += ": their own TTL may have removed both before they were read"
	}
	if unseen := st.view.Limits.Uncaptured; len(unseen) > 0 {
		words += ": capture does not see " + strings.Join(unseen, ", ")
	}
	return words
}

// sibling is another stream of the same account and domain.
func (v view) sibling(name string) lifecycle.StreamID {
	id := v.Stream
	id.Name, id.Epoch = name, 0
	return id
}

// holeIn is the part of a run from its first to its last sequence that is not there.
func holeIn(run span, there []ReadMessage) (hole span, found bool) {
	at := run.from
	note := func(end uint64) {
		if at > end {
			return
		}
		if !found {
			hole.from, found = at, true
		}
		hole.to = end
	}
	for _, m := range there {
		note(m.Seq - 1)
		at = m.Seq + 1
	}
	note(run.to)
	return hole, found
}

// storedBefore is when the last message before a sequence was stored, as far as it is known: it is read just now, or the store knows it. Where a page of
// messages before it was lost too it is when the stream was created. Parts of one run that are found lost one after the other have the same time, so
// that they are one gap.
func (st *step) storedBefore(seq uint64, there []ReadMessage) (lifecycle.Micros, bool) {
	at, from := st.view.Created, seq-min(seq, uint64(st.rules.PageSize))
	rows, ok := st.rowsIn(max(from, 1), seq-1, st.rules.PageSize)
	for _, m := range rows {
		if m.Stored != nil {
			at, from = m.Stored.At, m.Key.Seq
		}
	}
	for _, m := range there {
		if m.Seq < seq && m.Seq > from {
			at, from = m.At, m.Seq
		}
	}
	return at, ok
}

// storedAt is when a message was stored, or the given time when that is not known.
func (st *step) storedAt(seq uint64, otherwise lifecycle.Micros) (lifecycle.Micros, bool) {
	rows, ok := st.rowsIn(seq, seq, 1)
	if !ok || len(rows) == 0 || rows[0].Stored == nil {
		return otherwise, ok
	}
	return rows[0].Stored.At, true
}

// repairKnown reads messages of the page whose publish line was lost: such as the store never heard of, and such as it knows only from
// other lines.
func (st *step) repairKnown() {
	seqs := append([]uint64(nil), st.known.unknown...)
	unread := func(m lifecycle.MessageFacts) {
		if present, _ := st.view.Present.Has(m.Key.Seq); present && m.Unread() && m.Key.Seq <= st.view.Verifiable {
			seqs = append(seqs, m.Key.Seq)
		}
	}
	for _, o := range st.known.open {
		unread(o.Message)
	}
	for _, m := range st.known.settled { // A stream that keeps its messages has what was answered before anybody read it.
		unread(m)
	}
	for _, seq := range seqs {
		reading, _ := answer(st.facts.Read, ReadRange{seq, seq, 1}, &st.questions.Read)
		for _, m := range reading.Messages {
			st.repair(m)
		}
	}
	st.next.Unfinished = st.next.Unfinished || len(seqs) > 0
}

// repair adds what the stream says of a message, once.
func (st *step) repair(m ReadMessage) {
	if st.repaired[m.Seq] {
		return
	}
	st.repaired[m.Seq] = true
	st.batch.Events = append(st.batch.Events, m.Batch.Events...)
	st.batch.Payloads = append(st.batch.Payloads, m.Batch.Payloads...)
	st.batch.Quarantined = append(st.batch.Quarantined, m.Batch.Quarantined...)
	st.next.Unfinished = true
	if m.Hidden {
		st.hidden(m.At)
	}
}

// hidden says, once for each minute, that publishes were made which capture does not see.
func (st *step) hidden(at lifecycle.Micros) {
	from := at.Truncate(time.Minute)
	gap := lifecycle.Gap{
		Source: st.view.sibling(fleet.CaptureRaw).String(), From: from, To: from.Add(time.Minute),
		Reason: "publishes that ask something of their own stream (Nats-Expected-…, Nats-Rollup, Nats-Batch-Id, Nats-Incr, Nats-Schedule), and what a stream publishes or gathers by itself, are not captured: what was stored is read from the stream, and repeated publishes are not seen",
	}
	if !slices.Contains(st.batch.Gaps, gap) {
		st.batch.Gaps = append(st.batch.Gaps, gap)
	}
}
