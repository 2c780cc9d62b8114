package collectors

import (
	"context"
	"errors"
	"fmt"

	"fleetglass/lifecycle"
)

// pending is a batch of lines on its way into the store.
type pending struct {
	deliveries []delivery
	lines      []Line
	gaps       []lifecycle.Gap
	epoch      *epoch          // The epoch that it belongs to; nil for none.
	batch      lifecycle.Batch // What the lines say.
	decoded    decoded
	err        error // They could not be decoded yet.
}

// pipeline commits one batch while the next one is read and decoded, and the one before is acknowledged.
type pipeline struct {
	in        chan pending
	committed chan []delivery
	stopped   chan struct{}
	err       error // Valid when stopped is closed.
}

// startPipeline commits and acknowledges what is put in, in its order, until it is closed or a batch can neither be stored nor
// acknowledged.
func (c *Collector) startPipeline(ctx context.Context) *pipeline {
	p := &pipeline{in: make(chan pending), committed: make(chan []delivery), stopped: make(chan struct{})}
	acknowledged := make(chan error, 1)
	go func() { acknowledged <- c.acknowledgeAll(p.committed) }()
	go func() {
		defer close(p.stopped)
		p.err = c.commitAll(ctx, p, acknowledged)
	}()
	return p
}

// commitAll ends when the pipeline is closed and everything is acknowledged, or when something fails.
func (c *Collector) commitAll(ctx context.Context, p *pipeline, acknowledged <-chan error) error {
	for b := range p.in {
		if err := c.settle(ctx, b); err != nil {
			close(p.committed)
			return errors.Join(err, <-acknowledged)
		}
		c.events.give(b.batch.Events)
		select {
		case p.committed <- b.deliveries:
		case err := <-acknowledged:
			return err
		}
	}
	close(p.committed)
	return <-acknowledged
}

// acknowledgeAll tells the broker of what is committed. It errors when the broker cannot be told.
func (c *Collector) acknowledgeAll(committed <-chan []delivery) error {
	for deliveries := range committed {
		for _, d := range deliveries {
			if err := d.msg.Ack(); err != nil {
				return fmt.Errorf("acknowledge: %w", err)
			}
		}
		c.deliveries.give(deliveries)
	}
	return nil
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

// take readies what was read: of a backlog, in hand or behind it, the lines that are due in this epoch, else all. The rest is put back.
// some is false when nothing is left.
func (c *Collector) take(ctx context.Context, r *reader, batch []delivery, more bool) (b pending, some bool) {
	if more || len(batch) >= backlog {
		b.epoch = c.participant.next(ctx, timeOfLast(batch))
	} else {
		c.participant.idle()
	}
	if b.epoch != nil {
		n := countUpTo(batch, b.epoch.cut)
		if n == len(batch) && batch[n-1].behind == 0 {
			c.participant.idle() // It was the last.
		}
		r.putBack(batch[n:])
		batch = batch[:n]
	}
	if len(batch) == 0 {
		c.participant.withdraw(ctx, b.epoch)
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

// settle commits a batch. While the store fails the same lines are tried again. It errors when ctx is done first.
//
// Lines of an epoch need no barrier: the publish lines before them are committed with them.
func (c *Collector) settle(ctx context.Context, b pending) error {
	if c.src.AfterPublishes && b.epoch == nil {
		c.cfg.Barrier.Pause(ctx)
	}
	return c.persist(ctx, b)
}
