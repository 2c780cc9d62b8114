package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/pull"
)

// WorkerConfig is what a [Worker] needs.
type WorkerConfig struct {
	JetStream jetstream.JetStream    // Required.
	Contract  Contract               // Required.
	Agent     string                 // Required.
	Records   Records                // Required. Where completions are recorded.
	Reserve   Reservations           // Optional; default none. Of the same store as Records: a task is then reserved before it is executed.
	Handle    Handler                // Required.
	Timing    Timing                 // Optional; default [DefaultTiming].
	Reporter  *Reporter              // Optional; default none. Tells claims, completions, failures and caught duplicates.
	Answered  func(Delivery, Answer) // Optional. Called after each answer to the broker, heartbeats included, for counting; it must not block.
	NakDelay  time.Duration          // Optional; default 2 s. The wait after a failure, and while the records cannot be asked.
	Retention time.Duration          // Optional; default [RecordRetention]. How long a completion is to be remembered.
	Now       func() time.Time       // Optional; default time.Now.
	Logger    *slog.Logger           // Optional; default discards.
}

// Answer is what a worker says to the broker about a delivery.
type Answer string

// The answers.
const (
	AnswerAck       Answer = "+ACK"
	AnswerNak       Answer = "-NAK"
	AnswerTerm      Answer = "+TERM"
	AnswerHeartbeat Answer = "+WPI"
)

// Worker takes the tasks of one agent, one at a time. For each it asks the records first, so that a task that completed is not
// executed again; heartbeats while it works; and records the completion before it acknowledges. Several workers of one agent may
// run, in one process or many. With reservations a task is executed by one of them at a time, and one that came late is refused when
// it wants to record: see deliver_reserved.go.
type Worker struct {
	cfg      WorkerConfig
	lease    string // Owner as told in reports.
	consumer jetstream.Consumer
}

// NewWorker checks the configuration. It starts nothing.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if cfg.JetStream == nil || cfg.Records == nil || cfg.Handle == nil {
		return nil, errors.New("worker: JetStream, Records and Handle are required")
	}
	if err := cfg.Contract.Validate(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	if !ValidToken(cfg.Agent) {
		return nil, fmt.Errorf("worker: agent %q cannot be part of a subject", cfg.Agent)
	}
	if cfg.Timing.MaxDeliver == 0 {
		cfg.Timing = DefaultTiming()
	}
	if cfg.NakDelay <= 0 {
		cfg.NakDelay = 2 * time.Second
	}
	if cfg.Retention <= 0 {
		cfg.Retention = RecordRetention
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Worker{cfg: cfg, lease: cfg.Agent + "/" + Key(fmt.Sprint(cfg.Now().UnixNano()))[:6]}, nil
}

const (
	pullExpiry    = 5 * time.Second // Also how long a worker waits that lost its connection while it asked.
	errorPause    = time.Second
	settleTimeout = 5 * time.Second
)

// Run works until the context ends, then returns nil, after the delivery in hand has been answered. It opens the consumer unless
// [Worker.Open] did, and again whenever it disappears. It errors only where the consumer was never opened and cannot be.
func (w *Worker) Run(ctx context.Context) error {
	if w.consumer == nil {
		if err := w.Open(ctx); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		err := w.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		w.cfg.Logger.Warn("tasks could not be fetched", "agent", w.cfg.Agent, "error", err)
		pause(ctx, errorPause)
		if err := w.Open(ctx); err != nil {
			w.cfg.Logger.Warn("the consumer of the worker could not be opened", "agent", w.cfg.Agent, "error", err)
		}
	}
	return nil
}

// Open creates the agent's durable consumer where it is missing, and never changes one that exists. It errors when there is no such
// consumer and none can be created.
func (w *Worker) Open(ctx context.Context) error {
	consumer, err := w.cfg.JetStream.Consumer(ctx, StreamTasks, WorkerName(w.cfg.Agent))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = w.cfg.JetStream.CreateConsumer(ctx, StreamTasks, w.cfg.Contract.Worker(w.cfg.Agent, w.cfg.Timing))
	}
	if err != nil {
		return fmt.Errorf("open worker of %s: %w", w.cfg.Agent, err)
	}
	w.consumer = consumer
	return nil
}

// session takes tasks until the consumer fails or the context ends. A task that arrives while it ends is still handled, so that
// stopping never looks like a crash.
func (w *Worker) session(ctx context.Context) error {
	for ctx.Err() == nil {
		tasks, err := pull.Start(w.cfg.JetStream, w.consumer, pull.Request{Batch: 1, Expires: pullExpiry})
		if err != nil {
			return err
		}
		ended := context.AfterFunc(ctx, tasks.End)
		for msg := range tasks.Messages {
			w.handle(ctx, taken{msg})
		}
		ended()
		if err := tasks.Err(); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
