package tasktraces

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Config says what is told to whom.
type Config struct {
	Queue    lifecycle.TraceQueue                                          // Required.
	Trace    func(ctx context.Context, id string) (lifecycle.Trace, error) // Required. Secrets are hidden in what it returns.
	Exporter sdktrace.SpanExporter                                         // Required. Closed by its owner.
	Resource *resource.Resource                                            // Required. Who the spans are of.
	Every    time.Duration                                                 // Optional; how often is looked for tasks that ended, default 1 s.
	Lease    time.Duration                                                 // Optional; how long one replica sends before another may, default 30 s.
	Batch    int                                                           // Optional; tasks at once, default 100. Fewer after a failure.
	Most     time.Duration                                                 // Optional; the longest pause after failures, default 1 min.
	GiveUp   time.Duration                                                 // Optional; how long a task waits for a receiver that fails, default 24 h.
	Now      func() time.Time                                              // Optional; default time.Now.
	Log      *slog.Logger                                                  // Optional; default discards.
	Dropped  func(tasks int)                                               // Optional; called with how many tasks were given up.
}

// Teller tells a receiver of tasks that ended.
type Teller struct {
	cfg    Config
	holder string
	spans  *collected
	tracer trace.Tracer

	mine  bool // This replica tells.
	batch int
	fails int
	next  time.Time // Not before this.

	mu   sync.Mutex
	part health.Part
}

// New checks the configuration. It connects to nothing.
func New(cfg Config) (*Teller, error) {
	if cfg.Queue == nil || cfg.Trace == nil || cfg.Exporter == nil || cfg.Resource == nil {
		return nil, errors.New("tasktraces: Config.Queue, Trace, Exporter and Resource are required")
	}
	for to, value := range map[*time.Duration]time.Duration{&cfg.Every: time.Second, &cfg.Lease: 30 * time.Second, &cfg.Most: time.Minute, &cfg.GiveUp: 24 * time.Hour} {
		if *to == 0 {
			*to = value
		}
	}
	if cfg.Batch == 0 {
		cfg.Batch = 100
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Dropped == nil {
		cfg.Dropped = func(int) {}
	}
	spans := &collected{}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithIDGenerator(generator{}),
		sdktrace.WithResource(cfg.Resource), sdktrace.WithSpanProcessor(spans))
	return &Teller{
		cfg: cfg, holder: rand.Text(), spans: spans, tracer: provider.Tracer("fleetglass"), batch: cfg.Batch,
		part: health.Part{Name: "task_traces", Kind: "receiver", State: health.OK},
	}, nil
}

// Health says whether the receiver takes traces. One that fails is behind, not down: Fleetglass itself works.
func (t *Teller) Health() []health.Part {
	t.mu.Lock()
	defer t.mu.Unlock()
	return []health.Part{t.part}
}

