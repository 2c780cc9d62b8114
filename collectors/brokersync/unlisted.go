package brokersync

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// unlistedEvery is how often tasks of which only publish attempts are known are asked for.
const unlistedEvery = 2 * time.Second

// checkedUpTo is the time up to which the store knows everything that was in the observed streams; zero when that is not known of each.
func checkedUpTo(states map[string]State) (upTo lifecycle.Micros) {
	first := true
	for _, s := range states {
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
	checked := checkedUpTo(c.states)
	if !checked.Known() || checked < c.unlistedAt.Add(unlistedEvery) {
		return nil
	}
	tasks, err := c.cfg.Reader.UnlistedTasks(ctx, checked.Add(-c.cfg.NotStored), c.cfg.PageSize)
	if err != nil {
		return fmt.Errorf("read unlisted tasks: %w", err)
	}
	c.unlistedAt = checked
	tasks = slices.DeleteFunc(tasks, c.mayBeElsewhere)
	return c.commit(ctx, lifecycle.Batch{Events: notStored(tasks, c.cfg.NotStored)})
}

// notStored says that nothing was stored for the attempts of these tasks, a while after the last of them.
func notStored(tasks []lifecycle.TaskFacts, after time.Duration) []lifecycle.Event {
	var out []lifecycle.Event
	for _, t := range tasks {
		at := t.LastAt.Add(after)
		out = append(out, lifecycle.Event{
			ID: lifecycle.NewEventID(Name, string(lifecycle.NotStored), t.ID, fmt.Sprint(int64(at))), At: at, Kind: lifecycle.NotStored,
			Provenance: lifecycle.Inferred, Source: Name, TaskID: t.ID, Agent: t.Agent,
		})
	}
	return out
}
