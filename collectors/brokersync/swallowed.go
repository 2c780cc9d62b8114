package brokersync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"fleetglass/lifecycle"
)

// namesakes is how many tasks are looked at that may have a message id.
const namesakes = 50

// caughtFor says of publishes that stored nothing that a message of another task had their message id.
func (c *Collector) caughtFor(ctx context.Context, t lifecycle.TaskFacts) ([]lifecycle.Event, error) {
	var out []lifecycle.Event
	for _, id := range slices.Sorted(maps.Keys(t.Publishes)) {
		m, owner, err := c.owner(ctx, id, t)
		if err != nil {
			return nil, fmt.Errorf("look for the owner of a message id: %w", err)
		}
		if owner == "" {
			continue
		}
		e := lifecycle.Event{
			ID: lifecycle.NewEventID(Name, string(lifecycle.PublishSwallowed), t.ID, id, strconv.FormatInt(int64(t.FirstAt), 10)), At: t.FirstAt,
			Kind: lifecycle.PublishSwallowed, Provenance: lifecycle.Inferred, Source: Name, TaskID: t.ID, Agent: t.Agent,
		}
		e.Detail.MsgID, e.Detail.Owner, e.Detail.Basis, e.Detail.Window = id, owner, m.Stored.At, m.Stored.Window
		out = append(out, e)
	}
	return out, nil
}

// owner is the message of another task that has a message id and swallowed a publish of t, and its task; empty when there is none.
func (c *Collector) owner(ctx context.Context, id string, t lifecycle.TaskFacts) (lifecycle.MessageFacts, string, error) {
	page, err := c.cfg.Reader.ListTasks(ctx, lifecycle.Filter{Words: []string{id}}, lifecycle.Page{Limit: namesakes})
	if err != nil {
		return lifecycle.MessageFacts{}, "", err
	}
	for _, s := range page.Tasks {
		record, err := c.cfg.Reader.Task(ctx, s.TaskID)
		if errors.Is(err, lifecycle.ErrNotFound) || s.TaskID == t.ID {
			continue
		}
		if err != nil {
			return lifecycle.MessageFacts{}, "", err
		}
		for _, m := range record.Messages {
			if m.Stored != nil && m.Stored.MsgID == id && slices.ContainsFunc(t.Publishes[id].Attempts(), func(a lifecycle.PublishAttempt) bool { return m.Stored.MaySwallow(a.At) }) {
				return m, s.TaskID, nil
			}
		}
	}
	return lifecycle.MessageFacts{}, "", nil
}
