package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
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
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/store/postgres"
	"fleetglass/store/sqlite"
	"fleetglass/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 15 * time.Second

// onBothStores runs a test on SQLite and on Postgres.
func onBothStores(t *testing.T, test func(t *testing.T, s storetest.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newSQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newPostgres(t))
	})
}

func newSQLite(t testing.TB) storetest.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	return closing(t, s, err)
}

func newPostgres(t testing.TB) storetest.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: testkit.Postgres(t), MaxConns: 4})
	return closing(t, s, err)
}

func closing(t testing.TB, s storetest.Store, err error) storetest.Store {
	t.Helper()
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

// runner is what Run-s.
type runner interface {
	Run(ctx context.Context) error
}

// run runs parts until the test ends, or the returned function is called.
func run(t testing.TB, parts ...runner) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, p := range parts {
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

// glass is a broker and what watches it.
type glass struct {
	t     testing.TB
	js    jetstream.JetStream
	store storetest.Store
	inc   *collectors.IncarnationResolver
}

func newGlass(t testing.TB, s storetest.Store) *glass {
	t.Helper()
	g := &glass{t: t, js: testkit.JetStream(t, testkit.Broker(t)), store: s}
	var err error
	g.inc, err = collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: g.js, Appender: s, Watermarks: s, Contract: contract})
	g.must(err)
	return g
}

var contract = fleet.NewContract("")

func (g *glass) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// watch runs every collector until the test ends.
func (g *glass) watch() {
	g.t.Helper()
	g.watchLines()
	state, err := brokersync.New(brokersync.Config{
		JetStream: g.js, Appender: g.store, Reader: g.store, Incarnations: g.inc, Contract: contract, Interval: 50 * time.Millisecond,
		Stored: func(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
			return publishes.Decode(line, streams, publishes.DefaultBodyLimit, into)
		},
		Waits: brokersync.Waits{Refute: 300 * time.Millisecond, Vanish: 200 * time.Millisecond, Orphan: 200 * time.Millisecond},
	})
	g.must(err)
	run(g.t, state)
}

// watchLines runs the collectors of lines alone: nothing compares the store with the broker's state.
func (g *glass) watchLines() {
	g.t.Helper()
	barrier, err := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{JetStream: g.js, Stream: fleet.CapturePub, Durable: collectors.DurableName("", publishes.SourceStored)})
	cfg := collectors.Config{JetStream: g.js, Appender: g.store, Watermarks: g.store, Incarnations: g.inc, Contract: contract, Barrier: barrier, Retry: 10 * time.Millisecond}
	stored, err1 := publishes.New(publishes.Config{Config: cfg})
	answers, err2 := acks.New(cfg)
	events, err3 := advisories.New(cfg)
	records, err4 := idempotency.NewKV(cfg)
	g.must(errors.Join(err, err1, err2, err3, err4))
	run(g.t, stored, answers, events, records)
}

// config is that of a runner which compares with this broker, at once and without grace.
func (g *glass) config() reconcile.Config {
	records := idempotency.Sources{idempotency.NewKVSource(g.js)}
	return reconcile.Config{
		Store: g.store, Grace: -1, RestartDelay: time.Hour, Records: records.Records, Page: 3,
		Stock: func(ctx context.Context) (out []reconcile.Stock, err error) {
			streams, err := brokersync.SnapshotStreams(ctx, brokersync.StreamSnapshotConfig{JetStream: g.js, Incarnations: g.inc, Settle: 300 * time.Millisecond})
			for _, s := range streams {
				out = append(out, reconcile.Stock{Stream: s.Stream, At: s.At, LastSeq: s.LastSeq, LastAt: s.LastAt, MaxAge: s.MaxAge, Kept: s.Kept, Present: s.Present})
			}
			return out, err
		},
	}
}

// stream makes a stream of tasks.
func (g *glass) stream(name, subject string, retention jetstream.RetentionPolicy) {
	g.t.Helper()
	_, err := g.js.CreateStream(g.t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}, Retention: retention, AllowDirect: true})
	g.must(err)
}

// publish sends a task and returns its sequence.
func (g *glass) publish(agent, task string, headers ...string) uint64 {
	g.t.Helper()
	m := nats.NewMsg("genbrain.agents." + agent + ".tasks.blog")
	m.Data = fmt.Appendf(nil, `{"taskId":%q,"type":"blog"}`, task)
	m.Header.Set("Nats-Msg-Id", task)
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	ack, err := g.js.PublishMsg(g.t.Context(), m)
	g.must(err)
	return ack.Sequence
}

// works makes the durable of a foreign agent, which records nothing by itself.
func (g *glass) works(agent string, cfg jetstream.ConsumerConfig) jetstream.Consumer {
	g.t.Helper()
	cfg.Durable, cfg.FilterSubject, cfg.AckPolicy = agent+"-task-worker", "genbrain.agents."+agent+".tasks.>", jetstream.AckExplicitPolicy
	cfg.MaxAckPending = 10
	c, err := g.js.CreateConsumer(g.t.Context(), fleet.StreamTasks, cfg)
	g.must(err)
	return c
}

