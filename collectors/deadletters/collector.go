package deadletters

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Name is the source that reads entries: part of the durables' names, and the name of the health part.
const Name = "deadletters"

// Config is how dead-letter entries are read.
type Config struct {
	collectors.Config               // Incarnations is not used: the streams of entries have a resolver of their own.
	Every             time.Duration // Optional; default 1 s. How often streams are looked for, and how far they were read.
}

// Collector reads every stream that takes dead-letter entries, found by its subjects. New streams are found while it runs.
type Collector struct {
	cfg     Config
	readers map[string]*reader // By stream.

	mu       sync.Mutex
	parts    []health.Part           // What the last look at the streams found.
	reading  []*collectors.Collector // They say themselves how they are.
	readTo   lifecycle.Micros
	holdings map[string]holding // By stream.
}

// reader reads one stream.
type reader struct {
	collector *collectors.Collector
	resolver  *collectors.IncarnationResolver
	stop      context.CancelFunc
	done      chan struct{}
	readTo    lifecycle.Micros
}

// New validates the configuration and starts nothing.
func New(cfg Config) (*Collector, error) {
	if cfg.JetStream == nil || cfg.Appender == nil || cfg.Watermarks == nil {
		return nil, fmt.Errorf("collector %s: JetStream, Appender and Watermarks are required", Name)
	}
	if err := cfg.Contract.Validate(); err != nil {
		return nil, fmt.Errorf("collector %s: %w", Name, err)
	}
	if cfg.Every <= 0 {
		cfg.Every = time.Second
	}
	return &Collector{cfg: cfg, readers: map[string]*reader{}, parts: []health.Part{{Name: Name, Kind: "collector", State: health.Starting}}}, nil
}

// ReadTo is up to when all entries of all streams are stored, by the broker's clock; zero until every stream was read to its end since the
// program started. Of a message that died later it is not known whether it has an entry.
func (c *Collector) ReadTo() lifecycle.Micros {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readTo
}

// Health says how the collector is, as one part over all streams.
func (c *Collector) Health() []health.Part {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := slices.Clone(c.parts)
	for _, r := range c.reading {
		parts = append(parts, r.Health()...)
	}
	return []health.Part{health.Join(Name, "collector", parts)}
}

// Run reads until ctx is done, then finishes what it has in hand and returns nil.
func (c *Collector) Run(ctx context.Context) error {
	tick := time.NewTicker(c.cfg.Every)
	defer tick.Stop()
	defer c.stopAll()
	for {
		c.turn(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// turn looks for streams, starts and stops readers, and measures how far they are.
func (c *Collector) turn(ctx context.Context) {
	found, err := c.find(ctx)
	if err != nil {
		c.observe(ctx, streams{})
		c.note(ctx, []health.Part{{State: health.Down, Detail: err.Error()}}, nil, 0)
		return
	}
	parts := c.unreadable(found)
	for name, r := range c.readers {
		if !found.has(name) {
			r.end()
			delete(c.readers, name)
		}
	}
	for _, name := range found.readable {
		if c.readers[name] == nil {
			r, err := c.start(ctx, found, name)
			if err != nil {
				parts = append(parts, health.Part{State: health.Down, Detail: err.Error()})
				continue
			}
			c.readers[name] = r
		}
	}
	var reading []*collectors.Collector
	for name, r := range c.readers {
		c.measure(ctx, name, r)
		reading = append(reading, r.collector)
	}
	c.observe(ctx, found)
	c.note(ctx, parts, reading, c.readByAll(found))
}

// unreadable says what cannot be read, and that there is nothing to read.
func (c *Collector) unreadable(found streams) []health.Part {
	var parts []health.Part
	for _, name := range found.emptied {
		parts = append(parts, health.Part{State: health.Down,
			Detail: "stream " + name + " drops entries once they are read, so they are not read: give it the retention limits"})
	}
	if len(found.readable)+len(found.emptied) == 0 {
		parts = append(parts, health.Part{State: health.NotConfigured, Detail: "no stream takes " + c.cfg.Contract.DLQSubjects()})
	}
	return parts
}

func (c *Collector) note(ctx context.Context, parts []health.Part, reading []*collectors.Collector, readTo lifecycle.Micros) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts, c.reading, c.readTo = parts, reading, max(c.readTo, readTo)
}

// start begins to read a stream. A resolver of its own tells the incarnations of the streams of entries apart: the other collectors need not ask
// for them.
func (c *Collector) start(ctx context.Context, found streams, name string) (*reader, error) {
	cfg := c.cfg.Config
	resolver, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{
		JetStream: cfg.JetStream, Appender: cfg.Appender, Watermarks: cfg.Watermarks, Contract: cfg.Contract, Streams: append(observed(), found.readable...),
	})
	if err != nil {
		return nil, err
	}
	cfg.Incarnations = resolver
	subject := ""
	if slices.Contains(found.mixed, name) {
		subject = c.cfg.Contract.DLQSubjects()
	}
	reading, err := collectors.New(cfg, collectors.Source{
		Name: Name, Stream: name, Subject: subject, Decode: Decode, AfterPublishes: true, Resolves: true, Optional: true, Edited: true,
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	r := &reader{collector: reading, resolver: resolver, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		_ = reading.Run(ctx) // It never errors.
	}()
	return r, nil
}

func (r *reader) end() {
	r.stop()
	<-r.done
}

func (c *Collector) stopAll() {
	for _, r := range c.readers {
		r.stop()
	}
	for _, r := range c.readers {
		<-r.done
	}
}

// measure notes up to when a stream was read: where nothing of it waits, up to the moment at which the broker says so.
func (c *Collector) measure(ctx context.Context, name string, r *reader) {
	consumer, err := c.cfg.JetStream.Consumer(ctx, name, collectors.DurableName(c.cfg.Durable, Name))
	if err != nil {
		return // The reader says why.
	}
	if info := consumer.CachedInfo(); readToEnd(info) {
		r.readTo = lifecycle.MicrosOf(info.TimeStamp)
	}
}

// readToEnd reports whether all lines that the stream held were stored when the broker was asked: lines are acknowledged once they are.
func readToEnd(info *jetstream.ConsumerInfo) bool {
	return info.NumPending == 0 && info.NumAckPending == 0
}

// readByAll is up to when all streams were read. Where there is none there are no entries.
func (c *Collector) readByAll(found streams) lifecycle.Micros {
	to := found.at
	if len(found.emptied) > 0 {
		return 0
	}
	for _, name := range found.readable {
		r := c.readers[name]
		if r == nil {
			return 0
		}
		to = min(to, r.readTo)
	}
	return to
}
