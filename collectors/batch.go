package collectors

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"fleetglass/lifecycle"
)

// lineBatch is lines on their way from the capture stream into the store.
type lineBatch struct {
	deliveries []delivery // To be acknowledged once the lines are stored.
	lines      []Line
	gaps       []lifecycle.Gap
	epoch      *epoch   // The epoch that it is committed with at first; nil for none.
	paced      bool     // It has, or had, an epoch.
	said       *decoded // What the lines say; nil while they could not be decoded. A retry does not decode again.
}

// newBatch takes the lines of deliveries, and the gaps between them.
func (c *Collector) newBatch(deliveries []delivery, e *epoch) *lineBatch {
	b := &lineBatch{deliveries: deliveries, gaps: c.gaps(deliveries), epoch: e, paced: e != nil, lines: make([]Line, len(deliveries))}
	for i, d := range deliveries {
		b.lines[i] = d.line
	}
	return b
}

// newest is the latest time of the lines; zero where there are none.
func (b *lineBatch) newest() (at lifecycle.Micros) {
	for _, l := range b.lines {
		at = max(at, l.At)
	}
	return at
}

func (c *Collector) gaps(batch []delivery) []lifecycle.Gap {
	var gaps []lifecycle.Gap
	for _, d := range batch {
		h, found := c.holes.next(d.consumer, d.line.Seq, d.deliveries, d.line.At)
		if !found || !c.shard.Whole() { // The sequences of a shard skip the lines of others.
			continue
		}
		if !h.from.Known() {
			h.from = h.to
		}
		gaps = append(gaps, lifecycle.Gap{Source: c.name.String(), From: h.from, To: h.to, FromSeq: h.fromSeq, ToSeq: h.toSeq,
			Reason: fmt.Sprintf("%d lines were discarded before they were read", h.lost)})
	}
	c.status.others(c.holes.others)
	return gaps
}

// decoded is what lines say, and what became of them.
type decoded struct {
	batch          lifecycle.Batch
	old            []Line // Those about messages that the store may have deleted.
	lines, ignored int
	last           uint64           // Highest sequence.
	upTo           lifecycle.Micros // Store time of that line.
}

// decode decodes the lines of a batch, unless that was done. It errors when something outside of them has to be asked first and does not
// answer.
func (c *Collector) decode(ctx context.Context, b *lineBatch) error {
	if b.said != nil {
		return nil
	}
	streams, err := c.look(ctx, b.lines)
	if err != nil {
		return err
	}
	said := c.decodeLines(b.lines, streams)
	if streams.denials.any() { // Whoever answered may have been cut off from the others meanwhile: a line is not given up for that.
		c.events.give(said.batch.Events)
		if err := c.cfg.Incarnations.confirm(ctx, streams.LastSeq, c.consumers(b.lines)); err != nil {
			return err
		}
		if streams, err = c.look(ctx, b.lines); err != nil {
			return err
		}
		said = c.decodeLines(b.lines, streams)
	}
	b.said = said
	b.said.batch.Gaps = append(b.said.batch.Gaps, b.gaps...)
	return nil
}

// look asks the broker what has to be known to decode lines.
func (c *Collector) look(ctx context.Context, lines []Line) (streams Streams, err error) {
	streams = Streams{Contract: c.cfg.Contract}
	if c.src.Resolves {
		if streams, err = c.cfg.Incarnations.Observe(ctx); err != nil {
			return streams, err
		}
	}
	streams.denials = new(denials)
	asking, ctx := errgroup.WithContext(ctx)
	if c.src.Consumer != nil {
		asking.Go(func() (err error) {
			streams.Sights, err = c.cfg.Incarnations.sights(ctx, streams.LastSeq, c.consumers(lines))
			return err
		})
	}
	if c.src.Answers {
		asking.Go(func() (err error) {
			streams.Workers, err = c.cfg.Incarnations.workersOf(ctx, streams.LastSeq, c.consumers(lines))
			return err
		})
	}
	if c.src.Leaving != nil {
		asking.Go(func() (err error) {
			streams.There, err = c.cfg.Incarnations.there(ctx, streams.LastSeq, c.leaving(lines))
			return err
		})
	}
	err = asking.Wait()
	return streams, err
}

// consumers are those that lines name.
func (c *Collector) consumers(lines []Line) map[ConsumerRef]bool {
	out := map[ConsumerRef]bool{}
	if c.src.Consumer == nil {
		return out
	}
	for _, line := range lines {
		if ref, named := c.src.Consumer(line); named {
			out[ref] = true
		}
	}
	return out
}

// leaving are the messages that lines say have left.
func (c *Collector) leaving(lines []Line) map[MessageRef]bool {
	out := map[MessageRef]bool{}
	for _, line := range lines {
		if ref, said := c.src.Leaving(line); said {
			out[ref] = true
		}
	}
	return out
}

func (c *Collector) decodeLines(lines []Line, streams Streams) *decoded {
	d := &decoded{batch: lifecycle.Batch{Events: c.events.take(len(lines))}, lines: len(lines)}
	b := &d.batch
	for _, line := range lines {
		if line.Seq > d.last {
			d.last, d.upTo = line.Seq, line.At
		}
		before := extentOf(b)
		if c.cameBack(line) {
			d.ignored++
			continue
		}
		if err := c.try(line, streams, b); err != nil {
			before.restore(b)
			b.Quarantined = append(b.Quarantined, line.Quarantined(err.Error()))
		} else if extentOf(b) == before {
			d.ignored++
		} else if n := len(b.Events); n > before.events && c.mayBeDeleted(line, b.Events[n-1], streams) {
			d.old = append(d.old, line)
		}
	}
	MakeStorable(b)
	return d
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
