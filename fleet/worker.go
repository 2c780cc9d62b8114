package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
)

// Delivery is one attempt at one task, as a handler sees it.
type Delivery struct {
	Task    Task
	Key     lifecycle.MessageKey
	Subject string
	Body    []byte
	Attempt int // From 1.
}

// Handler does the work of a task. It returns a short summary of the result, or an error that says what is to become of the task:
// one made by [Terminate] ends it, one made by [Delay] hands it back for that long, [ErrAbandoned] leaves the delivery without an
// answer, and any other error hands it back after the worker's NakDelay. The context ends when the worker stops.
type Handler func(ctx context.Context, d Delivery) (summary string, err error)

// ErrAbandoned makes the worker walk away from a delivery without an answer, as a crash would, and as a worker must that knows it has
// lost its lease. The broker hands the task out again after the wait.
var ErrAbandoned = errors.New("delivery abandoned")

type terminate struct{ reason string }

func (e *terminate) Error() string { return "terminated: " + e.reason }

// Terminate is the error by which a handler says that no attempt can succeed.
func Terminate(reason string) error { return &terminate{reason} }

type delay struct {
	wait  time.Duration
	cause error
}

func (e *delay) Error() string { return fmt.Sprintf("again in %s: %v", e.wait, e.cause) }
func (e *delay) Unwrap() error { return e.cause }

// Delay is the error by which a handler asks for another attempt after a wait.
func Delay(wait time.Duration, cause error) error { return &delay{wait, cause} }

// WorkerConfig is what a [Worker] needs.
type WorkerConfig struct {
	JetStream jetstream.JetStream // Required.
	Contract  Contract            // Required.
	Agent     string              // Required.
	Records   Records             // Required. Where completions are recorded.
	Handle    Handler             // Required.
	Timing    Timing              // Optional; default [DefaultTiming].
	Reporter  *Reporter           // Optional; default none. Tells claims, completions, failures and caught duplicates.
	NakDelay  time.Duration       // Optional; default 2 s. The wait after a failure, and while the records cannot be asked.
	Retention time.Duration       // Optional; default 72 h. How long a completion is to be remembered.
	Now       func() time.Time    // Optional; default time.Now.
	Logger    *slog.Logger        // Optional; default discards.
}

// Worker takes the tasks of one agent, one at a time. For each it asks the records first, so that a task that completed is not
// executed again; heartbeats while it works; and records the completion before it acknowledges. Several workers of one agent may
// run, in one process or many.
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
		cfg.Retention = 72 * time.Hour
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
	pullWait      = 5 * time.Second
	errorPause    = time.Second
	settleTimeout = 5 * time.Second
)

// Run works until the context ends, then returns nil. It creates the agent's durable consumer where it is missing, and never changes
// one that exists. It errors when there is no such consumer and none can be created.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.open(ctx); err != nil {
		return fmt.Errorf("worker %s: %w", w.cfg.Agent, err)
	}
	for ctx.Err() == nil {
		msg, err := w.next(ctx)
		switch {
		case err == nil:
			w.handle(ctx, msg)
		case errors.Is(err, jetstream.ErrNoMessages) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		default:
			w.cfg.Logger.Warn("take task", "agent", w.cfg.Agent, "error", err)
			pause(ctx, errorPause)
		}
	}
	return nil
}

func (w *Worker) open(ctx context.Context) error {
	consumer, err := w.cfg.JetStream.Consumer(ctx, StreamTasks, WorkerName(w.cfg.Agent))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = w.cfg.JetStream.CreateConsumer(ctx, StreamTasks, w.cfg.Contract.Worker(w.cfg.Agent, w.cfg.Timing))
	}
	w.consumer = consumer
	return err
}

func (w *Worker) next(ctx context.Context) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	return w.consumer.Next(jetstream.FetchContext(ctx))
}

func (w *Worker) handle(ctx context.Context, msg jetstream.Msg) {
	d, err := w.delivery(msg)
	if err != nil {
		w.cfg.Logger.Error("read delivery", "agent", w.cfg.Agent, "error", err)
		return
	}
	log := w.cfg.Logger.With("agent", w.cfg.Agent, "task", d.Task.ID, "attempt", d.Attempt)
	found, err := w.cfg.Records.Find(ctx, RecordID(d.Task))
	switch {
	case err != nil:
		log.Warn("idempotency record cannot be asked, not executing", "error", err)
		w.answer(log, msg.NakWithDelay(w.cfg.NakDelay))
	case found != nil:
		w.repeat(ctx, log, msg, d, *found)
	default:
		w.execute(ctx, log, msg, d)
	}
}

func (w *Worker) delivery(msg jetstream.Msg) (Delivery, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Delivery{}, err
	}
	stream := w.cfg.Contract.StreamID(meta.Stream)
	stream.Domain = firstNonEmpty(meta.Domain, stream.Domain)
	key := lifecycle.MessageKey{Stream: stream, Seq: meta.Sequence.Stream}
	return Delivery{
		Task: ReadTask(msg.Headers(), msg.Data(), key), Key: key, Subject: msg.Subject(), Body: msg.Data(), Attempt: int(meta.NumDelivered),
	}, nil
}

