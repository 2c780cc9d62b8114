package reconcile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"fleetglass/lifecycle"
)

// spans finds which sequences of each stream belong to the period. Streams store in the order of time, so they are one range: from
// the one after the last that was stored before the period, to the last that was stored in it. Sequences that nothing is known of
// belong to the period of the next known message.
func (j *job) spans(ctx context.Context, stocks []Stock) ([]AuditStream, error) {
	names, err := j.cfg.Store.MessageStreams(ctx)
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	for _, stock := range stocks {
		if !slices.Contains(names, stock.Stream) {
			names = append(names, stock.Stream)
		}
	}
	slices.SortFunc(names, lifecycle.StreamID.Compare)
	var out []AuditStream
	for _, name := range names {
		s := AuditStream{StreamSpan: StreamSpan{Stream: name, Why: "No broker said what it holds."}}
		live := stockWith(stocks, name)
		switch {
		case len(stocks) == 0:
		case live == nil:
			s.Why = "It is an earlier stream of that name, or was deleted: no broker says what it held."
		default:
			s.Present, s.MaxAge, s.Kept, s.Compared, s.Why, s.LookedAt = live.Present, live.MaxAge, live.Kept, live.Present != nil, live.Why, live.At
		}
		if err := j.span(ctx, &s, live); err != nil {
			return nil, fmt.Errorf("find the period in %s: %w", name, err)
		}
		if s.FromSeq > s.ToSeq || s.FromSeq == 0 {
			continue
		}
		if s.Present != nil {
			s.Present.Between(s.FromSeq, s.ToSeq, func(uint64) bool { s.Held++; return true })
		}
		j.rec.Progress.Total += int64(s.ToSeq-s.FromSeq) + 1
		out = append(out, s)
	}
	return out, nil
}

// stockWith is what a stream holds; nil where it was not asked.
func stockWith(stocks []Stock, stream lifecycle.StreamID) *Stock {
	i := slices.IndexFunc(stocks, func(s Stock) bool { return s.Stream == stream })
	if i < 0 {
		return nil
	}
	return &stocks[i]
}

// span finds the range of one stream; its FromSeq is zero where there is none.
func (j *job) span(ctx context.Context, s *AuditStream, live *Stock) error {
	first, err := j.firstSince(ctx, s.Stream, j.period.From)
	if err != nil {
		return err
	}
	beyond, err := j.firstSince(ctx, s.Stream, j.period.To)
	if err != nil {
		return err
	}
	before, known, err := j.storedAt(ctx, s.Stream, first.seq-1)
	if err != nil {
		return err
	}
	s.ToSeq = beyond.seq - 1
	whole := uint64(1) // Where the period may begin.
	if live != nil && !beyond.found && live.LastAt.Known() && live.LastAt < j.period.To {
		s.ToSeq = max(s.ToSeq, live.LastSeq) // Nothing later is known, and the stream says that it was in the period.
	}
	switch {
	case known && before.Stored.At >= j.kept:
		s.FromSeq, whole = first.seq, first.seq
	case first.found: // What is missing before it may have been deleted, or published before Fleetglass observed the stream.
		s.FromSeq = first.message
	default:
		return nil
	}
	s.SeenFrom, err = j.seenFrom(ctx, s, before, known)
	if from := max(s.FromSeq, s.SeenFrom); err == nil && from > whole {
		j.remark("In %s, what nothing is known of before sequence %d does not count: it was deleted here, or published before capture began, or its lines were lost.",
			s.Stream.Name, from)
	}
	return err
}

// seenFrom is the first sequence that Fleetglass observed: that of the first message whose line was captured. Messages that were read
// from the stream later had been there before.
func (j *job) seenFrom(ctx context.Context, s *AuditStream, before lifecycle.MessageFacts, known bool) (uint64, error) {
	if known && !before.Repaired {
		return 0, nil
	}
	for at := uint64(0); ; {
		page, err := j.cfg.Store.MessagesIn(ctx, s.Stream, at, math.MaxUint64, j.cfg.Page)
		if err != nil {
			return 0, err
		}
		for _, m := range page {
			if m.Stored != nil && !m.Repaired {
				return m.Key.Seq, nil
			}
			at = m.Key.Seq + 1
		}
		if len(page) < j.cfg.Page {
			return at, nil
		}
	}
}

// place is where a time begins in a stream.
type place struct {
	seq     uint64 // All messages stored before that time have lower sequences, and the one before it is such a message.
	message uint64 // The first message stored since then, where found.
	found   bool
}

// firstSince finds where a time begins in a stream, by halves.
func (j *job) firstSince(ctx context.Context, stream lifecycle.StreamID, at lifecycle.Micros) (place, error) {
	var failed error
	later := func(seq uint64) (message uint64, found, since bool) {
		m, ok, err := j.nextStored(ctx, stream, seq)
		if err != nil {
			failed = err
		}
		return m.Key.Seq, ok, !ok || m.Stored.At >= at
	}
	n := sort.Search(math.MaxInt64-1, func(i int) bool {
		if failed != nil {
			return true
		}
		_, _, since := later(uint64(i) + 1)
		return since
	})
	p := place{seq: uint64(n) + 1}
	if failed == nil {
		p.message, p.found, _ = later(p.seq)
	}
	return p, failed
}

// nextStored is the first message at or after a sequence of which it is known when it was stored.
func (j *job) nextStored(ctx context.Context, stream lifecycle.StreamID, seq uint64) (lifecycle.MessageFacts, bool, error) {
	for limit := 1; ; limit = min(2*limit, j.cfg.Page) {
		page, err := j.cfg.Store.MessagesIn(ctx, stream, seq, math.MaxUint64, limit)
		if err != nil {
			return lifecycle.MessageFacts{}, false, err
		}
		for _, m := range page {
			if m.Stored != nil {
				return m, true, nil
			}
			seq = m.Key.Seq + 1
		}
		if len(page) < limit {
			return lifecycle.MessageFacts{}, false, nil
		}
	}
}

// storedAt is the message with a sequence, where it is known when it was stored.
func (j *job) storedAt(ctx context.Context, stream lifecycle.StreamID, seq uint64) (lifecycle.MessageFacts, bool, error) {
	if seq == 0 {
		return lifecycle.MessageFacts{}, false, nil
	}
	page, err := j.cfg.Store.MessagesIn(ctx, stream, seq, seq, 1)
	if err != nil || len(page) == 0 || page[0].Stored == nil {
		return lifecycle.MessageFacts{}, false, err
	}
	return page[0], true, nil
}
