package tasktraces

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

const (
	patience   = 20 * time.Second
	callerID   = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan = "00f067aa0ba902b7"
)

// fleet is a store whose tasks a test writes, and a receiver that is told.
type fleet struct {
	t        *testing.T
	store    *sqlite.Store
	receiver *testkit.OTLP
	lines    uint64
	base     lifecycle.Micros
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db"), TaskTraces: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &fleet{t: t, store: store, receiver: testkit.Receiver(t), base: lifecycle.MicrosOf(time.Now().Add(-time.Hour).Truncate(time.Second))}
}

// say stores what somebody said of a message, so many seconds after the begin.
func (f *fleet) say(seconds int, kind lifecycle.Kind, task string, seq uint64, attempt int, d lifecycle.Detail) {
	f.t.Helper()
	f.lines++
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("OBS", strconv.FormatUint(f.lines, 10)), At: f.base.Add(time.Duration(seconds) * time.Second), Kind: kind, Provenance: lifecycle.Observed,
		Source: "OBS", SourceSeq: f.lines, Agent: "cto", Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}, Attempt: attempt, Detail: d,
	}
	switch {
	case attempt > 0:
		e.Consumer, e.ConsumerSeq = "cto-task-worker", seq*100+uint64(attempt)
	case kind == lifecycle.Published:
		e.TaskID = task
	default:
		e.TaskID, e.Message, e.Provenance = task, lifecycle.MessageKey{}, lifecycle.Reported
	}
	if _, err := f.store.Append(f.t.Context(), lifecycle.Batch{Events: []lifecycle.Event{e}}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) publish(seconds int, task string, seq uint64, generation int, traceparent string) {
	f.t.Helper()
	f.say(seconds, lifecycle.Published, task, seq, 0, lifecycle.Detail{
		Naming:      lifecycle.Naming{MsgID: fmt.Sprint(task, generation), Type: "research", Subject: "genbrain.agents.cto.tasks.research"},
		Publication: lifecycle.Publication{Generation: generation, TraceParent: traceparent},
	})
}

func (f *fleet) deliver(seconds int, seq uint64, attempt int) {
	f.t.Helper()
	f.say(seconds, lifecycle.Delivered, "", seq, attempt, lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}})
}

// complete is a task that was done at once.
func (f *fleet) complete(task string, seq uint64) {
	f.t.Helper()
	f.publish(0, task, seq, 0, "")
	f.deliver(1, seq, 1)
	f.say(2, lifecycle.Acked, "", seq, 1, lifecycle.Detail{})
}

// noneDue waits until no trace is left to be told, so that nobody tells one again.
func (f *fleet) noneDue() {
	f.t.Helper()
	testkit.Eventually(f.t, patience, func() error {
		due, err := f.store.DueTraces(f.t.Context(), lifecycle.MicrosOf(time.Now()), 10)
		if err == nil && len(due) != 0 {
			err = fmt.Errorf("still due: %v", due)
		}
		return err
	})
}

// teller is ready to tell.
func (f *fleet) teller(change func(*Config)) *Teller {
	f.t.Helper()
	exporter, err := otlptracehttp.New(f.t.Context(), otlptracehttp.WithEndpointURL(f.receiver.URL+"/v1/traces"), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		f.t.Fatal(err)
	}
	cfg := Config{
		Queue: f.store, Exporter: exporter, Resource: resource.NewSchemaless(attribute.String("service.name", "fleet")), Every: time.Millisecond,
		Trace: func(ctx context.Context, id string) (lifecycle.Trace, error) {
			record, err := f.store.Task(ctx, id)
			return lifecycle.AssembleTrace(lifecycle.TraceInput{Record: record, Now: lifecycle.MicrosOf(time.Now())}), err
		},
	}
	if change != nil {
		change(&cfg)
	}
	teller, err := New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return teller
}

// run runs a teller until the test ends, or the returned function is called.
func (f *fleet) run(teller *Teller) (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = teller.Run(ctx) }()
	stop = func() { cancel(); <-done }
	f.t.Cleanup(stop)
	return stop
}

func (f *fleet) wait(spans int) []testkit.Span {
	f.t.Helper()
	testkit.Eventually(f.t, patience, func() error {
		if n := len(f.receiver.Spans()); n < spans {
			return fmt.Errorf("%d spans came, want %d", n, spans)
		}
		return nil
	})
	return f.receiver.Spans()
}

// waitDifferent waits for so many spans, each of which may come more than once, and refuses one more.
func (f *fleet) waitDifferent(spans int) {
	f.t.Helper()
	testkit.Eventually(f.t, patience, func() error {
		ids := map[string]bool{}
		for _, s := range f.receiver.Spans() {
			ids[string(s.GetSpanId())] = true
		}
		if len(ids) != spans {
			return fmt.Errorf("%d different spans came, want %d", len(ids), spans)
		}
		return nil
	})
}

