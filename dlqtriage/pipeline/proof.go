package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// errNotYet says that what was published is not all read yet.
var errNotYet = errors.New("what was published is still being read")

// observed finds the retry among what was observed.
func (s *sender) observed(ctx context.Context, d dlqtriage.Delivery) (*dlqtriage.Sent, error) {
	r, err := s.Tasks.Task(ctx, d.TaskID)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key, found := d.Published(r)
	if !found {
		return nil, nil
	}
	return &dlqtriage.Sent{Stream: key.Stream.Name, Seq: key.Seq}, nil
}

// prove says whether a message that may have been published was. Within half of the time in which the stream knows message ids nothing need be
// proved where it is published again: the stream refuses a repetition. Else all that was published since must have been read, without a gap. An empty Ended
// says that it was not published.
func (s *sender) prove(ctx context.Context, d dlqtriage.Delivery, again bool) (dlqtriage.Ended, error) {
	name, err := s.JetStream.StreamNameBySubject(ctx, d.Message.Subject) // Tasks need not be in TASKS.
	if err != nil {
		return dlqtriage.Ended{}, fmt.Errorf("find the stream of %s: %w", d.Message.Subject, err)
	}
	tasks, err := s.JetStream.Stream(ctx, name)
	if err != nil {
		return dlqtriage.Ended{}, err
	}
	if again && s.now().Sub(d.DueAt) < tasks.CachedInfo().Config.Duplicates/2 { // Nobody publishes before it is due.
		return dlqtriage.Ended{}, nil
	}
	if err := s.allRead(ctx); err != nil {
		return dlqtriage.Ended{}, err
	}
	if sent, err := s.observed(ctx, d); sent != nil || err != nil {
		return dlqtriage.Ended{Sent: sent}, err
	}
	gaps, err := s.Tasks.Gaps(ctx, d.DueAt.Add(-time.Second), s.now(), 1000)
	if err != nil {
		return dlqtriage.Ended{}, err
	}
	for _, g := range gaps {
		if !g.Repaired && g.Source == fleet.CapturePub {
			return dlqtriage.Ended{Why: "It may have been published before Fleetglass stopped, and what was published then was not all seen: look for " +
				d.Message.MessageID() + " before you send it again."}, nil
		}
	}
	return dlqtriage.Ended{}, nil
}

// allRead errors unless every publish line that was captured up to now is stored.
func (s *sender) allRead(ctx context.Context) error {
	captured, err := s.JetStream.Stream(ctx, fleet.CapturePub)
	if err != nil {
		return fmt.Errorf("look at %s: %w", fleet.CapturePub, err)
	}
	last, late := captured.CachedInfo().State.LastSeq, false
	for _, shard := range fleet.Shards(s.Shards) {
		read, idle, err := s.look(ctx, captured, shard)
		if err != nil {
			return err
		}
		if late = late || read < last; read < last && (shard.Whole() || !idle) {
			return errNotYet
		}
	}
	if late { // The last lines are of other shards. What nobody waits for a while later was read.
		return s.stillIdle(ctx, captured, last)
	}
	return nil
}

// stillIdle errors unless, a while later, no line up to the given one waits in any shard.
func (s *sender) stillIdle(ctx context.Context, captured jetstream.Stream, last uint64) error {
	select {
	case <-time.After(fleet.LateCount):
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, shard := range fleet.Shards(s.Shards) {
		read, idle, err := s.look(ctx, captured, shard)
		if err != nil {
			return err
		}
		if read < last && !idle {
			return errNotYet
		}
	}
	return nil
}

// look says how far a shard of what was published was read, and whether nothing of it waits.
func (s *sender) look(ctx context.Context, captured jetstream.Stream, shard fleet.Shard) (read uint64, idle bool, err error) {
	name := s.Durable + shard.Suffix()
	reader, err := captured.Consumer(ctx, name)
	if err != nil {
		return 0, false, fmt.Errorf("look at %s: %w", name, err)
	}
	info := reader.CachedInfo()
	return info.AckFloor.Stream, info.NumPending == 0 && info.NumAckPending == 0, nil
}
