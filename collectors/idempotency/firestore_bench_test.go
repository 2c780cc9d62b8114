package idempotency_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/goleak"

	"fleetglass/collectors/idempotency"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

const patience = 20 * time.Second

// feeds is how many listeners a collector keeps open: two collections, each by number and by timestamp.
const feeds = 4

// record is a document's content.
type record = map[string]any

// bench is a Firestore server, a client that plays the agents, and a real store.
type bench struct {
	t      *testing.T
	server *firestoretest.Server
	agents *firestore.Client
	store  *sqlite.Store
	cfg    idempotency.FirestoreConfig
}

// newBench has intervals so long that only what a test shortens happens by itself, and pauses so short that nothing waits.
func newBench(t *testing.T, clock func() time.Time) *bench {
	t.Helper()
	return newBenchAt(t, "", clock)
}

// newBenchAt uses what listens at the address, where there is one, instead of a server of its own.
func newBenchAt(t *testing.T, addr string, clock func() time.Time) *bench {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{t: t, store: store, cfg: idempotency.FirestoreConfig{
		Appender: store, Watermarks: store, Project: firestoretest.Project,
		Overlap: 10 * time.Minute, Poll: time.Hour, Sweep: 24 * time.Hour, Rotate: time.Hour, Patience: 50 * time.Millisecond, Probe: 50 * time.Millisecond,
		Timeout: time.Second, Retry: 5 * time.Millisecond, MaxRetry: 50 * time.Millisecond,
	}}
	if addr == "" {
		b.server = firestoretest.Start(t, firestoretest.Config{Now: clock})
		addr = b.server.Addr()
	}
	b.cfg.Emulator, b.agents = addr, firestoretest.Connect(t, addr, firestoretest.Project)
	return b
}

// start runs a collector until stop is called or the test ends. It returns once every listener is open and the first sweep is over.
func (b *bench) start() (c *idempotency.Firestore, stop func()) {
	b.t.Helper()
	c, stop = b.run()
	b.eventually(func() error {
		if n, part := b.server.Listeners(), c.Health()[0]; n != feeds || part.State != health.OK {
			return fmt.Errorf("%d listeners, health %+v", n, part)
		}
		return nil
	})
	return c, stop
}

// run is start without waiting.
func (b *bench) run() (c *idempotency.Firestore, stop func()) {
	b.t.Helper()
	c, err := idempotency.NewFirestore(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Run: %v", err)
		}
	}
	b.t.Cleanup(stop)
	return c, stop
}

func (b *bench) eventually(check func() error) {
	b.t.Helper()
	testkit.Eventually(b.t, patience, check)
}

// put writes a document.
func (b *bench) put(path string, r record) *firestore.WriteResult {
	b.t.Helper()
	w, err := b.agents.Doc(path).Set(b.t.Context(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// completed is the record of a task that completed at that time by the agent's clock.
func completed(task string, at time.Time) record {
	return record{
		"taskId": task, "agentId": "backend", "completedAt": at.UnixMilli(), "resultSummary": "done", "natsStreamSeq": 7,
		"expiresAt": at.Add(72 * time.Hour).UnixMilli(),
	}
}

// complete writes the record of a task that completed at that time by the agent's clock.
func (b *bench) complete(task string, at time.Time) {
	b.t.Helper()
	b.put("task-idempotency/"+task, completed(task, at))
}

// completeAll completes task after task.
func (b *bench) completeAll(at time.Time, tasks ...string) {
	b.t.Helper()
	for _, task := range tasks {
		b.complete(task, at)
	}
}

// events lists the kinds of the events of a task.
func (b *bench) events(task string) ([]lifecycle.Event, error) {
	return b.store.Events(b.t.Context(), task, lifecycle.EventPosition{}, 1000)
}

// wantOnce waits until each task has exactly one completion.
func (b *bench) wantOnce(tasks ...string) {
	b.t.Helper()
	for _, task := range tasks {
		b.eventually(func() error { return b.kinds(task, lifecycle.CompletionRecorded) })
	}
}

// wantKinds waits until the events of a task are of these kinds.
func (b *bench) wantKinds(task string, kinds ...lifecycle.Kind) []lifecycle.Event {
	b.t.Helper()
	b.eventually(func() error { return b.kinds(task, kinds...) })
	events, err := b.events(task)
	if err != nil {
		b.t.Fatal(err)
	}
	return events
}

func (b *bench) kinds(task string, want ...lifecycle.Kind) error {
	events, err := b.events(task)
	if err != nil {
		return err
	}
	var got []lifecycle.Kind
	for _, e := range events {
		got = append(got, e.Kind)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("events of %s: %v, want %v", task, got, want)
	}
	return nil
}

// wantStats waits until the counts, which follow the commits, are as wanted.
func (b *bench) wantStats(c *idempotency.Firestore, want string, holds func(idempotency.FirestoreStats) bool) {
	b.t.Helper()
	b.eventually(func() error {
		if got := c.Stats(); !holds(got) {
			return fmt.Errorf("stats %+v, want %s", got, want)
		}
		return nil
	})
}

// quarantine waits until so many documents are quarantined and returns the reasons by document.
func (b *bench) quarantine(n int) map[string]string {
	b.t.Helper()
	out := map[string]string{}
	b.eventually(func() error {
		lines, total, err := b.store.Quarantine(b.t.Context(), 100)
		if err == nil && total != int64(n) {
			err = fmt.Errorf("%d documents are quarantined, want %d", total, n)
		}
		for _, l := range lines {
			out[l.Subject] = l.Reason
		}
		return err
	})
	return out
}

// names makes n task ids.
func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return out
}
