package brokersync

import (
	"slices"
	"strconv"
	"time"

	"fleetglass/lifecycle"
)

const (
	// verifyAfter is how long after a message was stored in the stream its line is in the capture stream at the latest.
	verifyAfter = 500 * time.Millisecond
	// saveEvery is how often the position is stored when nothing else is.
	saveEvery = 10 * time.Second
)

// Comparison is how far the sequences of the stream were compared with what the store knows. Stored publishes are contiguous, so a
// sequence that the store does not know was lost on the way.
type Comparison struct {
	Begun      bool
	Verified   uint64           // Compared up to here. What is before the first of them was published before capture began.
	Verifiable uint64           // Publish lines up to here have been stored, where they were captured.
	UpTo       lifecycle.Micros // What was in the stream by then is known to the store, or said to be lost, if it was published after capture began.
	ReadIn     bool             // All messages from before capture began that are in the stream are known.

	asOf    lifecycle.Micros // When the stream ended with Verifiable.
	ends    []mark           // Where the stream ended at the latest observations.
	unread  bool             // The sweep that is under way met a message from before capture that the store did not know.
	saved   uint64
	savedAt lifecycle.Micros
}

// observe notes where the stream ends. publishes is up to when captured publishes are stored.
func (c Comparison) observe(o Observation, publishes lifecycle.Micros) Comparison {
	c.ends = append(slices.Clip(c.ends), mark{at: o.At, seq: o.LastSeq})
	for len(c.ends) > 0 && c.ends[0].at.Add(verifyAfter) <= publishes {
		c.Verifiable, c.asOf = max(c.Verifiable, c.ends[0].seq), c.ends[0].at
		c.ends = c.ends[1:]
	}
	if len(c.ends) > marksKept {
		c.ends = c.ends[:marksKept]
	}
	return c
}

// swept notes what a page met that the store did not know, and whether it was the last page of a sweep.
func (c Comparison) swept(unknown []uint64, last bool) Comparison {
	checked := c.Begun && c.Verified <= c.Verifiable // A page only tells what is verifiable.
	c.unread = c.unread || !checked || slices.ContainsFunc(unknown, func(seq uint64) bool { return seq <= c.Verified })
	if last {
		c.ReadIn, c.unread = c.ReadIn || !c.unread, false
	}
	return c
}

func watermark(stream lifecycle.StreamID) string { return Name + ":" + stream.String() }

// due is the position to store, together with other things or after a while.
func (c Comparison) due(now lifecycle.Micros, company bool) (Comparison, string, bool) {
	if !c.Begun || c.saved == c.Verified || (!company && c.savedAt.Known() && now < c.savedAt.Add(saveEvery)) {
		return c, "", false
	}
	c.saved, c.savedAt = c.Verified, now
	return c, strconv.FormatUint(c.Verified, 10), true
}

// position is where the comparison begins: where the store says, else just before the first publish that was captured, be its line still
// there or not.
func (b Begin) position(o Observation) uint64 {
	switch {
	case b.Stored:
		return b.Position
	case b.CaptureMissing:
		return o.LastSeq
	case b.CaptureCreated < o.Created, o.Restored > 0:
		return 0 // All of the stream was published after capture began, or what it has is told anew.
	case b.Discarded > 0 && o.Limits.TTL:
		return 0 // Any line may have gone with its message's own time to live: which was the first nobody knows.
	}
	before := o.LastSeq
	if b.FirstCaptured > 0 {
		before = min(b.FirstCaptured-1, o.LastSeq)
	}
	return before - min(before, b.Discarded)
}

// compare compares the next sequences with the store.
func (st *step) compare() {
	c := &st.next.Comparison
	if !c.Begun {
		if st.facts.Begin == nil {
			st.questions.Begin = true
			return
		}
		c.Begun, c.Verified = true, st.facts.Begin.position(st.view.Observation)
	}
	if c.Verified < c.Verifiable {
		st.comparePage()
	}
	if c.Verified >= c.Verifiable {
		c.UpTo = c.asOf
	}
}

// comparePage compares a page of sequences: those of which no publish line was stored were lost.
func (st *step) comparePage() {
	c := &st.next.Comparison
	from, to := c.Verified+1, min(c.Verifiable, c.Verified+uint64(st.rules.PageSize))
	rows, ok := st.rowsIn(from, to, int(to-c.Verified))
	if !ok {
		return
	}
	lost := lostIn(rows, from, to)
	if n := len(lost); n > 0 && lost[n-1].to == to {
		if lost[n-1].to, ok = st.lostUpTo(to + 1); !ok {
			return
		}
		to = lost[n-1].to
	}
	if reached, ok := st.recover(lost, to); ok {
		c.Verified = reached
		st.next.Unfinished = st.next.Unfinished || c.Verified < c.Verifiable
	}
}

// span is a run of sequences, both ends included.
type span struct{ from, to uint64 }

// lostIn are the runs of [from, to] of which no publish line was stored.
func lostIn(rows []lifecycle.MessageFacts, from, to uint64) (lost []span) {
	for _, m := range rows {
		if m.Stored == nil {
			continue
		}
		if m.Key.Seq > from {
			lost = append(lost, span{from, m.Key.Seq - 1})
		}
		from = m.Key.Seq + 1
	}
	if from <= to {
		lost = append(lost, span{from, to})
	}
	return lost
}

// lostUpTo is where a lost run ends that goes on at the given sequence: before the next stored publish.
func (st *step) lostUpTo(at uint64) (uint64, bool) {
	end := st.next.Comparison.Verifiable
	for at <= end {
		rows, ok := st.rowsIn(at, end, st.rules.PageSize)
		if !ok || len(rows) == 0 {
			return end, ok
		}
		for _, m := range rows {
			if m.Stored != nil {
				return m.Key.Seq - 1, true
			}
		}
		at = rows[len(rows)-1].Key.Seq + 1
	}
	return end, true
}
