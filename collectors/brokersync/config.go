package brokersync

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Reader is what the synchronizer asks the store.
type Reader interface {
	lifecycle.OpenReader
	// Consumers returns the last known state of every consumer, ordered by stream and name.
	Consumers(ctx context.Context) ([]lifecycle.ConsumerState, error)
	// ListTasks returns the tasks that f selects, in the order of f.Sort, ties broken by task id.
	ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error)
	// Task returns what is known of the task, or ErrNotFound.
	Task(ctx context.Context, id string) (lifecycle.TaskRecord, error)
	// Gaps returns the gaps that overlap [from, to), latest first, at most limit.
	Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error)
	// Watermark returns the position of a source, empty when it has none.
	Watermark(ctx context.Context, source string) (string, error)
}

// Config is what the synchronizer works with.
type Config struct {
	JetStream    jetstream.JetStream             // Required. Reaches the observed streams.
	Capture      jetstream.JetStream             // Optional; default JetStream. Reaches the capture streams.
	Appender     lifecycle.Appender              // Required.
	Reader       Reader                          // Required. The store that Appender writes to.
	Incarnations *collectors.IncarnationResolver // Required.
	Contract     fleet.Contract                  // Required.
	// Stored decodes a republished message, as the collector of publishes does: a message whose publish line was lost is read from the
	// stream and gives the same facts. Required.
	Stored collectors.Decoder

	Streams  []string      // Optional; default TASKS. The streams to observe; Incarnations must watch them too.
	Durable  string        // Optional; default as in [collectors.Config]. The prefix of the collectors' durables.
	Shards   int           // Optional; default 1. Into how many shards the capture streams are cut.
	Interval time.Duration // Optional; default 1 s. The pause between polls.
	Waits    Waits         // Optional; default 2 s, 2 s and 5 s.

	NotStored time.Duration // Optional; default 10 s. How old a publish attempt is before it is called not stored.
	PageSize  int           // Optional; default 1000. Rows asked of the store, and messages read from the broker, at a time.
	// Details is the number of deleted sequences up to which the broker is asked to list them. Beyond it the stream is walked a page at a
	// time; a negative number always walks. Optional; default 50,000, which is about 350 KB and 6 ms.
	Details int
	Clock   *Clock           // Optional. Goes as the broker's clock does from the first poll on.
	Logger  *slog.Logger     // Optional; default discards.
	Now     func() time.Time // Optional; default time.Now. For health only: all rules use the broker's time.
}

func (c Config) withDefaults() (Config, error) {
	if c.JetStream == nil || c.Appender == nil || c.Reader == nil || c.Incarnations == nil || c.Stored == nil {
		return c, errors.New("JetStream, Appender, Reader, Incarnations and Stored are required")
	}
	if err := c.Contract.Validate(); err != nil {
		return c, err
	}
	if c.Capture == nil {
		c.Capture = c.JetStream
	}
	if len(c.Streams) == 0 {
		c.Streams = []string{fleet.StreamTasks}
	}
	for d, standard := range map[*time.Duration]time.Duration{
		&c.Interval: time.Second, &c.NotStored: 10 * time.Second,
		&c.Waits.Refute: 2 * time.Second, &c.Waits.Vanish: 2 * time.Second, &c.Waits.Orphan: 5 * time.Second,
	} {
		if *d <= 0 {
			*d = standard
		}
	}
	for n, standard := range map[*int]int{&c.PageSize: 1000, &c.Details: 50_000} {
		if *n == 0 {
			*n = standard
		}
	}
	if c.Clock == nil {
		c.Clock = NewClock()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}
