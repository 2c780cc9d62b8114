package brokersync

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

const (
	// clockSettles is for how long nothing is concluded after a clock jumped: what was said by it before and after cannot be compared.
	clockSettles = 5 * time.Second
	// stepsKept is for how long after a jump, by the clock that jumped, it may concern what consumers hold.
	stepsKept = 24 * time.Hour
)

// clocks is what is known of the clocks by which a stream and its capture streams are kept.
type clocks struct {
	readings map[string]reading // The last ones, by the stream whose leader answered.
	seen     lifecycle.Micros   // The latest time that the store has from before the first look.
	looked   bool
	found    []jump                // At this observation.
	steps    []lifecycle.ClockStep // Those that may still concern what consumers hold, oldest first.
	why      string                // What was seen of the last of them.
	settled  time.Time             // Until then nothing is concluded.
}

// remember takes over what the store knows.
func (c *clocks) remember(stream string, consumers []lifecycle.ConsumerState) {
	for _, s := range consumers {
		if s.Stream.Name != stream {
			continue
		}
		if c.seen = max(c.seen, s.ObservedAt); len(s.Steps) > 0 {
			c.steps, c.why = s.Steps, "the broker's clock jumped"
		}
	}
}

// read notes what a clock read, and whether it jumped since it was read last.
func (c *clocks) read(stream string, r reading) {
	if j, jumped := r.since(c.readings[stream]); jumped {
		c.found = append(c.found, j)
	}
	if c.readings == nil {
		c.readings = map[string]reading{}
	}
	c.readings[stream] = r
}

// lookBack finds, at the first look, that the clock was set back while nobody looked: it has not reached times that it read before.
func (c *clocks) lookBack(o *Observation, s jetstream.StreamState) {
	latest := max(c.seen, lifecycle.MicrosOf(s.LastTime))
	for _, consumer := range o.Consumers {
		latest = max(latest, consumer.CreatedAt, consumer.DeliveredAt)
	}
	known := slices.ContainsFunc(c.steps, func(s lifecycle.ClockStep) bool { return s.By() < 0 && latest <= s.From.Add(clockMargin) })
	if by := latest.Sub(o.At); !c.looked && !known && by > clockMargin {
		why := fmt.Sprintf("the broker's clock was set back by %s or more before it was read first", lifecycle.Lasting(by))
		c.found = append(c.found, jump{lifecycle.ClockStep{From: latest, To: o.At}, why})
	}
	c.looked = true
	c.steps = slices.DeleteFunc(slices.Clone(c.steps), func(s lifecycle.ClockStep) bool { return max(s.From, s.To).Add(stepsKept) < o.At })
	if len(c.steps) == 0 {
		c.steps = nil
	}
}

// jumped returns the jump that was found, of several the farthest. One jump of a host shows in every clock of it, at this look or the next, so the clocks
// are compared from now on.
func (c *clocks) jumped() (jump, bool) {
	if len(c.found) == 0 {
		return jump{}, false
	}
	farthest := slices.MaxFunc(c.found, func(a, b jump) int { return int(a.By().Abs() - b.By().Abs()) })
	c.readings, c.found = nil, nil
	return farthest, true
}

// apart says that two of the clocks differ; empty where they do not.
func (c *clocks) apart(stream string) string {
	first := c.readings[stream]
	for _, r := range c.readings {
		by := beyond(r.stamp, first.stamp.Add(r.asked.Sub(first.answered)), first.stamp.Add(r.answered.Sub(first.asked)))
		if r.server != first.server && by.Abs() > clockMargin {
			return fmt.Sprintf("the clocks of %s and %s differ by %s, and so may what is said of leases", first.server, r.server, lifecycle.Lasting(by.Abs()))
		}
	}
	return ""
}

// followClock reports whether nothing may be concluded from an observation, because a clock jumped just now. It stores the gap, and beside it the consumers
// that are to know of the jump, before anything is told by the new time.
func (c *Collector) followClock(ctx context.Context, b *observer, o Observation) (settling bool, err error) {
	if o.Absent {
		return false, nil
	}
	if j, jumped := b.clocks.jumped(); jumped {
		if err := c.noteJump(ctx, b, o, j); err != nil {
			return true, err
		}
	}
	if r, read := b.clocks.readings[b.name]; read && b == c.observers[0] {
		c.cfg.Clock.follow(r)
	}
	settling = time.Now().Before(b.clocks.settled)
	switch apart := b.clocks.apart(b.name); {
	case b.clocks.matter(o):
		c.note(health.BestEffort, b.name+": "+b.clocks.why+"; what was in hand then may be told wrongly, and shows a gap")
	case apart != "":
		c.note(health.BestEffort, b.name+": "+apart)
	}
	return settling, nil
}

// matter reports whether the last jump may concern what workers have now: not all that was in hand then is due, or times come twice.
func (c *clocks) matter(o Observation) bool {
	if len(c.steps) == 0 {
		return false
	}
	last := c.steps[len(c.steps)-1]
	var longest time.Duration
	for _, consumer := range o.Consumers {
		longest = max(longest, consumer.AckWait, slices.Max(append([]time.Duration{0}, consumer.Backoff...)))
	}
	return o.At <= max(last.From, last.To).Add(longest)
}

// noteJump stores a jump and forgets what was remembered by the time before it.
func (c *Collector) noteJump(ctx context.Context, b *observer, o Observation, j jump) error {
	steps := append(slices.Clone(b.clocks.steps), j.ClockStep)
	for i := range o.Consumers {
		o.Consumers[i].Steps = steps
	}
	was := c.states[b.name]
	st := &step{was: was, next: State{Consumers: was.Consumers, Replaced: map[string]lifecycle.Micros{}}, view: view{Observation: o}}
	st.storeConsumers(o.Consumers, o.At)
	st.batch.Gaps = []lifecycle.Gap{{Source: lifecycle.Clock(b.name), From: min(j.From, j.To), To: max(j.From, j.To), Reason: j.why + ": " + j.effect()}}
	if err := c.commit(ctx, st.batch); err != nil {
		return err
	}
	c.cfg.Logger.Warn("a clock of the broker jumped", "stream", b.name, "from", j.From.Time(), "to", j.To.Time(), "seen", j.why)
	c.states[b.name] = State{Consumers: st.next.Consumers}
	b.clocks.steps, b.clocks.why, b.clocks.settled = steps, j.why, time.Now().Add(clockSettles)
	c.unlistedAt = min(c.unlistedAt, o.At)
	return nil
}

// effect says what a jump makes unsure.
func (j jump) effect() string {
	if j.By() < 0 {
		return "times of that span come twice, and what was before what in it cannot be told"
	}
	return "that span did not pass, and what lasted over it took that much less"
}
