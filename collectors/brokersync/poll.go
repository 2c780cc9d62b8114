package brokersync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Poll observes every stream once and stores what follows. more reports that work was left over. A poll that errors changes nothing of
// what is remembered.
func (c *Collector) Poll(ctx context.Context) (more bool, err error) {
	if err := c.load(ctx); err != nil {
		return false, err
	}
	began := c.cfg.Now()
	streams, err := c.cfg.Incarnations.Observe(ctx)
	if err != nil {
		return false, err
	}
	c.note(health.OK, "")
	c.follow(streams)
	for _, b := range c.observers {
		left, err := c.pollStream(ctx, b, streams, began)
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, c.sayNotStored(ctx)
}

// load makes the first states, once.
func (c *Collector) load(ctx context.Context) error {
	if len(c.states) > 0 {
		return nil
	}
	consumers, err := c.cfg.Reader.Consumers(ctx)
	if err != nil {
		return fmt.Errorf("read consumers: %w", err)
	}
	c.consumers = consumers
	for _, b := range c.observers {
		c.begin(b)
	}
	return nil
}

// follow begins to observe streams that take tasks and were not known before.
func (c *Collector) follow(streams collectors.Streams) {
	for _, name := range slices.Sorted(maps.Keys(streams.Known)) {
		if _, known := c.states[name]; known || len(streams.Known[name]) == 0 {
			continue
		}
		b := &observer{cfg: &c.cfg, name: name}
		c.observers = append(c.observers, b)
		c.begin(b)
	}
}

// begin makes the first state of a stream.
func (c *Collector) begin(b *observer) {
	c.states[b.name] = NewState(c.consumers)
	b.clocks.remember(b.name, c.consumers)
}

// pollStream observes one stream, steps, and commits.
func (c *Collector) pollStream(ctx context.Context, b *observer, streams collectors.Streams, began time.Time) (more bool, err error) {
	_, alive := streams.LastSeq[b.name]
	if c.absent[b.name] = !alive; !alive {
		if len(streams.LastSeq) == 0 {
			c.note(health.NotConfigured, b.name+" does not exist")
		}
		if len(streams.Known[b.name]) == 0 {
			c.looked[b.name] = began
			return false, nil
		}
	}
	was := c.states[b.name]
	o, err := b.observe(ctx, streams, was.Sweep.Cursor)
	if errors.Is(err, errRestless) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return true, nil
	}
	if errors.Is(err, errReturned) {
		c.note(health.Down, b.name+" "+errReturned.Error())
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if settling, err := c.followClock(ctx, b, o); err != nil || settling {
		return false, err
	}
	if why := o.unjudged(); why != "" {
		c.noteUnjudged(why)
	}
	next, batch, err := c.steps(ctx, was, &answerer{cfg: &c.cfg, stream: b.stream, streams: streams, seen: o, facts: NewFacts()})
	if err != nil {
		return false, err
	}
	if err := c.commit(ctx, batch); err != nil {
		return false, err
	}
	if missing := o.Capture.missing(); alive && missing != "" {
		c.note(health.BestEffort, b.name+" is seen in part only: "+missing+"; run fleetglass provision --apply")
	}
	if err := c.sayAbsent(ctx, b.name, !alive, was.At); err != nil {
		return false, err
	}
	if err := c.sayUncaptured(ctx, b.name, o, alive && o.Capture.Acks.Uncovered, was.At); err != nil {
		return false, err
	}
	c.states[b.name], c.looked[b.name] = next, began
	c.noteTaking(b.name, o)
	c.publishesRead(b.name, next.Capture.Publishes.UpTo)
	return next.Unfinished && !next.behind(), nil
}

// steps steps until no question is left.
func (c *Collector) steps(ctx context.Context, was State, a *answerer) (State, lifecycle.Batch, error) {
	for {
		next, batch, questions := c.rules.Step(was, a.seen, a.facts)
		if questions.None() {
			return next, batch, nil
		}
		if err := a.answer(ctx, questions); err != nil {
			return was, batch, err
		}
	}
}

// farBehind is how old the last stored acknowledgement may be before there is no hurry: until the collectors have caught up nearly nothing
// can be concluded from what the broker shows, and polling again sooner only slows them down.
const farBehind = 10 * time.Second

// behind reports whether the collectors are far behind the broker, or have not said yet where they are.
func (s State) behind() bool { return s.Capture.answers().Add(farBehind) < s.At }

// commit stores a batch in one transaction.
func (c *Collector) commit(ctx context.Context, b lifecycle.Batch) error {
	if b.Empty() {
		return nil
	}
	collectors.MakeStorable(&b)
	if _, err := c.cfg.Appender.Append(ctx, b); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	c.handled(len(b.Events))
	return nil
}
