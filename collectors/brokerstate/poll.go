package brokerstate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// memory is what the reconciler remembers between polls. It may be lost: it only saves asking twice, and delays what needs two looks.
type memory struct {
	ready     bool
	tasks     jetstream.Stream
	stream    lifecycle.StreamID // The incarnation that the rest is about.
	consumers map[consumerKey]lifecycle.ConsumerState
	acks      drain
	events    drain
	publishes drain

	state    jetstream.StreamState // Of the stream at the last look, with the list of deleted sequences if it was asked for.
	cursor   uint64                // Where the next page of the stream begins.
	sweep    sweep
	missing  map[uint64]lifecycle.Micros // Open messages that are not in the stream, since when.
	settled  map[uint64]lifecycle.Micros // Messages in the stream that the store calls settled, until when not to be asked about again.
	answered map[string]uint64           // By consumer: the delivery of which the time has been looked for.
	looks    []mark                      // Latest looks: time and last sequence.
	seen     sequences
	asked    uint64           // The last message asked about, where not all could be.
	unlisted lifecycle.Micros // When unlisted tasks were last asked for.
	earlier  lifecycle.Micros // When earlier incarnations were last asked for.
}

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
	streams, err := c.cfg.Incarnations.Look(ctx)
	if err != nil {
		return false, err
	}
	lives := streams.Known[fleet.StreamTasks]
	if _, alive := streams.LastSeq[fleet.StreamTasks]; !alive || len(lives) == 0 {
		return false, c.withoutStream(ctx, lives)
	}
	life := lives[len(lives)-1]
	p := &poll{c: c, streams: streams, repaired: map[uint64]bool{}}
	if err := p.look(ctx, life); err != nil {
		return false, err
	}
	if err := p.read(ctx); err != nil {
		return false, err
	}
	if err := p.decide(ctx); err != nil {
		return false, err
	}
	return p.more, p.store(ctx)
}

// load prepares the memory once.
func (c *Collector) load(ctx context.Context) error {
	if c.seen.ready {
		return nil
	}
	known, err := c.cfg.Reader.Consumers(ctx)
	if err != nil {
		return fmt.Errorf("read consumers: %w", err)
	}
	m := memory{consumers: map[consumerKey]lifecycle.ConsumerState{}, ready: true}
	for _, k := range known {
		m.consumers[consumerKey{k.Stream, k.Name}] = k
	}
	m.acks = drain{stream: fleet.CaptureAck, durable: collectors.DurableName(c.cfg.Durable, "acks")}
	m.events = drain{stream: fleet.CaptureEvt, durable: collectors.DurableName(c.cfg.Durable, "advisories")}
	m.publishes = drain{stream: fleet.CapturePub, durable: collectors.DurableName(c.cfg.Durable, "publishes")}
	m.forget(lifecycle.StreamID{})
	c.seen = m
	return nil
}

// forget drops what was remembered of another incarnation.
func (m *memory) forget(stream lifecycle.StreamID) {
	m.stream, m.state, m.cursor, m.sweep, m.looks, m.seen = stream, jetstream.StreamState{}, 0, sweep{}, nil, sequences{}
	m.missing, m.settled, m.answered = map[uint64]lifecycle.Micros{}, map[uint64]lifecycle.Micros{}, map[string]uint64{}
}

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
func (p *poll) look(ctx context.Context, life collectors.Life) error {
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
		seen.seen.verifiable = max(seen.seen.verifiable, seen.looks[0].seq)
		seen.looks = seen.looks[1:]
	}
	if len(seen.looks) > marksKept {
		seen.looks = seen.looks[:marksKept]
	}
	look.Verifiable = seen.seen.verifiable
	return nil
}

// decide plans, asks what the plan needs to know, and plans again.
func (p *poll) decide(ctx context.Context) error {
	seen := &p.c.seen
	p.facts.Missing = seen.missing
	if err := p.crowded(ctx); err != nil {
		return err
	}
	result := Plan(p.saw, p.facts, p.c.cfg.Waits)
	if len(result.Ask) > 0 {
		if err := ask(ctx, seen.tasks, &p.saw.Present, p.turn(result.Ask)); err != nil {
			return err
		}
		result = Plan(p.saw, p.facts, p.c.cfg.Waits)
	}
	p.remember(result)
	p.batch.Events = append(p.batch.Events, result.Events...)
	if err := p.repair(ctx, append(result.Repair, p.unknown...)); err != nil {
		return err
	}
	if err := p.verify(ctx); err != nil {
		return err
	}
	if err := p.notStored(ctx); err != nil {
		return err
	}
	return p.earlierLives(ctx)
}