// described is a span in words: name, trace, parent, seconds from begin to end, status, events.
func (f *fleet) described(s testkit.Span) string {
	seconds := func(nanos uint64) string { return fmt.Sprint((int64(nanos)/1000 - int64(f.base)) / 1e6) }
	text := fmt.Sprintf("%s %x %s-%s %s", s.GetName(), s.GetTraceId(), seconds(s.GetStartTimeUnixNano()), seconds(s.GetEndTimeUnixNano()), s.GetStatus().GetCode())
	for _, e := range s.GetEvents() {
		text += " " + e.GetName() + "@" + seconds(e.GetTimeUnixNano())
	}
	return text
}

func TestATaskContinuesTheTraceThatItWasPublishedIn(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.publish(0, "t", 1, 0, "00-"+callerID+"-"+callerSpan+"-01")
	f.deliver(1, 1, 1)
	f.say(3, lifecycle.Nacked, "", 1, 1, lifecycle.Detail{})
	f.deliver(5, 1, 2)
	f.say(6, lifecycle.ReportClaimed, "t", 0, 0, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "t0"}})
	f.say(9, lifecycle.Acked, "", 1, 2, lifecycle.Detail{})
	f.run(f.teller(nil))
	got := f.wait(3)
	for i, want := range []string{
		"task " + callerID + " 0-9 STATUS_CODE_OK", "attempt " + callerID + " 1-3 STATUS_CODE_ERROR delivered@1 naked@3 reported claimed@6",
		"attempt " + callerID + " 5-9 STATUS_CODE_OK delivered@5 acknowledged@9",
	} {
		if text := f.described(got[i]); text != want {
			t.Errorf("span %d: %s, want %s", i, text, want)
		}
	}
	task := got[0]
	if parent := fmt.Sprintf("%x", task.GetParentSpanId()); parent != callerSpan {
		t.Errorf("the task lies below %s, want %s", parent, callerSpan)
	}
	for _, attempt := range got[1:] {
		if string(attempt.GetParentSpanId()) != string(task.GetSpanId()) {
			t.Errorf("attempt below %x, want the task, %x", attempt.GetParentSpanId(), task.GetSpanId())
		}
	}
	if task.Service != "fleet" || task.Attribute("fleetglass.task.id") != "t" || task.Attribute("fleetglass.state") != "completed" {
		t.Errorf("span of the task: service %s, %v", task.Service, task.GetAttributes())
	}
}

func TestWhatIsNotKnownIsNotOK(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.publish(0, "t", 1, 0, "")
	f.deliver(1, 1, 1)
	f.say(9, lifecycle.Vanished, "", 1, 0, lifecycle.Detail{})
	f.lines++
	gone := lifecycle.Event{ID: lifecycle.NewEventID("OBS", "gone"), At: f.base.Add(9 * time.Second), Kind: lifecycle.Vanished, Provenance: lifecycle.Inferred, Source: "sync",
		Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1}}
	if _, err := f.store.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{gone}}); err != nil {
		t.Fatal(err)
	}
	f.run(f.teller(nil))
	for _, s := range f.wait(2) {
		if s.GetStatus().GetCode() != v1.Status_STATUS_CODE_UNSET {
			t.Errorf("%s has status %v, want none", f.described(s), s.GetStatus())
		}
	}
	if s := f.receiver.Spans()[0]; s.Attribute("fleetglass.state") != "outcome_unknown" {
		t.Errorf("state %q, want outcome_unknown", s.Attribute("fleetglass.state"))
	}
}

func TestForgedTextsHarmNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	forged := []string{"00-" + strings.Repeat("0", 32) + "-" + callerSpan + "-01", "ff-" + callerID + "-" + callerSpan + "-01", "\xff\x00" + strings.Repeat("x", 100_000)}
	for i, traceparent := range forged {
		task := fmt.Sprint("t\xff\x00", strings.Repeat("é", 400), i)
		f.publish(0, task, uint64(i+1), 0, traceparent)
		f.deliver(1, uint64(i+1), 1)
		f.say(2, lifecycle.Terminated, "", uint64(i+1), 1, lifecycle.Detail{Ending: lifecycle.Ending{Reason: strings.Repeat("\xff", 10_000)}})
	}
	f.run(f.teller(nil))
	roots := map[string]bool{}
	for _, s := range f.wait(2 * len(forged)) {
		if s.GetName() == "task" {
			roots[string(s.GetTraceId())] = len(s.GetParentSpanId()) == 0 && s.GetStatus().GetCode() == v1.Status_STATUS_CODE_ERROR
		}
	}
	for id, root := range roots {
		if !root {
			t.Errorf("trace %x does not begin with a task that failed", id)
		}
	}
	if len(roots) != len(forged) {
		t.Errorf("%d traces, want one for each of %d tasks", len(roots), len(forged))
	}
}

