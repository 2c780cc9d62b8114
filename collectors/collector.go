package collectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Collector reads one capture stream through a durable consumer that replicas share, and hands what its lines say to the store. It
// acknowledges only what the store has committed.
type Collector struct {
	cfg    Config
	src    Source
	name   lifecycle.StreamID // The capture stream without epoch.
	shard  fleet.Shard        // The part of it that is read.
	status *status

	participant *participant // Of the batch coordinator.
	loaded      bool         // pos was read.
	pos         position
	holes       holes
	losses      losses // Of a shard.
	settled     bool   // The publish lines are stored that somebody had in hand when the first backlog of this session came.

	outstanding outstanding
	inHand      *inHand // Of a stream that others remove lines from; else nil.

	restored uint64 // As [position.Restored].

	stored uint64        // Up to here lines are stored, or are in the gap below.
	shared lifecycle.Gap // Of the time in which somebody else reads the same durable.

	deliveries slicePool[delivery]
	events     slicePool[lifecycle.Event]
}

// New validates the configuration and starts nothing.
func New(cfg Config, src Source) (*Collector, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("collector %s: %w", src.Name, err)
	}
	if src.Name == "" || src.Stream == "" || src.Decode == nil {
		return nil, errors.New("collector: source needs a name, a stream and a decoder")
	}
	if src.AfterPublishes && cfg.Barrier == nil {
		src.AfterPublishes = false
	}
	cfg.Logger = cfg.Logger.With("source", src.Name)
	return &Collector{
		cfg: cfg, src: src, name: cfg.Contract.StreamID(src.Stream), shard: cfg.reader(src).Shard, status: newStatus(src.Name), participant: cfg.Coordinator.join(),
	}, nil
}

// Health says how the collector is, as one part named after its source.
func (c *Collector) Health() []health.Part {
	part, _ := c.status.snapshot()
	return []health.Part{part}
}

// Stats counts what was done since the collector was made.
func (c *Collector) Stats() Stats {
	_, stats := c.status.snapshot()
	return stats
}

// Run reads until ctx is done, then finishes and acknowledges what it has in hand and returns nil. Whatever fails, the broker, the
// store or the capture stream, is tried again after a pause; meanwhile Health says Down and why.
func (c *Collector) Run(ctx context.Context) error {
	defer c.participant.leave()
	pause := c.cfg.Retry
	for ctx.Err() == nil {
		began := c.Stats().Batches
		err := c.session(ctx)
		c.participant.idle()
		if ctx.Err() != nil {
			break
		}
		if c.Stats().Batches > began {
			pause = c.cfg.Retry
		}
		c.report(err)
		if !sleep(ctx, pause) {
			break
		}
		pause = min(2*pause, 50*c.cfg.Retry)
	}
	return nil
}

func (c *Collector) report(err error) {
	switch lacks := health.LackOf(err); {
	case len(lacks) > 0 && c.src.Optional:
		c.status.set(health.NotConfigured, c.src.Stream+" does not exist")
	case errors.Is(err, jetstream.ErrConsumerDeleted):
		c.cfg.Logger.Warn("durable or capture stream was deleted", "stream", c.src.Stream)
	default:
		c.status.set(health.Down, err.Error(), lacks...)
		c.cfg.Logger.Warn("the collector was interrupted; it begins again", "error", err)
	}
}

// session reads from one durable until something fails or ctx is done.
func (c *Collector) session(ctx context.Context) error {
	if err := c.loadPosition(ctx); err != nil {
		return err
	}
	stream, consumer, err := c.open(ctx)
	if err != nil {
		return err
	}
	if err := c.found(ctx, stream); err != nil {
		return err
	}
	c.restored, c.stored, c.settled = c.pos.Restored, 0, false
	if err := c.beginLosses(ctx, stream, consumer); err != nil {
		return err
	}
	if err := c.readOutstanding(ctx, stream, consumer.CachedInfo()); err != nil {
		return err
	}
	r := &reader{cfg: c.cfg, stream: stream, consumer: consumer, pool: &c.deliveries, sharded: !c.shard.Whole(), inHand: c.inHand}
	defer r.abandon()
	c.status.set(health.OK, "")
	return c.work(ctx, r)
}

