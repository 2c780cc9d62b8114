package collectors

import (
	"context"
	"fmt"
	"runtime/debug"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

func (c *Collector) gaps(batch []delivery) []lifecycle.Gap {
	var gaps []lifecycle.Gap
	for _, d := range batch {
		h, found := c.holes.next(d.consumer, d.line.Seq, d.deliveries, d.line.At)
		if !found {
			continue
		}
		if !h.from.Known() {
			h.from = h.to
		}
		gaps = append(gaps, lifecycle.Gap{Source: c.name.String(), From: h.from, To: h.to, FromSeq: h.fromSeq, ToSeq: h.toSeq,
			Reason: fmt.Sprintf("%d lines were discarded before they were read", h.lost)})
	}
	return gaps
}

// persist commits a batch, trying until it succeeds or ctx is done.
func (c *Collector) persist(ctx context.Context, b pending) error {
	pause := c.cfg.Retry
	err := c.first(ctx, b)
	for failures := 1; err != nil; failures++ {
		if ctx.Err() != nil {
			return err
		}
		c.status.failed()
		c.status.set(health.Down, err.Error())
		c.cfg.Logger.Warn("batch not stored", "lines", len(b.lines), "failures", failures, "err", err)
		if c.suspect(ctx, b.lines, failures, err) {
			if c.bisect(ctx, b.lines, b.gaps) == nil {
				return nil
			}
		}
		if !sleep(ctx, pause) {
			return err
		}
		pause = min(2*pause, 50*c.cfg.Retry)
		err = c.commit(ctx, b.lines, b.gaps)
	}
	return nil
}

// first commits a batch together with the others of its epoch. Where that fails each collector is on its own, so that none fails
// because of another's lines.
func (c *Collector) first(ctx context.Context, b pending) error {
	if b.err != nil {
		c.participant.withdraw(ctx, b.epoch)
		return b.err
	}
	return c.append(b.batch, b.decoded, func(batch lifecycle.Batch) (int, error) {
		if b.epoch != nil {
			return c.participant.commit(ctx, b.epoch, batch)
		}
		return c.alone(ctx, batch)
	})
}

// commit decodes lines and stores what they say, once.
func (c *Collector) commit(ctx context.Context, lines []Line, gaps []lifecycle.Gap) error {
	batch, d, err := c.read(ctx, lines, gaps)
	if err != nil {
		return err
	}
	return c.append(batch, d, func(b lifecycle.Batch) (int, error) { return c.alone(ctx, b) })
}

// alone stores a batch by itself.
func (c *Collector) alone(ctx context.Context, b lifecycle.Batch) (int, error) {
	done, err := c.cfg.Appender.Append(ctx, b)
	return done.New, err
}

// read decodes lines. It errors when something outside of them has to be asked first and does not answer.
func (c *Collector) read(ctx context.Context, lines []Line, gaps []lifecycle.Gap) (lifecycle.Batch, decoded, error) {
	streams := Streams{Contract: c.cfg.Contract}
	if c.src.Resolves {
		var err error
		if streams, err = c.cfg.Incarnations.Observe(ctx); err != nil {
			return lifecycle.Batch{}, decoded{}, err
		}
	}
	batch, d := c.decode(lines, streams)
	batch.Gaps = append(batch.Gaps, gaps...)
	return batch, d, nil
}

// append stores a batch together with the position behind it, by means of store, which returns the number of new events.
func (c *Collector) append(batch lifecycle.Batch, d decoded, store func(lifecycle.Batch) (int, error)) error {
	p := c.pos
	if d.last > p.Seq {
		p.Seq, p.At = d.last, d.upTo
	}
	batch.Watermarks = c.watermarks(p)
	added, err := store(batch)
	if err != nil {
		return fmt.Errorf("store batch: %w", err)
	}
	c.pos = p
	c.status.committed(batch, d, added, c.cfg.Now())
	return nil
}

// decoded counts what became of lines.
type decoded struct {
	lines, ignored int
	last           uint64           // Highest sequence.
	upTo           lifecycle.Micros // Store time of that line.
}

func (c *Collector) decode(lines []Line, streams Streams) (lifecycle.Batch, decoded) {
	b := lifecycle.Batch{Events: c.events.take(len(lines))}
	d := decoded{lines: len(lines)}
	for _, line := range lines {
		if line.Seq > d.last {
			d.last, d.upTo = line.Seq, line.At
		}
		before := extentOf(&b)
		if err := c.try(line, streams, &b); err != nil {
			before.restore(&b)
			b.Quarantined = append(b.Quarantined, line.Quarantined(err.Error()))
		} else if extentOf(&b) == before {
			d.ignored++
		}
	}
	MakeStorable(&b)
	return b, d
}

// try calls the decoder. A panic of the decoder becomes an error: one hostile line must not stop the collector.
func (c *Collector) try(line Line, streams Streams, into *lifecycle.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decoder panicked: %v", p)
			c.cfg.Logger.Error("decoder panicked", "seq", line.Seq, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	return c.src.Decode(line, streams, into)
}

// extent is how much a batch holds, so that what a failed decoder added can be taken back.
type extent struct{ events, payloads, quarantined, gaps, consumers int }

func extentOf(b *lifecycle.Batch) extent {
	return extent{len(b.Events), len(b.Payloads), len(b.Quarantined), len(b.Gaps), len(b.Consumers)}
}

func (x extent) restore(b *lifecycle.Batch) {
	b.Events, b.Payloads, b.Quarantined = b.Events[:x.events], b.Payloads[:x.payloads], b.Quarantined[:x.quarantined]
	b.Gaps, b.Consumers = b.Gaps[:x.gaps], b.Consumers[:x.consumers]
}
