package brokersync

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// miss finds the open messages that are not in the stream, and forgets those of this page that were found again. What a message is
// missed with is noted once, when it is missed first: later the stream may have changed.
func (st *step) miss() {
	still, older := map[uint64]bool{}, map[string]bool{} // older: subjects of which the page has an older message that is there.
	subjects := map[string]bool{}
	for _, o := range st.known.open {
		m := o.Message
		present, known := st.view.Present.Has(m.Key.Seq)
		switch {
		case known && present && m.Stored != nil:
			older[m.Stored.Subject] = true
		case known && !present && !m.VanishedAt.Known():
			still[m.Key.Seq] = true
			st.known.missing = append(st.known.missing, m)
			st.missFirst(m, older, subjects)
		}
	}
	if st.page.read {
		maps.DeleteFunc(st.next.Missing, func(seq uint64, _ Missed) bool {
			return seq >= st.page.from && seq <= st.page.to && !still[seq]
		})
	}
}

// missFirst notes a message that was not missed before. A limit removes the oldest message, of the stream or of the subject.
func (st *step) missFirst(m lifecycle.MessageFacts, older, subjects map[string]bool) {
	if _, known := st.next.Missing[m.Key.Seq]; known {
		return
	}
	missed := Missed{Since: st.view.At, Last: st.view.LastSeq, Full: st.view.Full && m.Key.Seq < st.view.FirstSeq, Limits: st.view.Limits}
	missed.Broken = st.was.Server != "" && st.was.Server != st.view.Server
	missed = st.notedBefore(missed, m)
	if limit := st.view.Limits.MaxPerSubject; limit > 0 && m.Stored != nil && !older[m.Stored.Subject] {
		if subject := m.Stored.Subject; subjects[subject] || len(subjects) < st.rules.subjects() {
			subjects[subject] = true
			n, _ := answer(st.facts.Fill, subject, &st.questions.Fill)
			missed.Full = missed.Full || n >= uint64(limit)
		}
	}
	st.next.Missing[m.Key.Seq] = missed
}

// subjects is how many subjects one poll asks about.
func (r Rules) subjects() int { return max(1, r.PageSize/4) }

// passedRead bounds the messages read around missing ones, to see whether their consumer passed over them.
const passedRead = 10_000

// readPassed reads the messages around those that are due to be called gone: what their consumer delivered, and what was stored after them.
func (st *step) readPassed() {
	read := map[string]span{}
	st.known.forgot = map[string]bool{}
	for _, m := range st.known.missing {
		c := st.view.consumerOf(m)
		if st.view.Drained < st.next.Missing[m.Key.Seq].Since.Add(st.rules.Waits.Vanish) {
			continue
		}
		if !st.next.Missing[m.Key.Seq].unchanged() {
			st.askUpdates()
		}
		st.askDeletions(c, m)
		st.askAboutClaim(m)
		if !st.view.sole(c, m) {
			continue
		}
		beyond := c != nil && m.Key.Seq > c.DeliveredSeq
		if beyond {
			st.readBeyond(*c)
		}
		limit := st.next.Missing[m.Key.Seq].Limits.MaxPerSubject
		if (c == nil || beyond) && limit <= 0 {
			continue
		}
		s, begun := read[c.name()]
		if !begun {
			s.from = m.Key.Seq - min(m.Key.Seq-1, lookback)
		}
		s.to = max(s.to, m.Key.Seq+lookback+uint64(min(max(limit, 0), passedRead/4)))
		read[c.name()] = s
	}
	st.known.passed = map[string]passed{}
	pass := func(c *Consumer) {
		s, some := read[c.name()]
		if !some {
			return
		}
		rows, ok := st.rowsIn(s.from, min(s.to, st.view.LastSeq), passedRead)
		if ok && len(rows) < passedRead {
			st.known.passed[c.name()] = passedBy(st.view, c, rows)
		}
	}
	pass(nil)
	for i := range st.view.Consumers {
		pass(&st.view.Consumers[i])
	}
}

// name is that of a consumer; empty where there is none.
func (c *Consumer) name() string {
	if c == nil {
		return ""
	}
	return c.Name
}

// readBeyond reads whether a consumer delivered messages that it has not reached by the broker's word: then the broker has forgotten that, and what it denies
// of others proves nothing.
func (st *step) readBeyond(c Consumer) {
	if st.known.forgot[c.Name] {
		return
	}
	rows, ok := st.rowsIn(c.DeliveredSeq+1, min(c.DeliveredSeq+lookback, st.view.LastSeq), lookback)
	st.known.forgot[c.Name] = ok && slices.ContainsFunc(rows, func(m lifecycle.MessageFacts) bool { return st.view.denies(c, m) })
}

// denies reports whether a line tells of a delivery of a message that its consumer has not reached by the broker's word.
func (v view) denies(c Consumer, m lifecycle.MessageFacts) bool {
	if len(m.Consumers) > 0 {
		m = m.Of(c.Name)
	}
	reached := func(a lifecycle.AttemptFacts) bool {
		return a.SeenAt >= c.Began() && a.SeenAt.Add(captureLagMax) <= v.ConsumersAt
	}
	return m.ContestedBy(c.Name).Known() || (v.takes(c, m) && slices.ContainsFunc(m.Attempts, reached))
}

// askDeletions asks which consumers were deleted, where one that is gone may have delivered the message and nothing shows that one did.
func (st *step) askDeletions(c *Consumer, m lifecycle.MessageFacts) {
	if m.Stored == nil || (m.CurrentAttempt() > 0 && !st.view.Interest) || st.view.alone(c, m.Stored) {
		return
	}
	st.view.Deleted = st.facts.Deleted
	st.questions.Deleted = st.facts.Deleted == nil
}

