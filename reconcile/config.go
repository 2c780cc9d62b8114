package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Store is what the runner asks of the store.
type Store interface {
	RunStore
	BalanceReader
	// MessagesIn returns the facts of the stored messages of a stream with from <= sequence <= to, in sequence order, at most limit.
	MessagesIn(ctx context.Context, stream lifecycle.StreamID, from, to uint64, limit int) ([]lifecycle.MessageFacts, error)
	// Gaps returns the gaps that overlap [from, to), latest first, at most limit.
	Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error)
	// Watermark returns the position of a source, empty when it has none.
	Watermark(ctx context.Context, source string) (string, error)
}

// Stock is what one stream held at one moment.
type Stock struct {
	Stream  lifecycle.StreamID
	At      lifecycle.Micros // By the broker's clock. Everything that was captured about the stream by then is in the store.
	LastSeq uint64
	LastAt  lifecycle.Micros // When the last message was stored.
	MaxAge  time.Duration    // Zero for none.
	Kept    bool             // It is no work queue: messages stay after an acknowledgement.
	Present StreamPresence   // What it held.
	Why     string           // What was not looked at, in a sentence; empty for nothing.
}

// Config is what the runner works with.
type Config struct {
	Store  Store           // Required.
	Health health.Reporter // Optional. The collectors that a report waits for.
	// Stock asks what each live stream holds; nil where there is no broker. It may block until the store has caught up with its answers.
	Stock func(ctx context.Context) ([]Stock, error)
	// Records tells which of the records exist now, in the order of the references; nil where no records are kept.
	Records func(ctx context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error)
	// RecordsKept is how long records are kept that state no end themselves, zero for ever; nil, or not known, leaves those out of the
	// check.
	RecordsKept func(ctx context.Context) (kept time.Duration, known bool)
	// AnswerSources are the capture streams, as gaps name them, without whose lines an answer to a message is not seen. Optional;
	// default all.
	AnswerSources []string
	// ReportSources are those without whose lines a reported completion is not seen. Optional; default all.
	ReportSources []string

	Every        time.Duration // Optional; zero makes none by itself at set times. Such as 168 h.
	Retention    time.Duration // Optional; default no limit. How long the store keeps what has ended.
	Grace        time.Duration // Optional; default 1 min. How far capture may lag behind: what is younger proves nothing. Negative for none.
	Patience     time.Duration // Optional; default 3 min. How long a report waits for collectors that are behind.
	RestartDelay time.Duration // Optional; default Grace and 30 s: the report then covers the moment of the start. The pause between the two.
	Keep         int           // Optional; default 500. Reports kept.
	Page         int           // Optional; default 500. Messages read at once.
	RecordLimit  int           // Optional; default 100,000. Records looked for in one report.
	Alone        bool          // No other program works on the store: what is unfinished at the start was left by a crash.

	Logger *slog.Logger     // Optional; default discards.
	Now    func() time.Time // Optional; default time.Now.
}

func (c Config) withDefaults() (Config, error) {
	if c.Store == nil {
		return c, errors.New("reconcile: Store is required")
	}
	if c.Every < 0 {
		return c, errors.New("reconcile: Every is negative")
	}
	for d, standard := range map[*time.Duration]time.Duration{&c.Grace: time.Minute, &c.Patience: 3 * time.Minute} {
		if *d == 0 {
			*d = standard
		}
		*d = max(*d, 0)
	}
	if c.RestartDelay == 0 {
		c.RestartDelay = c.Grace + 30*time.Second
	}
	for n, standard := range map[*int]int{&c.Keep: 500, &c.Page: 500, &c.RecordLimit: 100_000} {
		if *n <= 0 {
			*n = standard
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

func (c Config) now() lifecycle.Micros { return lifecycle.MicrosOf(c.Now()) }

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
