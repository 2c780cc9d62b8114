package brokersync

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"fleetglass/fleet"
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
	Since      lifecycle.Micros // What was stored since then has a publish line, or is known to have lost it; zero where this holds of all of the stream.
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

// watermark names the position of the comparison among the watermarks, sinceMark its [Comparison.Since].
func watermark(stream lifecycle.StreamID) string { return Name + ":" + stream.String() }
func sinceMark(stream lifecycle.StreamID) string { return watermark(stream) + " since" }

// due is what to store of the position, together with other things or after a while; nil where nothing is.
func (c Comparison) due(stream lifecycle.StreamID, now lifecycle.Micros, company bool) (Comparison, map[string]string) {
	if !c.Begun || c.saved == c.Verified || (!company && c.savedAt.Known() && now < c.savedAt.Add(saveEvery)) {
		return c, nil
	}
	c.saved, c.savedAt = c.Verified, now
	return c, map[string]string{watermark(stream): strconv.FormatUint(c.Verified, 10), sinceMark(stream): strconv.FormatInt(int64(c.Since), 10)}
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

// since is [Comparison.Since] of a comparison that begins so.
func (b Begin) since(o Observation) lifecycle.Micros {
	switch before := b.position(o); {
	case b.Stored:
		return b.Since
	case b.CaptureMissing:
		return o.At
	case before < max(b.First, 1):
		return 0
	case b.Before.Known() && b.Before <= b.CaptureCreated:
		return b.CaptureCreated
	case b.FirstCaptured > 0:
		return b.FirstAt
	}
	return o.At
}

// missed is the span in which the stream may have stored messages without a publish line: from the creation of the capture stream to the first line, or to now. There is none where
// the last message before that is known to be older. What a gap of the capture stream tells of, lines that were discarded, is not told of again.
func (b Begin) missed(o Observation) (from, to lifecycle.Micros, found bool) {
	from, to = b.CaptureCreated, b.since(o)
	return from, to, !b.Stored && !b.CaptureMissing && b.Discarded == 0 && to > from.Add(verifyAfter)
}

// compare compares the next sequences with the store.
func (st *step) compare() {
	c := &st.next.Comparison
	if !c.Begun {
		if st.facts.Begin == nil {
			st.questions.Begin = true
			return
		}
		st.begin(*st.facts.Begin)
	}
	if st.next.Unseen = 0; c.Since.Known() {
		st.next.Unseen = c.Since.Add(st.view.Window)
	}
	if c.Verified < c.Verifiable {
		st.comparePage()
	}
	if c.Verified >= c.Verifiable {
		c.UpTo = c.asOf
	}
}

// begin begins the comparison. What may have been stored uncaptured before that becomes a gap.
func (st *step) begin(b Begin) {
	o := st.view.Observation
	st.next.Comparison.Begun, st.next.Comparison.Verified, st.next.Comparison.Since = true, b.position(o), b.since(o)
	if from, to, found := b.missed(o); found {
		st.batch.Gaps = append(st.batch.Gaps, lifecycle.Gap{
			Source: st.view.sibling(fleet.CapturePub).String(), From: from, To: to, FromSeq: 1, ToSeq: b.position(o),
			Reason: fmt.Sprintf("what %s stored between the creation of %s and its first publish line was not captured, and nobody can tell which of these sequences that are", st.view.Stream.Name, fleet.CapturePub),
		})
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
