package brokersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Poll looks once and stores what follows. more reports that work was left over.
func (c *Collector) Poll(ctx context.Context) (more bool, err error) {
	defer func() {
		if err != nil {
			c.seen.ready = false // What was remembered as stored may not have been.
		}
	}()
	if err := c.load(ctx); err != nil {
		return false, err
	}
	streams, err := c.cfg.Incarnations.Observe(ctx)
	if err != nil {
		return false, err
	}
	lives := streams.Known[fleet.StreamTasks]
	if _, alive := streams.LastSeq[fleet.StreamTasks]; !alive || len(lives) == 0 {
		c.note(health.NotConfigured, fleet.StreamTasks+" does not exist")
		return false, c.withoutStream(ctx, lives)
	}
	c.note(health.OK, "")
	p := &poll{c: c, streams: streams, repaired: map[uint64]bool{}}
	err = p.look(ctx, lives[len(lives)-1])
	if errors.Is(err, errRestless) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if err := p.read(ctx); err != nil {
		return false, err
	}
	if err := p.decide(ctx); err != nil {
		return false, err
	}
	return p.more && !p.behind(), p.store(ctx)
}

// farBehind is how old the last stored acknowledgement may be before there is no hurry: until the collectors have caught up nearly nothing
// can be concluded from what the broker shows, and looking again sooner only slows them down.
const farBehind = 10 * time.Second

// behind reports whether the collectors are far behind the broker, or have not said yet where they are.
func (p *poll) behind() bool { return p.saw.Drained.Add(farBehind) < p.saw.At }

// poll is one look and what follows from it.
type poll struct {
	c       *Collector
	streams collectors.Streams
	info    *jetstream.StreamInfo
	saw     Look
	facts   Facts
	to      uint64   // Last sequence of the page that the poll covers; it begins at the cursor.
	swept   bool     // A page was read; while nothing changes it need not be.
	unknown []uint64 // Messages in the stream that the store has never heard of.

	repaired map[uint64]bool // Messages read from the stream in this poll.
	batch    lifecycle.Batch
	more     bool // Work was left over.
}

// look asks the broker: consumers, stream, positions of the collectors, in this order.
func (p *poll) look(ctx context.Context, life collectors.Incarnation) error {
	c, seen := p.c, &p.c.seen
	id := c.cfg.Contract.StreamID(fleet.StreamTasks)
	id.Epoch = life.Epoch
	if seen.stream != id {
		seen.forget(id)
		seen.tasks = nil
	}
	var err error
	if seen.tasks == nil {
		if seen.tasks, err = c.cfg.JetStream.Stream(ctx, fleet.StreamTasks); err != nil {
			return fmt.Errorf("find stream: %w", err)
		}
	}
	consumers, err := listConsumers(ctx, seen.tasks, id)
	if err != nil {
		return err
	}
	if p.info, err = c.askStream(ctx, seen.tasks); err != nil {
		return err
	}
	if lifecycle.MicrosOf(p.info.Created) != life.Created {
		return errRestless
	}
	p.saw = lookOf(id, p.info, consumers)
	seen.sweep.look(p.saw)
	p.batch.Consumers = changedConsumers(seen.consumers, id, consumers, p.saw.At)
	for _, known := range seen.consumers {
		if known.Gone && known.Stream == id {
			p.saw.Gone = append(p.saw.Gone, known)
		}
	}
	if p.saw.Present, err = c.presence(ctx, seen.tasks, p.info.State, seen.cursor); err != nil {
		return err
	}
	return p.drains(ctx)
}

func lookOf(id lifecycle.StreamID, info *jetstream.StreamInfo, consumers []Consumer) Look {
	cfg, s, at := info.Config, info.State, lifecycle.MicrosOf(info.TimeStamp)
	look := Look{
		Stream: id, ConsumersAt: at, At: at, Msgs: s.Msgs, FirstSeq: s.FirstSeq, LastSeq: s.LastSeq, Consumers: consumers,
		Limits: Limits{MaxAge: cfg.MaxAge, MaxPerSubject: cfg.MaxMsgsPerSubject},
		Full: (cfg.MaxMsgs > 0 && s.Msgs >= uint64(cfg.MaxMsgs)) ||
			(cfg.MaxBytes > 0 && s.Bytes >= uint64(cfg.MaxBytes)/20*19),
	}
	for _, c := range consumers {
		look.ConsumersAt = min(look.ConsumersAt, c.ObservedAt)
	}
	return look
}

func (p *poll) drains(ctx context.Context) error {
	seen, look := &p.c.seen, &p.saw
	for _, d := range []*drain{&seen.acks, &seen.events, &seen.publishes} {
		if err := d.look(ctx, p.c.cfg.Capture, look.At); err != nil {
			return err
		}
		if !d.exists && look.Blind == "" {
			look.Blind = d.stream
		}
	}
	look.Drained = min(seen.acks.upTo, seen.events.upTo)
	seen.looks = append(seen.looks, mark{at: look.At, seq: look.LastSeq})
	for len(seen.looks) > 0 && seen.looks[0].at.Add(verifyAfter) <= seen.publishes.upTo {
		seen.compared.verifiable, seen.compared.asOf = max(seen.compared.verifiable, seen.looks[0].seq), seen.looks[0].at
		seen.looks = seen.looks[1:]
	}
	if len(seen.looks) > marksKept {
		seen.looks = seen.looks[:marksKept]
	}
	look.Verifiable = seen.compared.verifiable
	return nil
}

// store hands everything over at once.
func (p *poll) store(ctx context.Context) error {
	if mark, due := p.c.seen.compared.due(p.saw.At, !p.batch.Empty()); due {
		p.batch.Watermarks = map[string]string{watermark(p.saw.Stream): mark}
	}
	if p.batch.Empty() {
		return nil
	}
	collectors.MakeStorable(&p.batch)
	if _, err := p.c.cfg.Appender.Append(ctx, p.batch); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	p.c.handled(len(p.batch.Events))
	return nil
}
