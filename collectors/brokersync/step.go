package brokersync

import (
	"maps"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// Rules are the fixed numbers that [Rules.Step] works with.
type Rules struct {
	Waits    Waits
	PageSize int           // Rows asked of the store, and messages read from the broker, in one poll.
	Earlier  time.Duration // How often earlier incarnations are checked.
}

// Waits are how long a poll waits before it believes what it sees.
type Waits struct {
	Refute time.Duration // An answered message must still be there so long after.
	Vanish time.Duration // A missing message must have been missing so long, and all lines up to then be stored.
	Orphan time.Duration // A message must have been without a consumer so long.
}

// Step compares what the broker said with what the store knows. It is pure: the same arguments give the same results, and none of them
// is changed. While it has questions, state and batch mean nothing: answer them, add the answers to the facts and step again from the
// same state. Without questions the batch is what to commit, and the state is the next one once that has succeeded.
func (r Rules) Step(s State, o Observation, f Facts) (State, lifecycle.Batch, Questions) {
	st := &step{rules: r, was: s, next: s.about(o.Stream), facts: f, repaired: map[uint64]bool{}}
	st.observe(o)
	for _, stage := range st.stages() {
		if stage(); !st.questions.None() {
			return s, lifecycle.Batch{}, st.questions
		}
	}
	return st.next, st.batch, Questions{}
}

// step is one computation of [Rules.Step].
type step struct {
	rules     Rules
	was       State
	next      State
	view      view
	facts     Facts
	questions Questions

	page     page
	known    known
	repaired map[uint64]bool // Messages of which the batch already has what the stream says.
	batch    lifecycle.Batch

	counted   map[string][]uint64 // See [step.countedBy]; nil before anybody asked.
	believing bool                // A consumer is past a message of this page, for too short a time to say so.
}

// stages are what a step does, in this order: each relies on what those before it asked. Judging comes last, so that it is done once.
func (st *step) stages() []func() {
	if st.view.Absent {
		return []func(){st.streamAbsent}
	}
	return []func(){
		st.readPage, st.readInFlight, st.noteGoneConsumers, st.readAnswered, st.readGaps, st.readMoves, st.readOthers, st.readBeside, st.readAhead, st.askPresence, st.miss, st.readPassed,
		st.compare, st.repairKnown, st.endEarlier, st.sayAhead, st.sayAnew, st.sayUnbound, st.drop, st.judge, st.savePosition,
	}
}

// observe notes what follows from the observation alone.
func (st *step) observe(o Observation) {
	now := o.At
	if o.Absent {
		now = o.Removed.Add(st.rules.Waits.Vanish)
	}
	n := &st.next
	if !o.Absent {
		n.watch(o)
	}
	n.At, n.Capture = now, n.Capture.advance(o.Capture, now)
	st.view = view{Observation: o, Drained: n.Capture.answers(), Blind: o.Capture.missing()}
	if o.Absent {
		return
	}
	o.Consumers = st.was.incarnated(o)
	n.Sweep = n.Sweep.observe(o)
	n.Comparison = n.Comparison.observe(o, n.Capture.Publishes.UpTo)
	st.view.Verifiable, st.view.Verified = n.Comparison.Verifiable, st.was.Comparison.Verified
	st.view.Watched = n.Watched
	n.Steady, n.Unbroken = st.was.steadyNow(o), st.was.unbrokenNow(o)
	n.Single = st.was.singleNow(o)
	n.Alone, n.Met = st.was.aloneNow(o)
	n.Fresh = st.was.freshNow(o)
	n.Comers = st.was.comersNow(o, st.view.Drained)
	o.Consumers = st.was.withChanges(o)
	st.view.Consumers = sortedConsumers(o.Consumers)
	for i := range st.view.Consumers {
		c := &st.view.Consumers[i]
		c.Steady, c.Single = n.Steady[c.Name], n.Single[c.Name]
		c.Alone, c.Met = n.Alone[c.Name] == c.DeliveredCSeq, n.Met[c.Name] == c.DeliveredCSeq && st.was.MovesRead[c.Name] != c.DeliveredCSeq
	}
	st.storeConsumers(o.Consumers, o.At)
	n.Busy = n.busyNow(st.view)
	st.view.Replaced, st.view.Before, st.view.Busy = n.Replaced, st.was.Consumers, n.Busy
	for _, c := range n.Consumers {
		if c.Gone && c.Stream == o.Stream {
			st.view.Gone = append(st.view.Gone, c)
		}
	}
}

// storeConsumers adds the consumers that are to be stored, and remembers them as stored.
func (st *step) storeConsumers(now []Consumer, at lifecycle.Micros) {
	changed := changedConsumers(st.next.Consumers, st.view.Stream, now, at)
	st.batch.Consumers = append(st.batch.Consumers, changed...)
	if len(changed) == 0 {
		return
	}
	st.next.Consumers = copied(st.next.Consumers)
	for _, c := range changed {
		k := consumerKey{c.Stream, c.Name}
		if old, known := st.next.Consumers[k]; known && old.CreatedAt != c.CreatedAt {
			st.next.Replaced[c.Name] = c.CreatedAt
		}
		st.next.Consumers[k] = c
	}
}

// askPresence asks about messages in somebody's hands that the observation did not cover, as many as one poll may.
func (st *step) askPresence() {
	var unknown []uint64
	for _, parts := range st.known.beside {
		for _, p := range parts {
			if _, known := st.view.Present.Has(p.Key.Seq); !known && !slices.Contains(unknown, p.Key.Seq) {
				unknown = append(unknown, p.Key.Seq)
			}
		}
	}
	for _, all := range st.known.ahead {
		for _, m := range all.messages {
			if _, known := st.view.Present.Has(m.Key.Seq); !known && !slices.Contains(unknown, m.Key.Seq) {
				unknown = append(unknown, m.Key.Seq)
			}
		}
	}
	for _, o := range st.known.open {
		seq := o.Message.Key.Seq
		mayHold := func(m lifecycle.MessageFacts) bool {
			c := st.view.consumerOf(m)
			return c != nil && deliveredBy(*c, seq)
		}
		if !slices.ContainsFunc(st.view.partsOf(o.Message), mayHold) {
			continue
		}
		if _, known := st.view.Present.Has(seq); !known {
			unknown = append(unknown, seq)
		}
	}
	slices.Sort(unknown)
	for _, seq := range st.inTurn(unknown) {
		answer(st.facts.Present, seq, &st.questions.Present)
	}
	st.view.Present.Single = st.facts.Present
}

// inTurn takes as many sequences as one poll may ask about, beginning behind those of the poll before.
func (st *step) inTurn(seqs []uint64) []uint64 {
	limit := max(st.rules.PageSize, 16)
	if len(seqs) <= limit {
		return seqs
	}
	at, _ := slices.BinarySearch(seqs, st.was.AskedUpTo+1)
	chosen := append(slices.Clone(seqs[at:]), seqs[:at]...)[:limit]
	st.next.AskedUpTo, st.next.Unfinished = chosen[limit-1], true
	return chosen
}

// judge concludes.
func (st *step) judge() {
	st.batch.Events = append(st.batch.Events, judge(st.view, st.known, st.next.Missing, st.rules.Waits)...)
	if st.page.read {
		st.next.Unfinished = st.next.Unfinished || len(st.known.missing) > 0
		st.turnPage()
	}
}

// turnPage moves the sweep on to the next page.
func (st *step) turnPage() {
	n, last := &st.next, st.page.to >= st.view.LastSeq
	n.Sweep = n.Sweep.turn(st.view.Observation, len(st.known.open), last, n.Unfinished || st.believing)
	if n.Sweep.Cursor = st.page.to + 1; last {
		n.Sweep.Cursor = 0
		maps.DeleteFunc(n.Rechecks, func(_ uint64, until lifecycle.Micros) bool { return until < st.view.At })
	}
}

// savePosition stores how far the comparison came, together with other things or after a while.
func (st *step) savePosition() {
	st.next.Comparison, st.batch.Watermarks = st.next.Comparison.due(st.view.Stream, st.view.At, !st.batch.Empty())
}