func (g *glass) take(c jetstream.Consumer) jetstream.Msg {
	g.t.Helper()
	m, err := c.Next(jetstream.FetchMaxWait(patience))
	g.must(err)
	return m
}

// record writes the completion of a task as any program might.
func (g *glass) record(agent, task string) {
	g.t.Helper()
	records, err := fleet.NewKVRecords(g.t.Context(), g.js)
	g.must(err)
	now := lifecycle.MicrosOf(time.Now())
	g.must(records.Complete(g.t.Context(), fleet.Record{TaskID: task, AgentID: agent, CompletedAt: now, ExpiresAt: now.Add(72 * time.Hour)}))
}

// tasks changes the configuration of the stream of tasks.
func (g *glass) tasks(change func(*jetstream.StreamConfig)) {
	g.t.Helper()
	s, err := g.js.Stream(g.t.Context(), fleet.StreamTasks)
	g.must(err)
	cfg := s.CachedInfo().Config
	change(&cfg)
	_, err = g.js.UpdateStream(g.t.Context(), cfg)
	g.must(err)
}

// acked stores that a task's message was acknowledged, as a line would that no worker sent.
func (g *glass) acked(task string, at time.Time) {
	g.t.Helper()
	g.becomes(task, lifecycle.StatePublished)
	r, err := g.store.Task(g.t.Context(), task)
	g.must(err)
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("nobody", task), At: lifecycle.MicrosOf(at), Kind: lifecycle.Acked, Provenance: lifecycle.Observed, Source: "nobody",
		Message: r.Messages[0].Key, Attempt: 1, ConsumerSeq: 1,
	}
	_, err = g.store.Append(g.t.Context(), lifecycle.Batch{Events: []lifecycle.Event{e}})
	g.must(err)
}

// becomes waits until the store says that a task is in a state.
func (g *glass) becomes(task string, want lifecycle.State) {
	g.t.Helper()
	testkit.Eventually(g.t, patience, func() error {
		r, err := g.store.Task(g.t.Context(), task)
		if err == nil && r.Summary.State != want {
			err = fmt.Errorf("task %s is %s (%s), want %s", task, r.Summary.State, r.Summary.Rule, want)
		}
		return err
	})
}

// recorded waits until the store knows the completion record of a task.
func (g *glass) recorded(task string) {
	g.t.Helper()
	testkit.Eventually(g.t, patience, func() error {
		r, err := g.store.Task(g.t.Context(), task)
		if err == nil && r.Facts.Completion == nil {
			err = fmt.Errorf("task %s has no record", task)
		}
		return err
	})
}

// reconciled makes a report of everything up to now.
func reconciled(t testing.TB, cfg reconcile.Config) reconcile.Report {
	t.Helper()
	r, err := reconcile.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, r)
	defer stop()
	made, _, err := r.Create(t.Context(), reconcile.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return *ended(t, r, made.ID, reconcile.StatusDone).Report
}

// ended waits until a reconciliation has ended as wanted.
func ended(t testing.TB, r *reconcile.Runner, id string, want reconcile.Status) (rec reconcile.Run) {
	t.Helper()
	testkit.Eventually(t, patience, func() (err error) {
		if rec, err = r.Get(t.Context(), id); err == nil && !rec.Status.Ended() {
			err = fmt.Errorf("reconciliation is %s: %+v", rec.Status, rec.Progress)
		}
		return err
	})
	if rec.Status != want {
		t.Fatalf("reconciliation is %s (%s), want %s", rec.Status, rec.Failure, want)
	}
	return rec
}

// brief is the balance, and every row as kind, task or sequence, and agent.
func brief(r reconcile.Report) string {
	b := r.Total
	out := []string{fmt.Sprintf("%d = %d completed + %d in flight + %d in dlq + %d exhausted + %d terminated + %d expired + %d unexplained",
		b.Published, b.Completed, b.InFlight, b.InDLQ, b.Exhausted, b.Terminated, b.Expired, b.Unexplained)}
	for _, l := range r.Lists {
		for _, d := range l.Rows {
			of := d.TaskID
			if of == "" {
				of = "sequence " + strconv.FormatUint(d.Message.Seq, 10)
			}
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s %s", l.Kind, of, d.Agent)))
		}
	}
	for _, k := range r.WithoutRecords {
		out = append(out, fmt.Sprintf("no records: %s %d", k.Agent, k.Acknowledged))
	}
	return strings.Join(out, "\n")
}

// stockWith always answers the same.
func stockWith(s reconcile.Stock) func(context.Context) ([]reconcile.Stock, error) {
	return func(context.Context) ([]reconcile.Stock, error) { return []reconcile.Stock{s}, nil }
}
