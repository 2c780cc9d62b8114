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
		return a.beginAt(ctx, text)
	}
	pub, err := leader.Find(ctx, a.cfg.Capture, fleet.CapturePub)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		b.CaptureMissing = true
		return b, nil
	}
	if err != nil {
		return b, fmt.Errorf("find %s: %w", fleet.CapturePub, err)
	}
	b.CaptureCreated, b.First = lifecycle.MicrosOf(pub.CachedInfo().Created), a.stream.CachedInfo().Config.FirstSeq
	kept := pub.CachedInfo().State
	b.Discarded = max(kept.FirstSeq, 1) - 1 + uint64(kept.NumDeleted)
	lines, err := collectors.FirstLines(ctx, pub, a.cfg.Contract, a.seen.Stream.Name, a.stream.CachedInfo().Config.Subjects)
	if err != nil {
		return b, err
	}
	for _, line := range lines {
		if b.FirstCaptured == 0 || line.Seq < b.FirstCaptured {
			b.FirstCaptured, b.FirstAt = line.Seq, line.At
		}
	}
	b.Before, err = a.storedBefore(ctx, b.FirstCaptured)
	return b, err
}

// beginAt is where the store says that the comparison begins.
func (a *answerer) beginAt(ctx context.Context, position string) (b Begin, err error) {
	b.Stored = true
	if b.Position, err = strconv.ParseUint(position, 10, 64); err != nil {
		return b, fmt.Errorf("decode position: %w", err)
	}
	since, err := a.cfg.Reader.Watermark(ctx, sinceMark(a.seen.Stream))
	if err != nil {
		return b, fmt.Errorf("read since when publishes are compared: %w", err)
	}
	if since == "" { // It was stored by a version that did not say.
		if created := a.seen.Capture.Publishes.Created; created > a.seen.Created {
			b.Since = created
		}
		return b, nil
	}
	at, err := strconv.ParseInt(since, 10, 64)
	if err != nil {
		return b, fmt.Errorf("decode since when publishes are compared: %w", err)
	}
	b.Since = lifecycle.Micros(at)
	return b, nil
}

// storedBefore is when the message before a sequence was stored, or the last one of all where the sequence is zero; zero where nobody can tell.
func (a *answerer) storedBefore(ctx context.Context, seq uint64) (lifecycle.Micros, error) {
	switch state := a.stream.CachedInfo().State; {
	case seq == 0 && state.LastSeq > 0:
		return lifecycle.MicrosOf(state.LastTime), nil
	case seq < 2:
		return 0, nil
	}
	m, err := a.stream.GetMsg(ctx, seq-1)
	if isGone(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask for the message before the first publish line: %w", err)
	}
	return lifecycle.MicrosOf(m.Time), nil
}
