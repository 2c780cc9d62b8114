package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Queue is the queue of effects of the monitor.
const Queue = "dead-letter"

// Store is what the monitor reads, and where it decides.
type Store interface {
	lifecycle.Appender
	decision.Decider
	decision.Outbox
	// Uncopied is that of [dlqtriage.QueueReader].
	Uncopied(ctx context.Context, before lifecycle.Micros, after *dlqtriage.EntryCursor, limit int) ([]dlqtriage.Entry, error)
	// TaskOf, Task and Payload are those of [lifecycle.TraceReader].
	TaskOf(ctx context.Context, k lifecycle.MessageKey) (string, error)
	Task(ctx context.Context, id string) (lifecycle.TaskRecord, error)
	Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error)
	// MessagesIn is that of [lifecycle.OpenReader].
	MessagesIn(ctx context.Context, stream lifecycle.StreamID, from, to uint64, limit int) ([]lifecycle.MessageFacts, error)
}

// Settler says how the quarantine of a message in flight is settled. [dlqtriage.Actions] does.
type Settler interface {
	SettleHeld(ctx context.Context, c decision.Claimed, why string, events ...lifecycle.Event) (decision.Settlement, error)
}

// Config says what the monitor works with.
type Config struct {
	JetStream jetstream.JetStream      // Required.
	Contract  fleet.Contract           // Required.
	Store     Store                    // Required.
	ReadTo    func() lifecycle.Micros  // Required. Up to when all entries were read; zero while that is not known.
	Policy    func() *dlqtriage.Policy // Required. The rules of classification that hold now.

	// Optional; by default all are. Up to when the publish lines of the messages of a stream are stored; zero while that is not known.
	PublishesRead func(stream string) lifecycle.Micros

	Actions  Settler // Optional; without it messages in flight are not quarantined.
	OnlyLook bool    // Optional; default false. Dead messages are another monitor's to copy: this one says why they died.

	Reader      string           // Optional; the durable through which entries are read, default that of the collector.
	Holder      string           // Optional; who claims, for people. Default the package's name.
	OrphanAfter time.Duration    // Optional; how long a message must have been without a consumer, default 5 min: workers may start later.
	Lease       time.Duration    // Optional; how long a claim holds, default 30 s. Who dies is taken for dead after it.
	Every       time.Duration    // Optional; how often is looked for dead messages, default 1 s.
	Now         func() time.Time // Optional; default time.Now.
	Logger      *slog.Logger     // Optional; default discards.

	Step decision.Steps // Optional, for tests: called before and after everything that changes something.
}

func (c Config) withDefaults() (Config, error) {
	if c.JetStream == nil || c.Store == nil || c.ReadTo == nil || c.Policy == nil {
		return c, errors.New("dlq monitor: JetStream, Store, ReadTo and Policy are required")
	}
	if err := c.Contract.Validate(); err != nil {
		return c, fmt.Errorf("dlq monitor: %w", err)
	}
	c.Reader = cmp.Or(c.Reader, fleet.ReaderPrefix+"-deadletters")
	c.Holder = cmp.Or(c.Holder, "monitor")
	c.OrphanAfter = cmp.Or(c.OrphanAfter, 5*time.Minute)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Every = cmp.Or(c.Every, time.Second)
	if c.PublishesRead == nil {
		c.PublishesRead = func(string) lifecycle.Micros { return always }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func (c Config) now() lifecycle.Micros { return lifecycle.MicrosOf(c.Now()) }
