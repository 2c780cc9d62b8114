package brokersync

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Collector is the synchronizer of one fleet. Replicas may run at the same time: they find the same events.
type Collector struct {
	cfg        Config
	rules      Rules
	observers  []*observer               // One for each stream.
	states     map[string]State          // By stream name.
	consumers  []lifecycle.ConsumerState // As the store knew them at the start.
	absent     map[string]bool           // Streams that do not exist any more.
	looked     map[string]time.Time      // By stream name: when the last look began at what is stored of its consumers.
	unlistedAt lifecycle.Micros          // Up to when tasks without a stored message were asked for.

	standing map[string]standing // By the source of the gap.
	taking   map[string]taking   // By stream name, of those that exist.

	mu    sync.Mutex
	part  health.Part
	read  map[string]lifecycle.Micros // By stream name: up to when the publish lines of its messages are stored.
	found health.State                // As the poll at hand found things.
	why   string

	unjudged []string // What the poll at hand found that cannot be judged.
}

// New validates the configuration and starts nothing.
func New(cfg Config) (*Collector, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("collector %s: %w", Name, err)
	}
	cfg.Logger = cfg.Logger.With("source", Name)
	c := &Collector{
		cfg: cfg, states: map[string]State{}, absent: map[string]bool{}, looked: map[string]time.Time{}, taking: map[string]taking{}, standing: map[string]standing{}, read: map[string]lifecycle.Micros{}, part: health.Part{Name: Name, Kind: "collector", State: health.Starting},
		rules: Rules{Waits: cfg.Waits, PageSize: cfg.PageSize, Earlier: 10 * cfg.Interval},
	}
	for _, name := range cfg.Streams {
		c.observers = append(c.observers, &observer{cfg: &c.cfg, name: name})
	}
	return c, nil
}

// Run polls until ctx is done and returns nil. A poll that fails is tried again at the next turn; meanwhile Health says Down and why.
// A poll that had to leave work over is followed by the next one sooner.
func (c *Collector) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		more, err := c.Poll(ctx)
		if ctx.Err() != nil {
			break
		}
		c.report(err)
		pause := c.cfg.Interval
		if more && err == nil {
			pause /= 10
		}
		wait(ctx, pause)
	}
	return nil
}

// Health says how the synchronizer is.
func (c *Collector) Health() []health.Part {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []health.Part{c.part}
}

// PublishesRead is up to when, by the broker's clock, every publish line of the messages of a stream is stored that was captured; zero while that is not known.
func (c *Collector) PublishesRead(stream string) lifecycle.Micros {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read[stream]
}

// publishesRead notes how far that is.
func (c *Collector) publishesRead(stream string, upTo lifecycle.Micros) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read[stream] = upTo
}

func (c *Collector) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.part.Detail != err.Error() {
			c.cfg.Logger.Warn("the state of the broker could not be observed", "error", err)
		}
		c.part.State, c.part.Detail = health.Down, err.Error()
		return
	}
	c.part.State, c.part.Detail, c.part.LastAt = c.found, c.why, c.lookedAtAll()
	c.part.Unjudged = strings.Join(c.unjudged, "; ")
}

// lookedAtAll is when the oldest of the streams' last looks began; zero while one was not looked at.
func (c *Collector) lookedAtAll() time.Time {
	at := c.cfg.Now()
	for _, b := range c.observers {
		if looked := c.looked[b.name]; looked.Before(at) {
			at = looked
		}
	}
	return at
}

// note keeps how the poll at hand found things, which counts once it has succeeded. What it says of several streams in one state is told together, and
// what is down is told first.
func (c *Collector) note(state health.State, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case state == health.OK:
		c.found, c.why, c.unjudged = state, why, nil
	case state == c.found:
		c.why += "; " + why
	case c.found != health.Down:
		c.found, c.why = state, why
	}
}

// noteUnjudged notes what the poll at hand sees and cannot judge.
func (c *Collector) noteUnjudged(why string) {
	c.note(health.BestEffort, why)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unjudged = append(c.unjudged, why)
}

func (c *Collector) handled(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part.Handled += uint64(n)
}

func wait(ctx context.Context, pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
