package collectors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fleetglass/lifecycle"
)

// pipeline commits one batch while the next one is read and decoded, and the one before is acknowledged.
type pipeline struct {
	in        chan *lineBatch
	committed chan []delivery
	stopped   chan struct{}
	err       error        // Valid when stopped is closed.
	barred    atomic.Int32 // Batches that were put in and wait for publishes.
}

// startPipeline commits and acknowledges what is put in, in its order, until it is closed or a batch can neither be stored nor
// acknowledged. While waiting lasts a batch may wait for publishes that are not stored.
func (c *Collector) startPipeline(ctx, waiting context.Context) *pipeline {
	p := &pipeline{in: make(chan *lineBatch), committed: make(chan []delivery), stopped: make(chan struct{})}
	acknowledged := make(chan error, 1)
	go func() { acknowledged <- c.acknowledgeAll(p.committed) }()
	go func() {
		defer close(p.stopped)
		p.err = c.commitAll(ctx, waiting, p, acknowledged)
	}()
	return p
}

// commitAll ends when the pipeline is closed and everything is acknowledged, or when something fails.
func (c *Collector) commitAll(ctx, waiting context.Context, p *pipeline, acknowledged <-chan error) error {
	for b := range p.in {
		if c.waitsForPublishes(b) {
			open := c.cfg.Barrier.Pause(waiting, b.newest())
			if p.barred.Add(-1); !open {
				handBack(b.deliveries)
				c.inHand.answered(b.deliveries)
				continue
			}
		}
		if err := c.commitWithRetry(ctx, b); err != nil {
			if errors.Is(err, errForgotten) { // The next session reads them as what they are.
				handBack(b.deliveries)
				c.inHand.answered(b.deliveries)
			}
			close(p.committed)
			return errors.Join(err, <-acknowledged)
		}
		c.events.give(b.said.batch.Events)
		select {
		case p.committed <- b.deliveries:
		case err := <-acknowledged:
			return err
		}
	}
	close(p.committed)
	return <-acknowledged
}

// waitsForPublishes reports whether a batch waits until the publishes before it are stored. Those before the lines of an epoch are committed with them.
func (c *Collector) waitsForPublishes(b *lineBatch) bool {
	return c.src.AfterPublishes && b.epoch == nil
}

// handBack lets the broker give lines to whoever asks when this pull is over.
func handBack(lines []delivery) {
	for _, d := range lines {
		_ = d.msg.NakWithDelay(2 * pullWait) // Where that fails they come again when the broker's wait for them ends.
	}
}

// acknowledgeAll tells the broker of what is committed. It errors when the broker cannot be told.
func (c *Collector) acknowledgeAll(committed <-chan []delivery) error {
	for deliveries := range committed {
		for _, d := range deliveries {
			if err := d.msg.Ack(); err != nil {
				return fmt.Errorf("acknowledge: %w", err)
			}
		}
		c.inHand.answered(deliveries)
		c.deliveries.give(deliveries)
	}
	return nil
}

// put hands over a batch, which may wait for publishes; it returns once the one before is settled. It errors when that failed.
func (p *pipeline) put(b *lineBatch, waits bool) error {
	if waits {
		p.barred.Add(1)
	}
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

// take makes a batch of what was read: of a backlog, in hand or behind it, the lines that are due in this epoch, else all. The rest is put
// back. It returns nil when nothing is left.
func (c *Collector) take(ctx context.Context, r *reader, p *pipeline, read []delivery, more bool) *lineBatch {
	var e *epoch
	if (more || len(read) >= backlog) && c.keepsStep(ctx, p) {
		e = c.participant.next(ctx, timeOfLast(read))
	} else {
		c.participant.idle()
	}
	if e != nil {
		n := countUpTo(read, e.cut)
		if n == len(read) && read[n-1].behind == 0 {
			c.participant.idle() // It was the last.
		}
		r.putBack(read[n:])
		read = read[:n]
	}
	if len(read) == 0 {
		c.withdrawFrom(ctx, e)
		return nil
	}
	b := c.newBatch(read, e)
	_ = c.decode(ctx, b) // What fails is tried again when the batch is committed.
	return b
}

// keepsStep reports whether the next batch is committed with those of other sources. One behind a batch that waits for publishes is not: they would wait for it.
// Nor is one that may deny a publish where others read too, or may have been killed with lines in hand: these are not committed with it.
func (c *Collector) keepsStep(ctx context.Context, p *pipeline) bool {
	switch {
	case p.barred.Load() > 0:
		return false
	case !c.src.AfterPublishes || !c.cfg.Barrier.patient:
		return true
	case c.status.othersSince().Known():
		return false
	}
	if !c.settled { // Asked with the first backlog, not when the session begins: others may have come meanwhile, and nothing shows it yet.
		c.participant.idle() // The other sources go on.
		c.settled = c.cfg.Barrier.settle(ctx)
	}
	return c.settled
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
