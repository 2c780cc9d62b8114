package brokersync_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/collectors/advisories"
	"fleetglass/collectors/brokersync"
	"fleetglass/collectors/idempotency"
	"fleetglass/collectors/publishes"
	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// store is what the tests ask of a store: what the collectors need, and traces.
type store interface {
	lifecycle.Appender
	brokersync.Reader
	Task(ctx context.Context, id string) (lifecycle.TaskRecord, error)
	Events(ctx context.Context, taskID string, after lifecycle.EventPosition, limit int) ([]lifecycle.Event, error)
	Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error)
	Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error)
}

func newStore(t testing.TB) store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleetglass.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// bench is a provisioned broker, a store, and the collectors of a fleet.
type bench struct {
	t     testing.TB
	srv   *embednats.Server
	js    jetstream.JetStream
	store store
	cfg   brokersync.Config

	parts   []*brokersync.Collector // That run.
	inexact bool                    // Traces do not tell which times are exact, nor what we presumed before the broker said it.

	mu    sync.Mutex
	taken map[string][]time.Time // When agents got a task, attempt by attempt.
}

func newBench(t testing.TB) *bench {
	t.Helper()
	return benchOn(t, testkit.Broker(t), newStore(t))
}

func benchOn(t testing.TB, srv *embednats.Server, s store) *bench {
	t.Helper()
	b := &bench{t: t, srv: srv, js: testkit.JetStream(t, srv), store: s, taken: map[string][]time.Time{}}
	contract := fleet.NewContract("")
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: b.js, Appender: s, Watermarks: s, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = brokersync.Config{
		JetStream: b.js, Appender: s, Reader: s, Incarnations: inc, Contract: contract, Interval: 50 * time.Millisecond,
		Stored: func(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
			return publishes.Decode(line, streams, publishes.DefaultBodyLimit, into)
		},
		Waits: brokersync.Waits{Refute: 300 * time.Millisecond, Vanish: 200 * time.Millisecond, Orphan: 200 * time.Millisecond},
	}
	return b
}

// runner is what Run-s.
type runner interface {
	Run(ctx context.Context) error
}

// start runs the collectors of lines and the synchronizer until the test ends.
func (b *bench) start() *brokersync.Collector {
	b.t.Helper()
	b.startLines()
	return b.startState()
}

func (b *bench) startState() *brokersync.Collector {
	b.t.Helper()
	c, err := brokersync.New(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.run(c)
	b.parts = append(b.parts, c)
	return c
}

func (b *bench) startLines() {
	b.t.Helper()
	barrier, err := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{JetStream: b.js, Stream: fleet.CapturePub, Durable: collectors.DurableName("", publishes.SourceStored)})
	cfg := collectors.Config{JetStream: b.js, Appender: b.store, Watermarks: b.store, Incarnations: b.cfg.Incarnations,
		Contract: b.cfg.Contract, Barrier: barrier, Retry: 10 * time.Millisecond}
	stored, err1 := publishes.New(publishes.Config{Config: cfg})
	attempts, err2 := publishes.NewAttempts(publishes.AttemptsConfig{Config: cfg})
	answers, err3 := acks.New(cfg)
	events, err4 := advisories.New(cfg)
	records, err5 := idempotency.NewKV(cfg)
	if err := errors.Join(err, err1, err2, err3, err4, err5); err != nil {
		b.t.Fatal(err)
	}
	b.run(stored, attempts, answers, events, records)
}

func (b *bench) run(parts ...runner) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, p := range parts {
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				b.t.Errorf("run: %v", err)
			}
		})
	}
	b.t.Cleanup(func() { cancel(); running.Wait() })
}

// trace is the task as people would see it, without times.
func (b *bench) trace(task string) string {
	r, err := b.store.Task(b.t.Context(), task)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s (%s)", r.Summary.State, r.Summary.Rule)
	if r.Summary.Duplicates > 0 {
		fmt.Fprintf(&out, " caught %d", r.Summary.Duplicates)
	}
	if len(r.Summary.Anomalies) > 0 {
		fmt.Fprintf(&out, " %v", r.Summary.Anomalies)
	}
	for _, m := range r.Messages {
		for _, a := range lifecycle.Attempts(m, r.Facts) {
			fmt.Fprintf(&out, "\n%d %s", a.N, a.End)
			if a.BeganExact && !b.inexact {
				out.WriteString(" exact")
			}
			if a.Silent {
				out.WriteString(" silent")
			}
			if a.LastBeat.Known() {
				out.WriteString(" beats")
			}
			if a.Reason != "" && (!b.inexact || a.End != lifecycle.EndTimedOut) {
				fmt.Fprintf(&out, " %q", a.Reason)
			}
		}
		if m.VanishedAt.Known() {
			fmt.Fprintf(&out, "\ngone: %s", m.VanishedWhy)
		}
	}
	return out.String()
}

// expect waits until the trace of a task is as wanted.
func (b *bench) expect(t testing.TB, task, want string) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if got := b.trace(task); got != want {
			return fmt.Errorf("trace of %s:\n%s\nwant:\n%s\nevents:\n%s", task, got, want, b.events(task))
		}
		return nil
	})
}

