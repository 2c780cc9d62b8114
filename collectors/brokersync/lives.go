package brokersync

import (
	"context"
	"fmt"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// earlierLives says that the open messages of earlier incarnations are gone.
func (p *poll) earlierLives(ctx context.Context) error {
	seen := &p.c.seen
	lives := p.streams.Known[fleet.StreamTasks]
	if len(lives) < 2 || p.saw.At < seen.earlier.Add(10*p.c.cfg.Interval) {
		return nil
	}
	seen.earlier = p.saw.At
	for i, life := range lives[:len(lives)-1] {
		gone := lives[i+1].From
		if life.Deleted.Known() {
			gone = life.Deleted
		}
		if p.saw.Drained < gone.Add(p.c.cfg.Waits.Vanish) || p.saw.Drained < p.saw.At {
			seen.earlier = 0
			continue
		}
		events, err := p.c.goneWith(ctx, life, gone)
		if err != nil {
			return err
		}
		p.batch.Events = append(p.batch.Events, events...)
	}
	return nil
}

func (c *Collector) goneWith(ctx context.Context, life collectors.Incarnation, at lifecycle.Micros) ([]lifecycle.Event, error) {
	id := c.cfg.Contract.StreamID(fleet.StreamTasks)
	id.Epoch = life.Epoch
	open, err := c.cfg.Reader.OpenMessages(ctx, id, 0, c.cfg.PageSize)
	if err != nil {
		return nil, fmt.Errorf("read open messages: %w", err)
	}
	var events []lifecycle.Event
	for _, o := range open {
		if !o.Message.VanishedAt.Known() {
			events = append(events, streamGone(o.Message, at))
		}
	}
	return events, nil
}

// withoutStream serves a stream that does not exist: its messages went with it, where an advisory says when, and its consumers too.
func (c *Collector) withoutStream(ctx context.Context, lives collectors.Incarnations) error {
	c.seen.forget(lifecycle.StreamID{})
	c.seen.tasks = nil
	if len(lives) == 0 || !lives[len(lives)-1].Deleted.Known() {
		return nil
	}
	life := lives[len(lives)-1]
	for _, d := range []*drain{&c.seen.acks, &c.seen.events} {
		if err := d.look(ctx, c.cfg.Capture, life.Deleted.Add(c.cfg.Waits.Vanish)); err != nil {
			return err
		}
	}
	if min(c.seen.acks.upTo, c.seen.events.upTo) < life.Deleted.Add(c.cfg.Waits.Vanish) {
		return nil
	}
	events, err := c.goneWith(ctx, life, life.Deleted)
	if err != nil {
		return err
	}
	id := c.cfg.Contract.StreamID(fleet.StreamTasks)
	batch := lifecycle.Batch{Events: events, Consumers: changedConsumers(c.seen.consumers, id, nil, life.Deleted)}
	if batch.Empty() {
		return nil
	}
	if _, err := c.cfg.Appender.Append(ctx, batch); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	c.handled(len(events))
	return nil
}