// repeat ends a task that completed before: nothing is executed. The same task with another payload is refused, never merged.
func (w *Worker) repeat(ctx context.Context, log *slog.Logger, msg jetstream.Msg, d Delivery, r Record) {
	if r.PayloadHash != "" && r.PayloadHash != d.Task.PayloadHash {
		reason := "key_conflict: this task id completed with another payload"
		w.report(ctx, log, d, lifecycle.ReportFailed, ReportData{Status: "failed", Reason: reason})
		w.answer(log, msg.TermWithReason(reason))
		return
	}
	w.report(ctx, log, d, lifecycle.ReportDuplicateCaught, ReportData{Status: "completed", CompletedAt: Instant(r.CompletedAt)})
	w.answer(log, msg.Ack())
}

func (w *Worker) execute(ctx context.Context, log *slog.Logger, msg jetstream.Msg, d Delivery) {
	w.report(ctx, log, d, lifecycle.ReportClaimed, ReportData{Status: "in_flight"})
	summary, err := w.work(ctx, log, msg, d)
	if err != nil {
		w.fail(ctx, log, msg, d, err)
		return
	}
	// What is done must be recorded, also when the worker is stopping.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	now := lifecycle.MicrosOf(w.cfg.Now())
	err = w.cfg.Records.Complete(ctx, Record{
		TaskID: d.Task.ID, IdempotencyKey: d.Task.IdempotencyKey, AgentID: w.cfg.Agent, CompletedAt: now, ResultSummary: summary, NatsStreamSeq: d.Key.Seq,
		ExpiresAt: now.Add(w.cfg.Retention), PayloadHash: d.Task.PayloadHash,
	})
	if err != nil && !errors.Is(err, ErrRecorded) {
		w.fail(ctx, log, msg, d, err)
		return
	}
	w.report(ctx, log, d, lifecycle.ReportCompleted, ReportData{Status: "completed", ResultRef: summary, CompletedAt: Instant(now)})
	w.answer(log, msg.Ack())
}

// work runs the handler and heartbeats meanwhile.
func (w *Worker) work(ctx context.Context, log *slog.Logger, msg jetstream.Msg, d Delivery) (string, error) {
	beats, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.heartbeat(beats, log, msg)
	}()
	summary, err := w.cfg.Handle(ctx, d)
	stop()
	<-done // No heartbeat may follow the answer.
	return summary, err
}

func (w *Worker) heartbeat(ctx context.Context, log *slog.Logger, msg jetstream.Msg) {
	if w.cfg.Timing.Heartbeat <= 0 {
		return
	}
	ticker := time.NewTicker(w.cfg.Timing.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.answer(log, msg.InProgress())
		}
	}
}

func (w *Worker) fail(ctx context.Context, log *slog.Logger, msg jetstream.Msg, d Delivery, err error) {
	var end *terminate
	var later *delay
	switch {
	case errors.Is(err, ErrAbandoned):
	case errors.As(err, &end):
		w.report(ctx, log, d, lifecycle.ReportFailed, ReportData{Status: "failed", Reason: end.reason})
		w.answer(log, msg.TermWithReason(end.reason))
	case ctx.Err() != nil: // Stopping: another worker may take it at once.
		w.answer(log, msg.Nak())
	case errors.As(err, &later):
		w.report(ctx, log, d, lifecycle.ReportFailed, ReportData{Status: "failed", Reason: later.cause.Error()})
		w.answer(log, msg.NakWithDelay(later.wait))
	default:
		w.report(ctx, log, d, lifecycle.ReportFailed, ReportData{Status: "failed", Reason: err.Error()})
		w.answer(log, msg.NakWithDelay(w.cfg.NakDelay))
	}
}

func (w *Worker) answer(log *slog.Logger, err error) {
	if err != nil {
		log.Warn("answer delivery", "error", err)
	}
}

// report adds the lease to what is said. The attempt is the fencing token: the broker raises it with every new holder.
func (w *Worker) report(ctx context.Context, log *slog.Logger, d Delivery, kind lifecycle.Kind, data ReportData) {
	if w.cfg.Reporter == nil {
		return
	}
	now := w.cfg.Now()
	data.MessageID, data.Attempt, data.IdempotencyKey, data.InputHash = d.Task.MsgID, d.Attempt, d.Task.IdempotencyKey, d.Task.PayloadHash
	data.LeaseOwner, data.LeaseVersion = w.lease, uint64(d.Attempt)
	if kind == lifecycle.ReportClaimed {
		data.LeaseExpiresAt = Instant(lifecycle.MicrosOf(now.Add(w.cfg.Timing.waitOf(d.Attempt))))
	}
	if err := w.cfg.Reporter.Report(ctx, Report{Kind: kind, TaskID: d.Task.ID, At: now, Data: data}); err != nil {
		log.Warn("report", "kind", kind, "error", err)
	}
}

// waitOf is the wait in force for an attempt: backoff overrides the ack wait, and its last step repeats.
func (t Timing) waitOf(attempt int) time.Duration {
	if len(t.Backoff) == 0 {
		return t.AckWait
	}
	return t.Backoff[min(max(attempt, 1), len(t.Backoff))-1]
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
