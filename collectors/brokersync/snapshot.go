package brokersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// ErrNoStream says that the stream of tasks does not exist.
var ErrNoStream = errors.New("stream " + fleet.StreamTasks + " does not exist")

// StreamSnapshotConfig says which stream is looked at.
type StreamSnapshotConfig struct {
	JetStream    jetstream.JetStream             // Required. Reaches the task stream.
	Capture      jetstream.JetStream             // Optional; default JetStream. Reaches the capture streams.
	Incarnations *collectors.IncarnationResolver // Required.
	Contract     fleet.Contract                  // Required.

	Durable string        // Optional; default as in [collectors.Config]. The prefix of the collectors' durables.
	Details int           // Optional; default 50,000. As in [Config].
	Walk    int           // Optional; default 20,000. Messages read one by one where a list of the deleted ones would be longer than that.
	Settle  time.Duration // Optional; default 1 s. How long after something happened its line is captured at the latest.
}

// StreamSnapshot is what the stream of tasks held at one moment.
type StreamSnapshot struct {
	Stream  lifecycle.StreamID // The incarnation that lives.
	At      lifecycle.Micros   // By the broker's clock.
	Msgs    uint64
	LastSeq uint64
	LastAt  lifecycle.Micros // When the last message was stored; zero where there never was one.
	MaxAge  time.Duration    // Zero for none.
	Present Presence
	until   lifecycle.Micros // What left the stream later than that was still there when it was looked at.
}

// Whole reports whether all sequences of the stream were looked at.
func (s StreamSnapshot) Whole() bool {
	return s.Msgs == 0 || (s.Present.From <= s.Present.First && s.Present.To >= s.Present.Last)
}

// SnapshotStream asks what the stream of tasks holds, and returns once everything that was captured about it by then is in the store: what the
// store says afterwards can be compared. It errors with [ErrNoStream], and when ctx ends before the collectors have caught up.
func SnapshotStream(ctx context.Context, cfg StreamSnapshotConfig) (StreamSnapshot, error) {
	if cfg.JetStream == nil || cfg.Incarnations == nil {
		return StreamSnapshot{}, errors.New("snapshot stream: JetStream and Incarnations are required")
	}
	if cfg.Capture == nil {
		cfg.Capture = cfg.JetStream
	}
	cfg.Details, cfg.Walk, cfg.Settle = orElse(cfg.Details, 50_000), orElse(cfg.Walk, 20_000), orElse(cfg.Settle, time.Second)
	s, err := cfg.observe(ctx)
	if err != nil {
		return StreamSnapshot{}, err
	}
	if err := cfg.drained(ctx, s.until.Add(cfg.Settle)); err != nil {
		return StreamSnapshot{}, err
	}
	return s, nil
}

func orElse[T int | time.Duration](v, standard T) T {
	if v == 0 {
		return standard
	}
	return v
}

func (c StreamSnapshotConfig) observe(ctx context.Context) (StreamSnapshot, error) {
	id, err := c.Incarnations.Current(ctx, fleet.StreamTasks)
	if err != nil {
		return StreamSnapshot{}, fmt.Errorf("snapshot stream: %w", err)
	}
	stream, err := c.JetStream.Stream(ctx, fleet.StreamTasks)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return StreamSnapshot{}, ErrNoStream
	}
	if err != nil {
		return StreamSnapshot{}, fmt.Errorf("snapshot stream: %w", err)
	}
	info := stream.CachedInfo()
	if n := info.State.NumDeleted; n > 0 && n <= c.Details {
		if info, err = stream.Info(ctx, jetstream.WithDeletedDetails(true)); err != nil {
			return StreamSnapshot{}, fmt.Errorf("snapshot stream: %w", err)
		}
	}
	state := info.State
	s := StreamSnapshot{
		Stream: id, At: lifecycle.MicrosOf(info.TimeStamp), Msgs: state.Msgs, LastSeq: state.LastSeq, MaxAge: info.Config.MaxAge,
		LastAt: lifecycle.MicrosOf(state.LastTime),
	}
	if state.LastSeq == 0 {
		s.LastAt = 0
	}
	s.Present, err = presenceOf(ctx, stream, state, 0, c.Walk)
	if err != nil {
		return StreamSnapshot{}, fmt.Errorf("snapshot stream: %w", err)
	}
	if s.until = s.At; !s.Present.Deleted { // It was walked, which takes a while.
		if info, err = stream.Info(ctx); err != nil {
			return StreamSnapshot{}, fmt.Errorf("snapshot stream: %w", err)
		}
		s.until = lifecycle.MicrosOf(info.TimeStamp)
	}
	return s, nil
}

// drained waits until every line that was captured up to the given time is stored.
func (c StreamSnapshotConfig) drained(ctx context.Context, until lifecycle.Micros) error {
	b := observer{cfg: &Config{Capture: c.Capture, Durable: c.Durable}}
	var p CaptureProgress
	for {
		ends, err := b.capture(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("snapshot stream: lines captured before it are not stored yet: %w", ctx.Err())
		}
		if err != nil {
			return fmt.Errorf("snapshot stream: %w", err)
		}
		if p = p.advance(ends, until); min(p.answers(), p.Publishes.UpTo) >= until {
			return nil
		}
		wait(ctx, snapshotPause)
	}
}

// snapshotPause is the pause between looks at how far the collectors are.
const snapshotPause = 100 * time.Millisecond