// work moves batch after batch from the reader into the store, and watches the durable meanwhile.
func (c *Collector) work(ctx context.Context, r *reader) error {
	grace, cancel := graceful(ctx, c.cfg.Grace)
	defer cancel()
	waiting, stop := graceful(ctx, min(c.cfg.Grace, barrierWait))
	defer stop()
	p := c.startPipeline(grace, waiting)
	watching, stopWatching := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.watch(watching, r, p)
	}()
	err := c.moveAll(ctx, grace, r, p)
	stopWatching()
	<-watched
	if err = cmp.Or(p.close(), err); err != nil {
		return err
	}
	if err := c.cfg.JetStream.Conn().FlushWithContext(grace); err != nil {
		return fmt.Errorf("flush acknowledgements: %w", err)
	}
	return nil
}

// moveAll reads until ctx is done. Then it moves what the broker had sent, so that a restart need not wait for its redelivery.
func (c *Collector) moveAll(ctx, grace context.Context, r *reader, p *pipeline) error {
	for ctx.Err() == nil {
		readErr, err := c.move(ctx, grace, r, p)
		if err != nil {
			return err
		}
		if readErr != nil && ctx.Err() == nil {
			return fmt.Errorf("read %s: %w", c.src.Stream, readErr)
		}
	}
	r.drain()
	for {
		if readErr, err := c.move(grace, grace, r, p); readErr != nil || err != nil {
			return err
		}
	}
}

// move moves one batch from the reader into the pipeline.
func (c *Collector) move(ctx, grace context.Context, r *reader, p *pipeline) (readErr, err error) {
	batch, more, readErr := r.next(ctx)
	if len(batch) == 0 {
		return readErr, nil
	}
	if b := c.take(grace, r, p, batch, more); b != nil {
		if err = p.put(b, c.waitsForPublishes(b)); err != nil {
			c.withdraw(grace, b)
		}
	}
	return readErr, err
}

// open finds the capture stream and makes sure of its durable.
func (c *Collector) open(ctx context.Context) (lifecycle.StreamID, jetstream.Consumer, error) {
	stream, err := c.cfg.JetStream.Stream(ctx, c.src.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err := c.blind(ctx); err != nil {
			return lifecycle.StreamID{}, nil, err
		}
		return lifecycle.StreamID{}, nil, health.NoStreamError{Stream: c.src.Stream, Say: c.src.Stream + ": capture stream does not exist"}
	}
	if err != nil {
		return lifecycle.StreamID{}, nil, fmt.Errorf("find stream %s: %w", c.src.Stream, err)
	}
	if err := c.noteForgotten(ctx, stream); err != nil {
		return lifecycle.StreamID{}, nil, err
	}
	id := c.incarnation(stream)
	consumer, err := c.openDurable(ctx, stream)
	if err != nil {
		return id, nil, err
	}
	if consumer, err = c.catchUp(ctx, stream, consumer); err != nil {
		return id, nil, err
	}
	c.resume(id, consumer.CachedInfo())
	if consumer.CachedInfo().NumPending < backlog {
		c.participant.idle()
	}
	return id, consumer, nil
}

// incarnation is the capture stream with its epoch: its creation, or when it began to give numbers again that the broker had forgotten.
func (c *Collector) incarnation(stream jetstream.Stream) lifecycle.StreamID {
	id := c.name
	id.Epoch = max(lifecycle.MicrosOf(stream.CachedInfo().Created), c.pos.Forgot)
	return id
}