// passed is what lines tell of the deliveries of a consumer, or of none, and of what was stored. It delivers messages for the first time in the order of the stream.
type passed struct {
	firsts []first // In the order of the stream.
	all    evidence
	forgot bool                // The broker has forgotten deliveries: their numbers are given to others.
	stored map[string][]stored // By subject: the messages that were stored, in their order.
}

// stored is a message that was stored, and when its own time to live was over.
type stored struct {
	seq    uint64
	at     lifecycle.Micros
	lapsed lifecycle.Micros
}

// first is the first delivery of a message.
type first struct{ seq, cseq uint64 }

func passedBy(v view, c *Consumer, rows []lifecycle.MessageFacts) passed {
	p := passed{all: evidence{}, stored: map[string][]stored{}}
	for _, m := range rows {
		if m.Stored != nil && (c == nil || lifecycle.MatchesAny(c.Filters, m.Stored.Subject)) {
			p.stored[m.Stored.Subject] = append(p.stored[m.Stored.Subject], stored{m.Key.Seq, m.Stored.At, endOf(m, ttlOf(m))})
		}
		if c == nil || !v.takes(*c, m) {
			continue
		}
		p.forgot = p.forgot || m.ContestedBy(c.Name).Known()
		known := evidenceOf(m, *c)
		p.all.join(known)
		for cseq, n := range known {
			if n == 1 {
				p.firsts = append(p.firsts, first{m.Key.Seq, cseq})
			}
		}
	}
	return p
}

// over reports whether lines prove that the consumer went past a message without delivering it: every delivery between the first one of the
// message before and that of the message after was one of another message.
func (p passed) over(c Consumer, seq uint64) bool {
	from, to := uint64(0), uint64(math.MaxUint64)
	for _, f := range p.firsts {
		if f.seq < seq {
			from = max(from, f.cseq)
		} else {
			to = min(to, f.cseq)
		}
	}
	to = min(to, c.DeliveredCSeq+1)
	if to <= from || p.forgot {
		return false // The lines contradict the order, or the broker's word.
	}
	for cseq := from + 1; cseq < to; cseq++ {
		if _, known := p.all[cseq]; !known {
			return false
		}
	}
	return true
}

// overflowed is when so many messages of its subject had been stored after a message that its limit must have removed it, before it was missed; zero where it need not
// have. And when the first of those left by its own time to live.
func (p passed) overflowed(missed Missed, m lifecycle.MessageFacts) (over, room lifecycle.Micros) {
	limit := missed.Limits.MaxPerSubject
	if limit <= 0 || m.Stored == nil {
		return 0, 0
	}
	all := p.stored[m.Stored.Subject]
	at, _ := slices.BinarySearchFunc(all, m.Key.Seq+1, func(s stored, seq uint64) int { return cmp.Compare(s.seq, seq) })
	last := int64(at) + limit - 1
	for missed.unchanged() && last < int64(len(all)) && all[last].seq <= missed.AfterSeq { // It was there later, by the same limits: others had left.
		last++
	}
	if last >= int64(len(all)) || all[last].at > missed.Since {
		return 0, 0
	}
	for _, s := range all[at : last+1] {
		if s.lapsed.Known() && (!room.Known() || s.lapsed < room) {
			room = s.lapsed
		}
	}
	return all[last].at, room
}

// undelivered reports whether it is proved that no worker ever had a missing message: only one consumer can have delivered it, and that one has
// not come so far, or has passed over it. Nobody may have answered it in the name of a worker, nor another that the consumer denies: a broker that is killed,
// or whose disk is full, forgets its last deliveries.
func (k known) undelivered(v view, c *Consumer, m lifecycle.MessageFacts) bool {
	if m.CurrentAttempt() > 0 || len(m.Former) > 0 || m.Contested() || !v.sole(c, m) {
		return false
	}
	if c == nil {
		return !v.copied(m)
	}
	return (m.Key.Seq > c.DeliveredSeq && !k.forgot[c.Name]) || k.passed[c.Name].over(*c, m.Key.Seq)
}

// copied reports whether the broker copied a message into another stream, a mirror or one with sources. Where no consumer of its own stream takes it, it
// leaves a work queue, or a stream with Interest retention, with that. A broker before nats-server 2.14 does not list the consumers by which it copies:
// there it may have copied every message.
func (v view) copied(m lifecycle.MessageFacts) bool {
	if v.Copied && len(v.Copiers) == 0 {
		return true
	}
	return m.Stored != nil && slices.ContainsFunc(v.Copiers, func(c Consumer) bool {
		return m.Key.Seq <= c.DeliveredSeq && lifecycle.MatchesAny(c.Filters, m.Stored.Subject)
	})
}

// proofWait is how long a message must have been missed before it is said to be gone although the proof that nobody had it is not complete.
const proofWait = 15 * time.Second

// undecided reports whether it may still come to be proved that nobody had a missing message, or that a limit removed it.
func (k known) undecided(v view, c *Consumer, m lifecycle.MessageFacts, missed Missed) bool {
	if v.Drained >= missed.Since.Add(proofWait) || m.CurrentAttempt() > 0 || !v.sole(c, m) {
		return false
	}
	over, _ := k.passed[c.name()].overflowed(missed, m)
	overflow := missed.Limits.MaxPerSubject > 0 && !missed.Full && !over.Known()
	return (overflow && v.Verified < missed.Last) || (!k.undelivered(v, c, m) && c.expectsLines(v))
}

// expectsLines reports whether lines of the consumer's deliveries may still come: some are in hand, or were answered just now.
func (c *Consumer) expectsLines(v view) bool {
	return c != nil && (c.AckPending > 0 || !linesDrained(v, *c))
}