func (b *bench) events(task string) string {
	events, err := b.store.Events(b.t.Context(), task, lifecycle.EventPosition{}, 1000)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "%s %s %s n=%d cseq=%d %s exact=%t %s\n", e.At.Time().Format("05.000000"), e.Kind, e.Message, e.Attempt, e.ConsumerSeq, e.Source, e.Detail.Exact, e.Detail.Reason)
	}
	return out.String()
}

// polls waits until each part has polled n more times.
func (b *bench) polls(t *testing.T, parts []*brokersync.Collector, n int) {
	t.Helper()
	for _, p := range parts {
		before, count := p.Health()[0].LastAt, 0
		testkit.Eventually(t, patience, func() error {
			if part := p.Health()[0]; part.LastAt != before {
				before = part.LastAt
				count++
			}
			if count < n {
				return fmt.Errorf("polled %d times, want %d: %+v", count, n, p.Health())
			}
			return nil
		})
	}
}

// noTwins checks that no event of a task was found twice with different times.
func (b *bench) noTwins(t *testing.T, task string) {
	t.Helper()
	events, err := b.store.Events(t.Context(), task, lifecycle.EventPosition{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[lifecycle.EventID]lifecycle.Event{}
	for _, e := range events {
		if twin, ok := seen[e.ID]; ok {
			t.Errorf("%s: event %s %s at %s and at %s", task, e.ID, e.Kind, twin.At.Time(), e.At.Time())
		}
		seen[e.ID] = e
	}
}

// agent is a foreign program: plain nats.go, no Fleetglass code.
type agent struct {
	t    testing.TB
	b    *bench
	name string
	nc   *nats.Conn
	js   nats.JetStreamContext
	sub  *nats.Subscription
}

func (b *bench) agent(t testing.TB, name string) *agent {
	t.Helper()
	nc, err := nats.Connect(b.srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	return &agent{t: t, b: b, name: name, nc: nc, js: js}
}

// works creates the agent's durable and binds to it.
func (a *agent) works(cfg nats.ConsumerConfig) *agent {
	a.t.Helper()
	cfg.Durable, cfg.FilterSubject, cfg.AckPolicy = a.name+"-task-worker", "genbrain.agents."+a.name+".tasks.>", nats.AckExplicitPolicy
	if cfg.AckWait == 0 && len(cfg.BackOff) == 0 {
		cfg.AckWait = 800 * time.Millisecond
	}
	if cfg.MaxDeliver == 0 {
		cfg.MaxDeliver = 3
	}
	if cfg.MaxAckPending == 0 {
		cfg.MaxAckPending = 1
	}
	if _, err := a.js.AddConsumer("TASKS", &cfg); err != nil {
		a.t.Fatal(err)
	}
	sub, err := a.js.PullSubscribe(cfg.FilterSubject, "", nats.Bind("TASKS", cfg.Durable))
	if err != nil {
		a.t.Fatal(err)
	}
	a.sub = sub
	return a
}

// publish sends a task and returns its stream sequence.
func (a *agent) publish(id string) uint64 {
	a.t.Helper()
	m := nats.NewMsg("genbrain.agents." + a.name + ".tasks.blog")
	m.Data = []byte(fmt.Sprintf(`{"taskId":%q,"type":"blog","payload":{"title":"Title of %s"}}`, id, id))
	m.Header.Set("Nats-Msg-Id", id)
	ack, err := a.js.PublishMsg(m)
	if err != nil {
		a.t.Fatal(err)
	}
	return ack.Sequence
}

// takes pulls one message. It fails the test when none comes.
func (a *agent) takes() *nats.Msg {
	a.t.Helper()
	m := a.take(patience)
	if m == nil {
		a.t.Fatal("nothing was delivered")
	}
	return m
}

// take pulls one message; nil when none comes within that time.
func (a *agent) take(within time.Duration) *nats.Msg {
	a.t.Helper()
	got, err := a.sub.Fetch(1, nats.MaxWait(within))
	if errors.Is(err, nats.ErrTimeout) || len(got) == 0 {
		return nil
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.b.mu.Lock()
	defer a.b.mu.Unlock()
	id := got[0].Header.Get("Nats-Msg-Id")
	a.b.taken[id] = append(a.b.taken[id], time.Now())
	return got[0]
}

// truthful checks that attempts which claim an exact beginning began just before their agent got them.
func (b *bench) truthful(t *testing.T, task string) {
	t.Helper()
	r, err := b.store.Task(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range r.Messages {
		for i, a := range lifecycle.Attempts(m, r.Facts) {
			if got := b.taken[task][i]; a.BeganExact && (got.Before(a.BeganAt.Time()) || got.Sub(a.BeganAt.Time()) > 2*time.Second) {
				t.Errorf("%s: attempt %d began at %s, its agent got it at %s", task, a.N, a.BeganAt.Time(), got.UTC())
			}
		}
	}
}

// record writes the idempotency record of a task.
func (a *agent) record(task string) {
	a.t.Helper()
	kv, err := a.js.KeyValue("task-idempotency")
	a.must(err)
	now := time.Now().UnixMilli()
	_, err = kv.Put(task, fmt.Appendf(nil, `{"taskId":%q,"agentId":%q,"completedAt":%d,"expiresAt":%d}`, task, a.name, now, now+259_200_000))
	a.must(err)
}

func (a *agent) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// busy is the time that the foreign program spends working.
func busy(d time.Duration) { <-time.After(d) }
