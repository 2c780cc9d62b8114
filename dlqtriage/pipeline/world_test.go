package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/leader"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	if os.Getenv(dieAt) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(testkit.BrokerGoroutine))
}

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// world is a store with dead messages, and a broker.
type world struct {
	t       testing.TB
	store   *sqlite.Store
	js      jetstream.JetStream
	actions *dlqtriage.Actions
	pipe    *Pipeline
	seq     uint64
}

func newWorld(t testing.TB, js jetstream.JetStream, path string, edit func(*Config)) *world {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &world{t: t, store: store, js: js}
	cfg := Config{
		JetStream: js, Contract: fleet.NewContract(""), Effects: store, Tasks: store, Lease: 500 * time.Millisecond, Grace: 2 * time.Second, Every: 20 * time.Millisecond,
	}
	if edit != nil {
		edit(&cfg)
	}
	decisions := stepping{store, cfg.step}
	w.actions, err = dlqtriage.NewActions(dlqtriage.ActionsConfig{
		Entries: store, Tasks: store, Decisions: decisions, Policy: dlqtriage.DefaultPolicy, Contract: cfg.Contract, Now: cfg.Now, Wake: func() { w.pipe.Wake() },
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Actions = w.actions
	if w.pipe, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

// stepping says when something is decided.
type stepping struct {
	*sqlite.Store
	step func(string)
}

func (s stepping) Decide(ctx context.Context, d decision.Decision) (decision.Made, error) {
	if s.step != nil {
		s.step("before decide")
		defer s.step("after decide")
	}
	return s.Store.Decide(ctx, d)
}

func temporary(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") }

// dead stores a message that died, and returns the id of its entry.
func (w *world) dead(task string) string {
	w.t.Helper()
	return w.deadWith(task, []byte(`{"taskId":"`+task+`"}`), map[string][]string{"X-Task-ID": {task}})
}

// deadWith is dead with a body and headers.
func (w *world) deadWith(task string, body []byte, headers map[string][]string) string {
	w.t.Helper()
	w.seq++
	key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 100_000 + w.seq}
	now := lifecycle.MicrosOf(time.Now().Add(-time.Second)) // A filter selects what died before it.
	published := lifecycle.Event{
		ID: lifecycle.NewEventID("test", task, "published"), At: now, Kind: lifecycle.Published, Provenance: lifecycle.Observed, Source: "test", TaskID: task, Message: key, Agent: "cto",
	}
	published.Detail.MsgID, published.Detail.Subject, published.Detail.Type = task, "genbrain.agents.cto.tasks.review", "review"
	gone := lifecycle.Event{
		ID: lifecycle.NewEventID("test", task, "dead"), At: now + 1, Kind: lifecycle.Terminated, Provenance: lifecycle.Observed, Source: "test", Message: key,
		Consumer: "cto-task-worker", ConsumerSeq: w.seq, Attempt: 1,
	}
	gone.Detail.Reason = "503 overloaded"
	_, err := w.store.Append(w.t.Context(), lifecycle.Batch{
		Events:   []lifecycle.Event{published, gone},
		Payloads: []lifecycle.Payload{{Message: key, Body: body, Headers: headers, Size: int64(len(body)), At: now}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return dlqtriage.EntryID(key)
}

func retryOf(entry, key string) dlqtriage.Request {
	none := int64(0)
	return dlqtriage.Request{
		Entry: entry, Action: dlqtriage.ActionRetry, Reason: "because", Key: key, Params: dlqtriage.Params{As: dlqtriage.AsUnchanged, DelayMS: &none},
		Actor: decision.Actor{Name: "ceo", Via: decision.ViaAPI},
	}
}

func (w *world) act(r dlqtriage.Request) dlqtriage.Action {
	w.t.Helper()
	a, err := w.actions.Act(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// runs runs the pipeline until the test, or stop, ends it.
func (w *world) runs() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.pipe.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	w.t.Cleanup(stop)
	return stop
}

// ended waits until an action has ended.
func (w *world) ended(id string) dlqtriage.Action {
	w.t.Helper()
	var a dlqtriage.Action
	testkit.Eventually(w.t, patience, func() error {
		var err error
		a, err = w.actions.Action(context.Background(), id)
		if err == nil && !a.Status.Ended() {
			err = fmt.Errorf("the action is %s; %+v", a.Status, w.pipe.Health())
		}
		return err
	})
	return a
}

// sent lists the messages of a task that are in TASKS.
func (w *world) sent(task string) (out []*jetstream.RawStreamMsg) {
	w.t.Helper()
	stream, err := leader.Find(context.Background(), w.js, fleet.StreamTasks)
	if err != nil {
		w.t.Fatal(err)
	}
	state := stream.CachedInfo().State
	for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
		m, err := stream.GetMsg(context.Background(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if m.Header.Get(fleet.HeaderTaskID) == task {
			out = append(out, m)
		}
	}
	return out
}

// sentOnce holds the record of an action to the one message that it published.
func (w *world) sentOnce(task string, a dlqtriage.Action) {
	w.t.Helper()
	got := w.sent(task)
	if len(got) != 1 {
		w.t.Errorf("%s: %d messages reached TASKS, want 1", task, len(got))
		return
	}
	m := got[0]
	if a.Status != dlqtriage.ActionSucceeded || a.Sent == nil || *a.Sent != (dlqtriage.Sent{Stream: "TASKS", Seq: m.Sequence}) || !a.EndedAt.Known() {
		w.t.Errorf("%s: the action says %+v, want that it sent %d", task, a.Progress, m.Sequence)
	}
	if id := m.Header.Get(nats.MsgIdHdr); id != task+":r1" || m.Header.Get(fleet.HeaderTriageAction) != a.ID || m.Subject != "genbrain.agents.cto.tasks.review" {
		w.t.Errorf("%s: %s %v", task, m.Subject, m.Header)
	}
	effects, err := w.store.EffectsOf(context.Background(), a.ID)
	if err != nil || len(effects) != 1 || effects[0].Status != decision.StatusDone {
		w.t.Errorf("%s: effects %+v, %v; want one that is done", task, effects, err)
	}
	if n := w.audited(a.ID); n != 2 {
		w.t.Errorf("%s: %d audit records, want that of the decision and that of its end", task, n)
	}
	e, err := w.store.Entry(context.Background(), a.Entry)
	if err != nil || e.Status != dlqtriage.StatusRetried || e.Action != a.ID {
		w.t.Errorf("%s: the entry is %s by %s, %v; want retried by %s", task, e.Status, e.Action, err, a.ID)
	}
}

func (w *world) audited(action string) (n int) {
	w.t.Helper()
	records, _, err := w.store.Audit(context.Background(), decision.AuditFilter{}, nil, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range records {
		if r.ID == action || r.ID == action+"/ended" {
			n++
		}
	}
	return n
}

// empty waits until nothing waits in RETRY.
func (w *world) empty() {
	w.t.Helper()
	testkit.Eventually(w.t, patience, func() error {
		stream, err := w.js.Stream(context.Background(), fleet.StreamRetry)
		if err == nil && stream.CachedInfo().State.Msgs > 0 {
			err = fmt.Errorf("%d messages wait in RETRY", stream.CachedInfo().State.Msgs)
		}
		return err
	})
}

func broker(t testing.TB) jetstream.JetStream {
	t.Helper()
	return testkit.JetStream(t, testkit.Broker(t))
}
