package collectors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fleetglass/lifecycle"
)

// Messages says which messages the store knows.
type Messages interface {
	// TaskOf returns the id of the task that a message belongs to, or lifecycle.ErrNotFound.
	TaskOf(ctx context.Context, k lifecycle.MessageKey) (string, error)
}

// mayBeDeleted reports whether the store may have deleted all that it knew of the message that an event answers. A message of a stream that keeps its messages
// may be given to a worker again.
func (c *Collector) mayBeDeleted(line Line, e lifecycle.Event, streams Streams) bool {
	if c.src.Stored == nil || c.cfg.Messages == nil || !streams.Deleted.Known() || streams.LastSeq[e.Message.Stream.Name].Kept {
		return false
	}
	stored, said := c.src.Stored(line)
	return said && stored <= streams.Deleted
}

// leaveOutDeleted moves answers to messages that retention deleted into quarantine: they would be all that is known of a message, and make a task of it that
// began and ended with them. In an epoch the publishes before the lines are not stored yet, so that nothing is left out.
func (c *Collector) leaveOutDeleted(ctx context.Context, b *lineBatch) error {
	d := b.said
	if len(d.old) == 0 || b.paced {
		return nil
	}
	for _, line := range d.old {
		i := slices.IndexFunc(d.batch.Events, func(e lifecycle.Event) bool { return e.SourceSeq == line.Seq })
		if i < 0 {
			continue
		}
		_, err := c.cfg.Messages.TaskOf(ctx, d.batch.Events[i].Message)
		switch {
		case errors.Is(err, lifecycle.ErrNotFound):
			d.batch.Quarantined = append(d.batch.Quarantined, line.Quarantined(fmt.Sprintf("message %s is not known: it is so old that retention has deleted it", d.batch.Events[i].Message)))
			d.batch.Events = slices.Delete(d.batch.Events, i, i+1)
		case err != nil:
			return fmt.Errorf("ask for message: %w", err)
		}
	}
	d.old = nil
	return nil
}
