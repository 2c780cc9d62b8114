package brokersync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

const (
	// verifyAfter is how long after a message was stored in the stream its line is in the capture stream at the latest.
	verifyAfter = 500 * time.Millisecond
	// saveEvery is how often the position is stored when nothing else is.
	saveEvery = 10 * time.Second
)

// sequences is how far the sequences of the stream were compared with what the store knows. Stored publishes are contiguous, so a
// sequence that the store does not know was lost on the way.
type sequences struct {
	loaded     bool
	verified   uint64           // Compared up to here. What is before the first of them is before our time.
	verifiable uint64           // Publish lines up to here have been stored, where they were captured.
	asOf       lifecycle.Micros // When the stream ended with verifiable.
	upTo       lifecycle.Micros // What was in the stream by then is known to the store, or said to be lost; what is before our time may not be.
	early      bool             // The sweep that is under way met a message of before our time that the store did not know.
	readIn     bool             // A sweep met none: all messages of before our time that are in the stream are known.
	saved      uint64
	savedAt    lifecycle.Micros
}

// swept notes what a page of a sweep met that the store did not know, and whether it was the last page.
func (s *sequences) swept(unknown []uint64, last bool) {
	looked := s.loaded && s.verified <= s.verifiable // Only what is verifiable is looked for.
	s.early = s.early || !looked || slices.ContainsFunc(unknown, func(seq uint64) bool { return seq <= s.verified })
	if last {
		s.readIn, s.early = s.readIn || !s.early, false
	}
}

func watermark(stream lifecycle.StreamID) string { return Name + ":" + stream.String() }

// due is the position to store, together with other things or after a while.
func (s *sequences) due(now lifecycle.Micros, company bool) (string, bool) {
	if !s.loaded || s.saved == s.verified || (!company && s.savedAt.Known() && now < s.savedAt.Add(saveEvery)) {
		return "", false
	}
	s.saved, s.savedAt = s.verified, now
	return strconv.FormatUint(s.verified, 10), true
}

// begin finds where to begin: where the store says, else just before the first publish that was captured. What was published before
// is before our time; what of it is still in the stream is read in, the rest is no gap.
func (p *poll) begin(ctx context.Context) error {
	s := &p.c.seen.compared
	text, err := p.c.cfg.Reader.Watermark(ctx, watermark(p.saw.Stream))
	if err != nil {
		return fmt.Errorf("read position: %w", err)
	}
	if text != "" {
		if s.verified, err = strconv.ParseUint(text, 10, 64); err != nil {
			return fmt.Errorf("decode position: %w", err)
		}
	} else if s.verified, err = p.beforeCapture(ctx); err != nil {
		return err
	}
	s.loaded = true
	return nil
}

func (p *poll) beforeCapture(ctx context.Context) (uint64, error) {
	pub, err := p.c.cfg.Capture.Stream(ctx, fleet.CapturePub)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return p.saw.LastSeq, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", fleet.CapturePub, err)
	}
	info := pub.CachedInfo()
	if info.Created.Before(p.info.Created) {
		return 0, nil // Capture is older than the stream: all of the stream is of our time.
	}
	first, err := pub.GetMsg(ctx, info.State.FirstSeq)
	if isGone(err) {
		return p.saw.LastSeq, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read first publish: %w", err)
	}
	seq, err := strconv.ParseUint(last(first.Header[fleet.HeaderNatsSequence]), 10, 64)
	if err != nil || seq == 0 {
		return p.saw.LastSeq, nil
	}
	return min(seq-1, p.saw.LastSeq), nil
}

func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// verify compares sequences with the store, as many as one poll may.
func (p *poll) verify(ctx context.Context) error {
	s := &p.c.seen.compared
	if !s.loaded {
		if err := p.begin(ctx); err != nil {
			return err
		}
	}
	if s.verified < s.verifiable {
		if err := p.compare(ctx); err != nil {
			return err
		}
	}
	if s.verified >= s.verifiable {
		s.upTo = s.asOf
	}
	return nil
}

// compare compares the next page of sequences. Lost ones that are still in the stream are read from there; the others become a gap, never
// a made-up task.
func (p *poll) compare(ctx context.Context) error {
	s := &p.c.seen.compared
	to := min(s.verifiable, s.verified+uint64(p.c.cfg.PageSize))
	rows, err := p.c.cfg.Reader.MessagesIn(ctx, p.saw.Stream, s.verified+1, to, int(to-s.verified))
	if err != nil {
		return fmt.Errorf("read messages: %w", err)
	}
	next := s.verified + 1
	for _, m := range rows {
		if m.Stored == nil {
			continue
		}
		if m.Key.Seq > next {
			reached, err := p.lost(ctx, next, m.Key.Seq-1)
			if err != nil {
				return err
			}
			if reached < m.Key.Seq-1 {
				s.verified, p.more = reached, true
				return nil
			}
		}
		next = m.Key.Seq + 1
	}
	if next <= to {
		if to, err = p.lostFrom(ctx, next); err != nil {
			return err
		}
	}
	s.verified = to
	p.more = p.more || s.verified < s.verifiable
	return nil
}

