package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"fleetglass/fleet"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// Config is what the demo needs. Its streams and the bucket of records must exist.
type Config struct {
	JetStream jetstream.JetStream // Required.
	Contract  fleet.Contract      // Optional; default prefix [fleet.DefaultPrefix].
	Seed      uint64              // Optional; default 0. Decides everything that happens.
	Rate      float64             // Optional; default 1.5. Tasks a second.
	Backlog   int                 // Optional; default 60. Tasks published at once into an empty stream, so that there is a history; negative: none.
	Tasks     int                 // Optional; default 0: endless. How many tasks to publish; the workers go on.
	Scale     float64             // Optional; default 1. Stretches every wait and every piece of work; below 1 the story is faster.
	Token     string              // Optional; with which the CEO agent calls the API about dead letters that it is told of.
	Now       func() time.Time    // Optional; default time.Now.
	Noted     func(Note)          // Optional. Called for everything that enters the ledger, as it happens, one at a time; it must not block.
	Logger    *slog.Logger        // Optional; default discards.
}

const (
	defaultRate    = 1.5
	defaultBacklog = 60
	ledgerLimit    = 10_000
	// backlogPace is how many tasks a second of the backlog are published, and backlogSpeed how much faster they are worked.
	backlogPace  = 25
	backlogSpeed = 5
)

// Demo is the fleet of the demonstration.
type Demo struct {
	cfg       Config
	timing    fleet.Timing
	ledger    *ledger
	publisher *fleet.Publisher
	desk      desk // Of the CEO agent.
	first     int  // The number of the first task of this run.
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Demo, error) {
	if cfg.JetStream == nil {
		return nil, errors.New("demo: JetStream is required")
	}
	if cfg.Contract.Prefix == "" {
		cfg.Contract.Prefix = fleet.DefaultPrefix
	}
	if cfg.Rate <= 0 {
		cfg.Rate = defaultRate
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = defaultBacklog
	}
	if cfg.Scale <= 0 {
		cfg.Scale = 1
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	publisher, err := fleet.NewPublisher(fleet.PublisherConfig{JetStream: cfg.JetStream, Contract: cfg.Contract, Now: cfg.Now})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	d := &Demo{cfg: cfg, ledger: newLedger(ledgerLimit, cfg.Noted), publisher: publisher}
	d.timing = d.scaledTiming()
	d.desk = desk{http: &http.Client{Timeout: 10 * time.Second}, token: cfg.Token, scale: d.scaled}
	return d, nil
}

// Heartbeat is how often agents of the demonstration say that they are still working, at scale 1.
const Heartbeat = 500 * time.Millisecond

// scaledTiming is that of SPEC 1 with minutes become seconds.
func (d *Demo) scaledTiming() fleet.Timing {
	return fleet.Timing{
		AckWait: d.scaled(8 * time.Second), MaxDeliver: 3, Heartbeat: d.scaled(Heartbeat),
		Backoff: []time.Duration{d.scaled(2 * time.Second), d.scaled(4 * time.Second), d.scaled(8 * time.Second)},
	}
}

func (d *Demo) scaled(t time.Duration) time.Duration { return time.Duration(float64(t) * d.cfg.Scale) }

// Ledger is the truth about the newest tasks of this run (at most 10,000), in order of their numbers. The copy belongs to the caller.
func (d *Demo) Ledger() []Entry { return d.ledger.list() }

// Run publishes and works until the context ends, then returns nil. A second run on the same streams goes on with the next number. It
// errors when the streams or the bucket are missing.
func (d *Demo) Run(ctx context.Context) error {
	workers, err := d.workers(ctx)
	if err == nil {
		d.first, err = d.next(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	g, working := errgroup.WithContext(ctx)
	for _, w := range workers {
		g.Go(func() error { return w.Run(working) })
	}
	g.Go(func() error { return d.publish(working) })
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

// next is a number that no task in the stream has: every task of the demo took one sequence there at least.
func (d *Demo) next(ctx context.Context) (int, error) {
	stream, err := d.cfg.JetStream.Stream(ctx, fleet.StreamTasks)
	if err != nil {
		return 0, err
	}
	return int(stream.CachedInfo().State.LastSeq), nil
}

func (d *Demo) publish(ctx context.Context) error {
	for n := d.first; d.cfg.Tasks == 0 || n < d.first+d.cfg.Tasks; n++ {
		s := Tell(d.cfg.Seed, n)
		wait := time.Duration(float64(s.Pause) / d.cfg.Rate)
		if d.inBacklog(n) {
			wait = time.Second / backlogPace
		}
		if !sleep(ctx, wait) {
			break
		}
		d.send(ctx, s)
	}
	return nil
}

// inBacklog reports whether task n is one of those that fill an empty stream.
func (d *Demo) inBacklog(n int) bool { return n < d.cfg.Backlog }

// send publishes a task as often as its story says. A publish that failed is repeated: the id makes that harmless.
func (d *Demo) send(ctx context.Context, s Story) {
	task := s.task(d.cfg.Now())
	for sent := 0; sent < s.Publishes; {
		receipt, err := d.publisher.Publish(ctx, task)
		if err != nil {
			d.cfg.Logger.Warn("a task of the demonstration could not be published", "task", s.ID, "error", err)
			if !sleep(ctx, time.Second) {
				return
			}
			continue
		}
		sent++
		what := NotePublished
		if receipt.Duplicate {
			what = NoteDuplicate
		}
		d.ledger.edit(s, Note{What: what, Seq: receipt.Seq}, func(e *Entry) {
			e.Seq = receipt.Seq
			e.Publishes++
			if receipt.Duplicate {
				e.Duplicates++
			}
			if s.Fate == FateOrphan {
				e.End = EndOrphaned
			}
		})
	}
}

// sleep reports whether the time passed before the context ended.
func sleep(ctx context.Context, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
