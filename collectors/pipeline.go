package collectors

import (
	"context"
	"fmt"

	"fleetglass/lifecycle"
)

// pending is a batch of lines on its way into the store.
type pending struct {
	deliveries []delivery
	lines      []Line
	gaps       []lifecycle.Gap
	round      *round          // The round that it belongs to; nil for none.
	batch      lifecycle.Batch // What the lines say.
	decoded    decoded
	err        error // They could not be decoded yet.
}

// pipeline commits one batch while the next one is read and decoded.
type pipeline struct {
	in      chan pending
	stopped chan struct{}
	err     error // Valid when stopped is closed.
}

// startPipeline commits what is put in, in its order, until it is closed or a batch can neither be stored nor acknowledged.
func (c *Collector) startPipeline(ctx context.Context) *pipeline {
	p := &pipeline{in: make(chan pending), stopped: make(chan struct{})}
	go func() {
		defer close(p.stopped)
		for b := range p.in {
			if p.err = c.settle(ctx, b); p.err != nil {
				return
			}
		}
	}()
	return p
}

// put hands over a batch; it returns once the one before is settled. It errors when that failed.
func (p *pipeline) put(b pending) error {
	select {
	case p.in <- b:
		return nil
	case <-p.stopped:
		return p.err
	}
}

// close waits until everything is settled.
func (p *pipeline) close() error {
	close(p.in)
	<-p.stopped
	return p.err
}

// take readies what was read: where more lines wait, those that are due in this round, else all. The rest is put back. some is false
// when nothing is left.
func (c *Collector) take(ctx context.Context, r *reader, batch []delivery, more bool) (b pending, some bool) {
	if more {
		b.round = c.member.next(ctx, timeOfLast(batch))
	} else {
		c.member.idle()
	}
	if b.round != nil {
		n := countUpTo(batch, b.round.cut)
		r.putBack(batch[n:])
		batch = batch[:n]
	}
	if len(batch) == 0 {
		c.member.withdraw(ctx, b.round)
		return b, false
	}
	b.deliveries, b.gaps = batch, c.gaps(batch)
	b.lines = make([]Line, len(batch))
	for i, d := range batch {
		b.lines[i] = d.line
	}
	b.batch, b.decoded, b.err = c.read(ctx, b.lines, b.gaps)
	return b, true
}

// timeOfLast is the latest time of the lines.
func timeOfLast(batch []delivery) lifecycle.Micros {
	at := batch[0].line.At
	for _, d := range batch {
		at = max(at, d.line.At)
	}
	return at
}

// countUpTo counts the lines up to the first that is later.
func countUpTo(batch []delivery, cut lifecycle.Micros) int {
	for i, d := range batch {
		if d.line.At > cut {
			return i
		}
	}
	return len(batch)
}

// settle commits a batch and acknowledges it. While the store fails nothing is acknowledged and the same lines are tried again. It
// errors when ctx is done first, or when the broker cannot be told.
//
// Lines of a round need no gate: the publish lines before them are committed with them.
func (c *Collector) settle(ctx context.Context, b pending) error {
	if c.src.Gated && b.round == nil {
		c.cfg.Gate.Pause(ctx)
	}
	if err := c.persist(ctx, b); err != nil {
		return err
	}
	for _, d := range b.deliveries {
		if err := d.msg.Ack(); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
	}
	return nil
}
