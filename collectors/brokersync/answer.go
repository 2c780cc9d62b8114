package brokersync

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// answerer finds the answers to the questions of one poll, and adds them to its facts.
type answerer struct {
	cfg     *Config
	stream  *leader.Stream // Nil when the stream does not exist: then only the store is asked.
	streams collectors.Streams
	seen    Observation
	facts   Facts
}

// answer answers every question.
func (a *answerer) answer(ctx context.Context, q Questions) error {
	if err := a.askStore(ctx, q); err != nil {
		return err
	}
	for _, seq := range q.Present {
		_, err := a.stream.GetMsg(ctx, seq)
		if err != nil && !isGone(err) {
			return fmt.Errorf("ask for message %d: %w", seq, err)
		}
		a.facts.Present[seq] = err == nil
	}
	for _, subject := range q.Fill {
		info, err := a.stream.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err != nil {
			return fmt.Errorf("ask for subject: %w", err)
		}
		a.facts.Fill[subject] = info.State.Subjects[subject]
	}
	for _, r := range q.Read {
		reading, err := a.read(ctx, r)
		if err != nil {
			return err
		}
		a.facts.Read[r] = reading
	}
	return nil
}

func (a *answerer) askStore(ctx context.Context, q Questions) error {
	for _, r := range q.Open {
		open, err := a.cfg.Reader.OpenMessages(ctx, r.Stream, r.From, r.Limit)
		if err != nil {
			return fmt.Errorf("read open messages: %w", err)
		}
		a.facts.Open[r] = open
	}
	for _, r := range q.Rows {
		rows, err := a.cfg.Reader.MessagesIn(ctx, a.seen.Stream, r.From, r.To, r.Limit)
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		a.facts.Rows[r] = rows
	}
	if q.Begin {
		begin, err := a.begin(ctx)
		if err != nil {
			return err
		}
		a.facts.Begin = &begin
	}
	if q.Deleted {
		deleted, err := a.deletions(ctx)
		if err != nil {
			return err
		}
		a.facts.Deleted = &deleted
	}
	if q.Updated {
		updated, err := a.updates(ctx)
		if err != nil {
			return err
		}
		a.facts.Updated = &updated
	}
	if q.Gaps {
		gaps, err := a.cfg.Reader.Gaps(ctx, 0, math.MaxInt64, maxGaps)
		if err != nil {
			return fmt.Errorf("read gaps: %w", err)
		}
		a.facts.Gaps = &gaps
	}
	return nil
}

// begin asks the store for the position of the comparison, and where it has none the capture stream for its first line.
func (a *answerer) begin(ctx context.Context) (b Begin, err error) {
	text, err := a.cfg.Reader.Watermark(ctx, watermark(a.seen.Stream))
	if err != nil {
		return b, fmt.Errorf("read position: %w", err)
	}
	if text != "" {
		if b.Position, err = strconv.ParseUint(text, 10, 64); err != nil {
			return b, fmt.Errorf("decode position: %w", err)
		}
		b.Stored = true
		return b, nil
	}
	pub, err := leader.Find(ctx, a.cfg.Capture, fleet.CapturePub)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		b.CaptureMissing = true
		return b, nil
	}
	if err != nil {
		return b, fmt.Errorf("find %s: %w", fleet.CapturePub, err)
	}
	b.CaptureCreated = lifecycle.MicrosOf(pub.CachedInfo().Created)
	kept := pub.CachedInfo().State
	b.Discarded = max(kept.FirstSeq, 1) - 1 + uint64(kept.NumDeleted)
	for _, subject := range a.cfg.Contract.CaptureSubjects(a.stream.CachedInfo().Config.Subjects) {
		for _, captured := range fleet.CapturedSubjects(subject) {
			first, err := firstCaptured(ctx, pub, captured, a.seen.Stream.Name)
			if err != nil {
				return b, err
			}
			if first > 0 && (b.FirstCaptured == 0 || first < b.FirstCaptured) {
				b.FirstCaptured = first
			}
		}
	}
	return b, nil
}

// foreignLines is how many lines of other streams are passed over in the search for the first line of one.
const foreignLines = 100

// firstCaptured is the sequence that the first line of a stream names in the capture stream, among those under a subject; zero when there is
// none.
func firstCaptured(ctx context.Context, pub *leader.Stream, subject, stream string) (uint64, error) {
	if pub.CachedInfo().State.FirstSeq == 0 { // Nothing was ever captured.
		return 0, nil
	}
	at := uint64(1)
	for range foreignLines {
		line, err := pub.NextMsg(ctx, at, subject)
		if isGone(err) {
			return 0, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read first publish: %w", err)
		}
		if last(line.Header[fleet.HeaderNatsStream]) == stream {
			seq, err := strconv.ParseUint(last(line.Header[fleet.HeaderNatsSequence]), 10, 64)
			if err == nil { // Else it is not a line of the broker.
				return seq, nil
			}
		}
		at = line.Sequence + 1
	}
	return 0, nil
}

// last is the last of some values: the broker's own, behind those that a publisher sent. Empty when there is none.
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