// turn takes as many of the messages to ask about as one poll may, in turn.
func (p *poll) turn(seqs []uint64) []uint64 {
	limit := max(p.c.cfg.PageSize, 16)
	if len(seqs) <= limit {
		return seqs
	}
	p.more = true
	slices.Sort(seqs)
	at, _ := slices.BinarySearch(seqs, p.c.seen.asked+1)
	chosen := append(slices.Clone(seqs[at:]), seqs[:at]...)[:limit]
	p.c.seen.asked = chosen[limit-1]
	return chosen
}

// crowded asks how full the subjects of missing messages are, where the stream limits them.
func (p *poll) crowded(ctx context.Context) error {
	limit := p.saw.Limits.MaxPerSubject
	if limit <= 0 || len(p.c.seen.missing) == 0 {
		return nil
	}
	p.saw.Crowded = map[string]bool{}
	for _, o := range p.facts.Open {
		since, missing := p.c.seen.missing[o.Message.Key.Seq]
		if !missing || o.Message.Stored == nil || p.saw.Drained < since.Add(p.c.cfg.Waits.Vanish) || len(p.saw.Crowded) >= p.c.walkPage() {
			continue
		}
		subject := o.Message.Stored.Subject
		if _, asked := p.saw.Crowded[subject]; asked {
			continue
		}
		info, err := p.c.seen.tasks.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err != nil {
			return fmt.Errorf("ask for subject: %w", err)
		}
		p.saw.Crowded[subject] = info.State.Subjects[subject] >= uint64(limit)
	}
	return nil
}

// remember keeps since when messages are missing, and forgets those of this page that are not any more.
func (p *poll) remember(r Result) {
	seen := &p.c.seen
	now := map[uint64]bool{}
	for _, seq := range r.Missing {
		now[seq] = true
		if _, known := seen.missing[seq]; !known {
			seen.missing[seq] = p.saw.At
		}
	}
	if !p.swept {
		return
	}
	for seq := range seen.missing {
		if seq >= seen.cursor && seq <= p.to && !now[seq] {
			delete(seen.missing, seq)
		}
	}
	p.more = p.more || len(r.Missing) > 0
	if seen.cursor = p.to + 1; p.to >= p.saw.LastSeq {
		seen.cursor = 0
	}
	seen.sweep.turn(p.saw, len(p.facts.Open), seen.cursor == 0, p.more || len(p.unknown) > 0)
}

// store hands everything over at once.
func (p *poll) store(ctx context.Context) error {
	if mark, due := p.c.seen.seen.due(p.saw.At, !p.batch.Empty()); due {
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

// notStored says of publish attempts that nothing was stored for them, once every captured publish up to a good while after is stored.
func (p *poll) notStored(ctx context.Context) error {
	seen := &p.c.seen
	if p.saw.At < seen.unlisted.Add(2*time.Second) {
		return nil
	}
	seen.unlisted = p.saw.At
	before := min(p.saw.At, seen.publishes.upTo).Add(-p.c.cfg.NotStored)
	tasks, err := p.c.cfg.Reader.UnlistedTasks(ctx, before, p.c.cfg.PageSize)
	if err != nil {
		return fmt.Errorf("read unlisted tasks: %w", err)
	}
	for _, t := range tasks {
		at := t.LastAt.Add(p.c.cfg.NotStored)
		p.batch.Events = append(p.batch.Events, lifecycle.Event{
			ID: lifecycle.NewEventID(Name, string(lifecycle.NotStored), t.ID, fmt.Sprint(int64(at))), At: at, Kind: lifecycle.NotStored,
			Provenance: lifecycle.Inferred, Source: Name, TaskID: t.ID, Agent: t.Agent,
		})
	}
	return nil
}

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

func (c *Collector) goneWith(ctx context.Context, life collectors.Life, at lifecycle.Micros) ([]lifecycle.Event, error) {
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
func (c *Collector) withoutStream(ctx context.Context, lives collectors.Lives) error {
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

// isGone reports whether the broker says that there is no such message.
func isGone(err error) bool { return errors.Is(err, jetstream.ErrMsgNotFound) }