// Run tells until ctx is done, leaves the rest to another replica, and returns nil.
func (t *Teller) Run(ctx context.Context) error {
	defer t.leave(ctx)
	tick := time.NewTicker(t.cfg.Every)
	defer tick.Stop()
	for {
		t.report(ctx, t.turn(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// leave ends the turn of this replica, if it has it.
func (t *Teller) leave(ctx context.Context) {
	if !t.mine {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	now := lifecycle.MicrosOf(t.cfg.Now())
	if _, _, err := t.cfg.Queue.ClaimTraces(ctx, lifecycle.TraceClaim{Holder: t.holder, Now: now, Until: now}); err != nil {
		t.cfg.Log.DebugContext(ctx, "another replica tells of tasks only when the lease of this one has ended", "error", err)
	}
}

// turn tells what is due, where this replica is the one who tells.
func (t *Teller) turn(ctx context.Context) error {
	begin := t.cfg.Now()
	if begin.Before(t.next) {
		return nil
	}
	now := lifecycle.MicrosOf(begin)
	token, mine, err := t.cfg.Queue.ClaimTraces(ctx, lifecycle.TraceClaim{Holder: t.holder, Now: now, Until: now.Add(t.cfg.Lease)})
	if err != nil {
		return err
	}
	if t.mine = mine; !mine {
		return nil
	}
	for ctx.Err() == nil && t.cfg.Now().Sub(begin) < t.cfg.Lease/3 {
		due, err := t.cfg.Queue.DueTraces(ctx, lifecycle.MicrosOf(t.cfg.Now()), max(t.batch, 2))
		if err != nil || len(due) == 0 {
			return err
		}
		alone := t.batch == 1 && len(due) > 1
		err = t.tellBatch(ctx, token, due[:min(t.batch, len(due))])
		if err != nil && alone && t.tellBatch(ctx, token, due[1:2]) == nil {
			// It takes another one: this one is refused for what it is, or the receiver was away until just now.
			if err = t.tellBatch(ctx, token, due[:1]); err != nil {
				err = t.drop(ctx, token, due[:1])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tellBatch tells of some tasks and notes it. Where that fails, what has waited for too long is given up, and fewer are told the next time: perhaps
// they were too large together.
func (t *Teller) tellBatch(ctx context.Context, token uint64, due []lifecycle.DueTrace) error {
	told, err := t.prepare(ctx, due)
	if err != nil {
		t.spans.take()
		return err
	}
	failed := t.send(ctx)
	if ctx.Err() != nil {
		return nil // The program stops: what was sent meanwhile is sent again, as the same spans.
	}
	if failed != nil {
		t.batch = max(1, t.batch/2)
		return errors.Join(failed, t.drop(ctx, token, t.old(due)))
	}
	t.batch = min(t.cfg.Batch, 2*t.batch)
	return t.note(ctx, token, told)
}

// note notes what needs not be told again. Where somebody else tells since, it may be told twice, as the same spans.
func (t *Teller) note(ctx context.Context, token uint64, told []lifecycle.ToldTrace) error {
	err := t.cfg.Queue.TracesTold(ctx, token, told)
	if errors.Is(err, lifecycle.ErrTakenOver) {
		return nil
	}
	return err
}

// drop gives tasks up, and says so.
func (t *Teller) drop(ctx context.Context, token uint64, tasks []lifecycle.DueTrace) error {
	if len(tasks) == 0 {
		return nil
	}
	var told []lifecycle.ToldTrace
	for _, d := range tasks {
		told = append(told, lifecycle.ToldTrace{Key: d.Key, Ended: d.Ended})
	}
	t.cfg.Dropped(len(tasks))
	t.cfg.Log.WarnContext(ctx, "tasks are given up: the receiver of traces refused them, or failed for too long", "tasks", len(tasks))
	return t.note(ctx, token, told)
}

// prepare makes the spans of tasks. One that is open again is not told, and one that is gone never is.
func (t *Teller) prepare(ctx context.Context, due []lifecycle.DueTrace) (told []lifecycle.ToldTrace, err error) {
	for _, d := range due {
		task, err := t.cfg.Trace(ctx, d.TaskID)
		if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
			return nil, fmt.Errorf("read a task: %w", err)
		}
		done := lifecycle.ToldTrace{Key: d.Key, Ended: d.Ended, Undone: err == nil && task.Summary.State.Open()}
		if err == nil && !done.Undone {
			tell(t.tracer, task, d.Told)
		}
		told = append(told, done)
	}
	return told, nil
}

// send sends the spans at hand. The exporter bounds how long that takes.
func (t *Teller) send(ctx context.Context) error {
	spans := t.spans.take()
	if len(spans) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Lease/3)
	defer cancel()
	return t.cfg.Exporter.ExportSpans(ctx, spans)
}

// old are the tasks that have waited for too long.
func (t *Teller) old(due []lifecycle.DueTrace) []lifecycle.DueTrace {
	limit := lifecycle.MicrosOf(t.cfg.Now().Add(-t.cfg.GiveUp))
	return slices.DeleteFunc(slices.Clone(due), func(d lifecycle.DueTrace) bool { return d.Due >= limit })
}

// report notes how it went. After failures there are pauses, each twice as long as the one before.
func (t *Teller) report(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	now := t.cfg.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		if !now.Before(t.next) {
			t.fails = 0
			t.part.State, t.part.Detail, t.part.LastAt = health.OK, "", now
		}
		return
	}
	t.fails++
	t.next = now.Add(min(t.cfg.Every<<min(t.fails-1, 10), t.cfg.Most))
	t.part.State, t.part.Detail = health.Behind, "the receiver of traces does not take the traces of tasks"
	if t.fails == 1 {
		t.cfg.Log.WarnContext(ctx, "traces of tasks wait for their receiver", "error", err)
	}
}