// lostFrom serves a run of lost sequences that goes on to the end of the page, or beyond it. It returns how far it came.
func (p *poll) lostFrom(ctx context.Context, from uint64) (uint64, error) {
	to := p.c.seen.compared.verifiable
	for at := from; at <= to; {
		rows, err := p.c.cfg.Reader.MessagesIn(ctx, p.saw.Stream, at, to, 1)
		if err != nil {
			return 0, fmt.Errorf("read messages: %w", err)
		}
		if len(rows) == 0 {
			break
		}
		if rows[0].Stored != nil {
			to = rows[0].Key.Seq - 1
			break
		}
		at = rows[0].Key.Seq + 1
	}
	return p.lost(ctx, from, to)
}

// lost serves one run of sequences of which no publish line was stored. It returns how far it came: reading is bounded.
func (p *poll) lost(ctx context.Context, from, to uint64) (reached uint64, err error) {
	var gap lifecycle.Gap
	for at := from; at <= to; at++ {
		if len(p.repaired) >= p.c.cfg.PageSize {
			to = at - 1
			break
		}
		there, err := p.next(ctx, at)
		if err != nil {
			return 0, err
		}
		end := min(there-1, to)
		if at <= end {
			if gap.FromSeq == 0 {
				gap.FromSeq = at
			}
			gap.ToSeq = end
		}
		if there <= to {
			if err := p.repair(ctx, []uint64{there}); err != nil {
				return 0, err
			}
		}
		at = min(there, to)
	}
	if gap.FromSeq == 0 {
		return to, nil
	}
	gap.Source = p.c.cfg.Contract.StreamID(fleet.CapturePub).String()
	gap.Reason = fmt.Sprintf("the publish lines of %s %d to %d were lost, and the messages are gone", p.saw.Stream.Name, gap.FromSeq, gap.ToSeq)
	if gap.From, err = p.storedAt(ctx, from-1, lifecycle.MicrosOf(p.info.Created)); err != nil {
		return 0, err
	}
	if gap.To, err = p.storedAt(ctx, to+1, p.saw.At); err != nil {
		return 0, err
	}
	p.batch.Gaps = append(p.batch.Gaps, gap)
	return to, nil
}

// next is the first sequence not before at that is in the stream, or one beyond the last.
func (p *poll) next(ctx context.Context, at uint64) (uint64, error) {
	present := p.saw.Present
	if at >= present.From && at <= present.To {
		found := present.Last + 1
		present.Between(at, present.To, func(seq uint64) bool { found = seq; return false })
		if found <= present.Last || present.To == present.Last {
			return found, nil
		}
	}
	m, err := p.c.seen.tasks.GetMsg(ctx, at, jetstream.WithGetMsgSubject(">"))
	if isGone(err) {
		return max(present.Last, at) + 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("walk stream at %d: %w", at, err)
	}
	return m.Sequence, nil
}

// storedAt is when a message was stored, or the given time when it is not known.
func (p *poll) storedAt(ctx context.Context, seq uint64, otherwise lifecycle.Micros) (lifecycle.Micros, error) {
	rows, err := p.c.cfg.Reader.MessagesIn(ctx, p.saw.Stream, seq, seq, 1)
	if err != nil {
		return 0, fmt.Errorf("read message: %w", err)
	}
	if len(rows) == 0 || rows[0].Stored == nil {
		return otherwise, nil
	}
	return rows[0].Stored.At, nil
}

// repair reads messages whose publish line was lost from the stream itself.
func (p *poll) repair(ctx context.Context, seqs []uint64) error {
	for _, seq := range seqs {
		if p.repaired[seq] {
			continue
		}
		p.repaired[seq] = true
		m, err := p.c.seen.tasks.GetMsg(ctx, seq)
		if isGone(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read message %d: %w", seq, err)
		}
		p.add(m)
	}
	p.more = p.more || len(seqs) > 0
	return nil
}

// add decodes a message as its publish line would have been: with the headers of a republished one, which a direct get adds itself.
func (p *poll) add(m *jetstream.RawStreamMsg) {
	headers := map[string][]string{}
	for name, values := range m.Header {
		headers[name] = values[:len(values):len(values)]
	}
	at := lifecycle.MicrosOf(m.Time)
	if !p.c.seen.tasks.CachedInfo().Config.AllowDirect {
		for name, value := range map[string]string{
			fleet.HeaderNatsStream: fleet.StreamTasks, fleet.HeaderNatsSubject: m.Subject,
			fleet.HeaderNatsSequence: strconv.FormatUint(m.Sequence, 10), fleet.HeaderNatsTimeStamp: m.Time.UTC().Format(time.RFC3339Nano),
		} {
			headers[name] = append(headers[name], value)
		}
	}
	line := collectors.Line{Source: p.saw.Stream, Seq: m.Sequence, At: at, Subject: m.Subject, Headers: headers, Body: m.Data}
	var read lifecycle.Batch
	if err := p.c.cfg.Stored(line, p.streams, &read); err != nil {
		p.batch.Quarantined = append(p.batch.Quarantined, line.Quarantined(err.Error()))
		return
	}
	for _, e := range read.Events {
		e.ID = lifecycle.NewEventID(Name, string(lifecycle.Repaired), e.Message.String())
		e.Kind, e.Provenance, e.Source, e.SourceSeq = lifecycle.Repaired, lifecycle.Broker, Name, 0
		p.batch.Events = append(p.batch.Events, e)
	}
	p.batch.Payloads = append(p.batch.Payloads, read.Payloads...)
}
