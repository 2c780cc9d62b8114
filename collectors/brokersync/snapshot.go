package brokersync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/lifecycle"
)

// ErrNoStream says that no stream of tasks exists.
var ErrNoStream = errors.New("no stream of tasks exists")

// StreamSnapshotConfig says how the streams of tasks are looked at.
type StreamSnapshotConfig struct {
	JetStream    jetstream.JetStream             // Required. Reaches the streams of tasks.
	Capture      jetstream.JetStream             // Optional; default JetStream. Reaches the capture streams.
	Incarnations *collectors.IncarnationResolver // Required.

	Durable string        // Optional; default as in [collectors.Config]. The prefix of the collectors' durables.
	Shards  int           // Optional; default 1. As in [Config].
	Details int           // Optional; default 50,000. As in [Config].
	Walk    int           // Optional; default 20,000. Messages read one by one where a list of the deleted ones would be longer than that.
	Settle  time.Duration // Optional; default 1 s. How long after something happened its line is captured at the latest.
}

// StreamSnapshot is what a stream of tasks held at one moment.
type StreamSnapshot struct {
	Stream  lifecycle.StreamID // The incarnation that lives.
	At      lifecycle.Micros   // By the broker's clock.
	Msgs    uint64
	LastSeq uint64
	LastAt  lifecycle.Micros // When the last message was stored; zero where there never was one.
	MaxAge  time.Duration    // Zero for none.
	Kept    bool             // It is no work queue: messages stay after an acknowledgement.
	Present Presence
}

// Whole reports whether all sequences of the stream were looked at.
func (s StreamSnapshot) Whole() bool {
	return s.Msgs == 0 || (s.Present.From <= s.Present.First && s.Present.To >= s.Present.Last)
}

// SnapshotStreams asks what every stream of tasks holds, by name, and returns once everything that was captured about them by then is in the
// store: what the store says afterwards can be compared. It errors with [ErrNoStream], and when ctx ends before the collectors have caught
// up.
func SnapshotStreams(ctx context.Context, cfg StreamSnapshotConfig) ([]StreamSnapshot, error) {
	if cfg.JetStream == nil || cfg.Incarnations == nil {
		return nil, errors.New("snapshot streams: JetStream and Incarnations are required")
	}
	streams, err := cfg.Incarnations.Observe(ctx)
	if err != nil {
		return nil, fmt.Errorf("snapshot streams: %w", err)
	}
	var out []StreamSnapshot
	for _, name := range slices.Sorted(maps.Keys(streams.LastSeq)) {
		if len(streams.Known[name]) == 0 {
			continue
		}
		s, err := cfg.snapshot(ctx, name, streams)
		if err != nil {
			return nil, fmt.Errorf("snapshot stream %s: %w", name, err)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, ErrNoStream
	}
	return out, nil
}

func (c StreamSnapshotConfig) snapshot(ctx context.Context, name string, streams collectors.Streams) (s StreamSnapshot, err error) {
	b := observer{name: name, cfg: &Config{
		JetStream: c.JetStream, Capture: cmp.Or(c.Capture, c.JetStream), Durable: c.Durable, Shards: c.Shards,
		Details: cmp.Or(c.Details, 50_000), PageSize: 4 * cmp.Or(c.Walk, 20_000),
	}}
	o, err := b.observe(ctx, streams, 0)
	if err != nil {
		return s, err
	}
	until := o.At // What left the stream later was still there when it was looked at.
	if !o.Present.Deleted {
		info, err := b.stream.Info(ctx) // It was walked, which takes a while.
		if err != nil {
			return s, err
		}
		until = lifecycle.MicrosOf(info.TimeStamp)
	}
	s = StreamSnapshot{Stream: o.Stream, At: o.At, Msgs: o.Msgs, LastSeq: o.LastSeq, MaxAge: o.Limits.MaxAge, Kept: o.Kept, Present: o.Present}
	if s.LastSeq > 0 {
		s.LastAt = lifecycle.MicrosOf(b.last.LastTime)
	}
	return s, b.drained(ctx, until.Add(cmp.Or(c.Settle, time.Second)))
}

// drained waits until every line that was captured up to the given time is stored.
func (b *observer) drained(ctx context.Context, until lifecycle.Micros) error {
	var p CaptureProgress
	for {
		ends, err := b.capture(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("lines captured before it are not stored yet: %w", ctx.Err())
		}
		if err != nil {
			return err
		}
		if p = p.advance(ends, until); min(p.answers(), p.Publishes.UpTo) >= until {
			return nil
		}
		wait(ctx, snapshotPause)
	}
}

// snapshotPause is the pause between looks at how far the collectors are.
const snapshotPause = 100 * time.Millisecond
