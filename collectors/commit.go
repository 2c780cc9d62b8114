package collectors

import (
	"context"
	"errors"
	"fmt"
)

// commitWithRetry stores a batch, trying again until that succeeds or ctx is done. It errors only in the latter case, and with
// errForgotten where the broker forgot lines. Lines that the store refuses for good are quarantined.
func (c *Collector) commitWithRetry(ctx context.Context, b *lineBatch) error {
	pause := c.cfg.Retry
	for failures := 1; ; failures++ {
		err := c.commit(ctx, b)
		if err == nil || ctx.Err() != nil || errors.Is(err, errForgotten) {
			return err
		}
		c.status.failed(err)
		c.cfg.Logger.Warn("a batch could not be stored; it is tried again", "lines", len(b.lines), "failures", failures, "error", err)
		if c.suspect(ctx, b.lines, failures, err) && c.bisect(ctx, b) == nil {
			return nil
		}
		if !sleep(ctx, pause) {
			return err
		}
		pause = min(2*pause, 50*c.cfg.Retry)
	}
}

// commit stores what the lines of a batch say together with the position behind them, once.
func (c *Collector) commit(ctx context.Context, b *lineBatch) error {
	if err := c.decode(ctx, b); err != nil {
		c.withdraw(ctx, b)
		return unanswered{err}
	}
	if err := c.leaveOutDeleted(ctx, b); err != nil {
		return unanswered{err}
	}
	if c.numberedAgain(b.lines) {
		if err := c.askForgotten(ctx); err != nil {
			c.withdraw(ctx, b)
			return unanswered{err}
		}
	}
	p, d := c.pos, b.said
	if d.last > p.Seq {
		p.Seq, p.At = d.last, d.upTo
	}
	d.batch.Watermarks = c.watermarks(p)
	d.batch.Reached = map[string]uint64{c.storedMark(p.Stream): d.last}
	added, err := c.append(ctx, b)
	if err != nil {
		return fmt.Errorf("store batch: %w", err)
	}
	c.pos = p
	c.status.committed(d, added, c.cfg.Now())
	return nil
}

// append stores a batch: at first together with the others of its epoch, and where that fails by itself, so that no collector fails
// because of another's lines. It returns the number of new events.
func (c *Collector) append(ctx context.Context, b *lineBatch) (int, error) {
	if e := b.epoch; e != nil {
		b.epoch = nil
		return c.participant.commit(ctx, e, b.said.batch)
	}
	done, err := c.cfg.Appender.Append(ctx, b.said.batch)
	return done.New, err
}

// withdraw takes a batch out of its epoch, which goes on without it.
func (c *Collector) withdraw(ctx context.Context, b *lineBatch) {
	c.withdrawFrom(ctx, b.epoch)
	b.epoch = nil
}

func (c *Collector) withdrawFrom(ctx context.Context, e *epoch) {
	c.status.added(c.participant.withdraw(ctx, e))
}
