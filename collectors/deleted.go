package collectors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fleetglass/fleet"
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
// began and ended with them. In an epoch publishes before the lines may not be stored yet: only a message whose own publish has left capture is known to be deleted.
func (c *Collector) leaveOutDeleted(ctx context.Context, b *lineBatch) error {
	d := b.said
	for _, line := range d.old {
		if b.paced && !c.publishLeft(line) {
			continue
		}
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

// publishLeft reports whether the publish of the message that a line answers can no longer lie in a backlog.
func (c *Collector) publishLeft(line Line) bool {
	stored, _ := c.src.Stored(line)
	return stored.Add(fleet.CaptureKept+time.Hour) <= lifecycle.MicrosOf(c.cfg.Now())
}
