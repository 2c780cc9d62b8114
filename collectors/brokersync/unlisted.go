package brokersync

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// unlistedEvery is how often tasks of which only publish attempts are known are asked for.
const unlistedEvery = 2 * time.Second

// checkedUpTo is the time up to which the store knows everything that was in the observed streams; zero when that is not known of each.
func (c *Collector) checkedUpTo() (upTo lifecycle.Micros) {
	first := true
	for name, s := range c.states {
		if c.absent[name] && !slices.Contains(c.cfg.Streams, name) {
			continue
		}
		if !s.Comparison.ReadIn {
			return 0
		}
		if first || s.Comparison.UpTo < upTo {
			upTo, first = s.Comparison.UpTo, false
		}
	}
	return upTo
}

// sayNotStored says of publish attempts that nothing was stored for them, once everything that was in the streams a good while after
// is known to the store, be it by its captured publish or, where that was lost or older than the capture, from the stream.
func (c *Collector) sayNotStored(ctx context.Context) error {
	checked := c.checkedUpTo()
	if !checked.Known() || checked < c.unlistedAt.Add(unlistedEvery) {
		return nil
	}
	tasks, err := c.cfg.Reader.UnlistedTasks(ctx, checked.Add(-c.cfg.NotStored), c.cfg.PageSize)
	if err != nil {
		return fmt.Errorf("read unlisted tasks: %w", err)
	}
	c.unlistedAt = checked
	var b lifecycle.Batch
	deleted, err := c.deletedUpTo(ctx, len(tasks))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		caught, err := c.caughtFor(ctx, t)
		if err != nil {
			return err
		}
		if len(caught) == 0 {
			caught = []lifecycle.Event{c.notStored(t, deleted)}
		}
		b.Events = append(b.Events, caught...)
	}
	return c.commit(ctx, b)
}

// deletedUpTo is the time up to which the store may have deleted what had ended; zero where it deleted nothing, or where no task is to be judged.
func (c *Collector) deletedUpTo(ctx context.Context, tasks int) (lifecycle.Micros, error) {
	if tasks == 0 {
		return 0, nil
	}
	text, err := c.cfg.Reader.Watermark(ctx, lifecycle.WatermarkRetained)
	if err != nil {
		return 0, fmt.Errorf("read what was deleted: %w", err)
	}
	return lifecycle.Retained(text), nil
}

// notStored says that nothing was stored for the attempts of a task, a while after the last of them. deleted is the time up to which the store may have
// deleted what it knew: a task can come again for as long as its record lives.
func (c *Collector) notStored(t lifecycle.TaskFacts, deleted lifecycle.Micros) lifecycle.Event {
	at := t.LastAt.Add(c.cfg.NotStored)
	e := lifecycle.Event{
		ID: lifecycle.NewEventID(Name, string(lifecycle.NotStored), t.ID, fmt.Sprint(int64(at))), At: at, Kind: lifecycle.NotStored,
		Provenance: lifecycle.Inferred, Source: Name, TaskID: t.ID, Agent: t.Agent,
	}
	switch {
	case c.keptForNobody(t):
		e.Detail.Reason = "no consumer was seen to take its subject, without which its stream keeps nothing (Interest retention)"
	case c.mayBeOlder(t):
		e.Detail.Reason = "a message that was stored before capture began may have its message id"
	case deleted.Known() && t.FirstAt <= deleted.Add(fleet.RecordRetention):
		e.Detail.Reason = "an earlier message of it may have been deleted here by retention"
	case !c.tookAllAlong(t):
		e.Detail.Reason = "a stream that is gone may have stored it: none is known to have taken its subject all along"
	}
	return e
}

// mayBeOlder reports whether a publish of the task may be the duplicate of a message that nobody saw: one that was stored before capture
// began, and whose duplicate window had not ended.
func (c *Collector) mayBeOlder(t lifecycle.TaskFacts) bool {
	for _, s := range c.states {
		if s.Unseen.Known() && t.FirstAt <= s.Unseen {
			return true
		}
	}
	return false
}