// openDurable finds the durable, and makes it where it is missing or not as it should be. Whoever observes need not be allowed to make
// one: `fleetglass provision` does.
func (c *Collector) openDurable(ctx context.Context, stream jetstream.Stream) (jetstream.Consumer, error) {
	name := DurableName(c.cfg.Durable, c.src.Name) + c.shard.Suffix()
	found, err := stream.Consumer(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, fmt.Errorf("find durable %s: %w", name, err)
	}
	want := c.cfg.reader(c.src).Config(c.cfg.Contract)
	want.Durable = name
	switch {
	case err == nil && readsAlike(found.CachedInfo().Config, want):
		return found, nil
	case err == nil:
		want.DeliverPolicy, want.OptStartSeq = found.CachedInfo().Config.DeliverPolicy, found.CachedInfo().Config.OptStartSeq
	default:
		want, err = fleet.HandedOver(ctx, c.cfg.JetStream, c.cfg.reader(c.src), want)
	}
	var made jetstream.Consumer
	if err == nil {
		made, err = stream.CreateOrUpdateConsumer(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("create durable %s on %s, %s: %w", name, stream.CachedInfo().Config.Name, c.src.whoMayMakeIt(), err)
	}
	return made, nil
}

// readsAlike reports whether two configurations of a durable deliver the same lines in the same way. Where it once began is no part of that.
func readsAlike(a, b jetstream.ConsumerConfig) bool {
	return a.AckPolicy == b.AckPolicy && a.AckWait == b.AckWait && a.MaxDeliver == b.MaxDeliver && a.MaxAckPending == b.MaxAckPending &&
		startsAlike(a, b) && slices.Equal(filtersOf(a), filtersOf(b)) && a.PriorityPolicy == b.PriorityPolicy
}

// startsAlike reports whether both begin with the first line, or where others had read to.
func startsAlike(a, b jetstream.ConsumerConfig) bool {
	handedOver := a.DeliverPolicy == jetstream.DeliverByStartSequencePolicy
	return a.DeliverPolicy == b.DeliverPolicy || handedOver
}

func filtersOf(cfg jetstream.ConsumerConfig) []string {
	if cfg.FilterSubject != "" {
		return []string{cfg.FilterSubject}
	}
	return cfg.FilterSubjects
}

// resume sets where the next line is expected: where the durable stands, or where the store says we were when the durable is new.
func (c *Collector) resume(stream lifecycle.StreamID, info *jetstream.ConsumerInfo) {
	c.holes = holes{consumer: info.Delivered.Consumer, stream: info.Delivered.Stream}
	if c.pos.Stream == stream.String() {
		c.holes.at = c.pos.At
		if info.Delivered.Consumer == 0 {
			c.holes.stream = c.pos.Seq
		}
	}
	if start := info.Config.OptStartSeq; start > 0 && info.Delivered.Consumer == 0 { // Others had read what is before, shard by shard.
		c.holes.stream = start - 1
	}
}

// watch measures the backlog until ctx is done, and looks for lines that nobody will acknowledge.
func (c *Collector) watch(ctx context.Context, r *reader, p *pipeline) {
	pause := c.cfg.Watch
	if c.src.Edited {
		pause /= editedLooks
	}
	for {
		asked := c.cfg.Now()
		info, err := r.consumer.Info(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.status.unreachable(err.Error())
		default:
			pending := info.NumPending + uint64(info.NumAckPending)
			c.status.backlog(pending, c.storedByAny(ctx, pending), asked)
			c.findLosses(ctx, r.consumer)
			c.findElsewhere(ctx, r.stream, info)
			c.readStanding(ctx, r.stream, info, p)
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// storedByAny is the store time of the last line that any replica committed; zero where nothing waits, or where the store does not say.
func (c *Collector) storedByAny(ctx context.Context, pending uint64) lifecycle.Micros {
	if pending == 0 {
		return 0
	}
	p, err := c.positionOf(ctx, c.shard)
	if err != nil {
		return 0
	}
	return p.At
}

// graceful returns a context that ends the given time after ctx does.
func graceful(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	timer := time.NewTimer(grace)
	timer.Stop()
	stop := context.AfterFunc(ctx, func() {
		timer.Reset(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-out.Done():
		}
	})
	return out, func() { stop(); cancel() }
}

// sleep reports whether the pause passed before ctx was done.
func sleep(ctx context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