func TestLateFactsTellNothingTwiceAndARetryIsTold(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.publish(0, "t", 1, 0, "")
	f.deliver(1, 1, 1)
	f.say(2, lifecycle.Terminated, "", 1, 1, lifecycle.Detail{})
	f.run(f.teller(nil))
	top := f.wait(2)[0]
	f.say(3, lifecycle.ReportFailed, "t", 0, 0, lifecycle.Detail{})
	f.publish(10, "t", 2, 1, "")
	f.deliver(11, 2, 1)
	f.say(12, lifecycle.Acked, "", 2, 1, lifecycle.Detail{})
	f.complete("another", 3)
	got := f.wait(6)
	var names []string
	for _, s := range got {
		names = append(names, s.GetName())
		if s.GetName() == "retry" && (string(s.GetParentSpanId()) != string(top.GetSpanId()) || s.GetStatus().GetCode() != v1.Status_STATUS_CODE_OK) {
			t.Errorf("the retry lies below %x with %v, want %x and OK", s.GetParentSpanId(), s.GetStatus(), top.GetSpanId())
		}
	}
	if all := strings.Join(names, " "); all != "task attempt retry attempt task attempt" && all != "task attempt task attempt retry attempt" {
		t.Errorf("told: %s", all)
	}
}

// back is a receiver that is there again after its first call.
type back struct {
	sdktrace.SpanExporter
	calls atomic.Int64
}

func (b *back) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if b.calls.Add(1) == 1 {
		return errors.New("the receiver is away")
	}
	return b.SpanExporter.ExportSpans(ctx, spans)
}

func TestATaskIsNotGivenUpBecauseTheReceiverCameBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.complete("a", 1)
	f.complete("b", 2)
	f.run(f.teller(func(c *Config) { c.Batch, c.Exporter = 1, &back{SpanExporter: c.Exporter} }))
	f.wait(4)
}

func TestAReceiverThatIsAwayMissesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.receiver.Refuse(http.StatusServiceUnavailable)
	teller := f.teller(func(c *Config) { c.Most = 20 * time.Millisecond })
	f.run(teller)
	const tasks = 30
	for i := range tasks {
		f.complete(fmt.Sprint("t", i), uint64(i+1))
	}
	testkit.Eventually(t, patience, func() error {
		if p := teller.Health()[0]; f.receiver.Posts() < 3 || p.State != health.Behind {
			return fmt.Errorf("%d posts, %+v", f.receiver.Posts(), p)
		}
		return nil
	})
	f.receiver.Refuse(0)
	f.waitDifferent(2 * tasks)
	testkit.Eventually(t, patience, func() error {
		if p := teller.Health()[0]; p.State != health.OK {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
}

// picky refuses the spans of one task.
type picky struct {
	sdktrace.SpanExporter
	task string
}

func (p picky) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		for _, a := range s.Attributes() {
			if a.Key == "fleetglass.task.id" && a.Value.AsString() == p.task {
				return fmt.Errorf("task %s is refused", p.task)
			}
		}
	}
	return p.SpanExporter.ExportSpans(ctx, spans)
}

func TestWhatIsRefusedOrTooOldIsGivenUpAndCounted(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for i := range 5 {
		f.complete(fmt.Sprint("t", i), uint64(i+1))
	}
	dropped := make(chan int, 100)
	stop := f.run(f.teller(func(c *Config) {
		c.Exporter, c.Most, c.Dropped = picky{c.Exporter, "t2"}, 5*time.Millisecond, func(n int) { dropped <- n }
	}))
	f.wait(8)
	if n := <-dropped; n != 1 {
		t.Errorf("%d were given up, want 1", n)
	}
	f.noneDue()
	stop()
	f.receiver.Refuse(http.StatusBadRequest)
	f.complete("old", 9)
	f.run(f.teller(func(c *Config) { c.GiveUp, c.Dropped = time.Nanosecond, func(n int) { dropped <- n } }))
	if n := <-dropped; n != 1 {
		t.Errorf("%d were given up, want 1", n)
	}
	f.noneDue()
}

func TestOfTwoReplicasOneTells(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	first := f.run(f.teller(nil))
	f.run(f.teller(nil))
	for i := range 20 {
		f.complete(fmt.Sprint("t", i), uint64(i+1))
		if i == 10 {
			first() // The other one goes on.
		}
	}
	f.waitDifferent(40) // What the first one sent while it stopped is sent again, as the same spans.
}
