package monitor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/collectors"
	"fleetglass/collectors/deadletters"
	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/monitor"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		beTheMonitor()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

const patience = 60 * time.Second

var contract = fleet.NewContract("")

// world is a broker with the fleet's streams, and a store.
type world struct {
	t     *testing.T
	js    jetstream.JetStream
	store *sqlite.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, js: testkit.JetStream(t, testkit.Broker(t))}
	w.open(filepath.Join(t.TempDir(), "store.db"))
	return w
}

func (w *world) open(path string) {
	w.t.Helper()
	store, err := sqlite.Open(w.t.Context(), sqlite.Config{Path: path})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	w.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			w.t.Error(err)
		}
	})
}

// background runs something until the test ends.
func (w *world) background(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

// reader is a collector of entries.
func reader(js jetstream.JetStream, store *sqlite.Store) (*deadletters.Collector, error) {
	return deadletters.New(deadletters.Config{Every: 10 * time.Millisecond, Config: collectors.Config{
		JetStream: js, Appender: store, Watermarks: store, Contract: contract, Retry: 5 * time.Millisecond, Watch: 20 * time.Millisecond,
	}})
}

// config is a monitor's, faster than life.
func config(js jetstream.JetStream, store *sqlite.Store, read *deadletters.Collector) monitor.Config {
	return monitor.Config{
		JetStream: js, Contract: contract, Store: store, ReadTo: read.ReadTo, Policy: dlqtriage.DefaultPolicy,
		Every: 20 * time.Millisecond, Lease: 300 * time.Millisecond, OrphanAfter: time.Millisecond,
	}
}

// run runs a collector and so many monitors.
func (w *world) run(monitors int, change func(*monitor.Config)) {
	w.t.Helper()
	read, err := reader(w.js, w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	w.background(read.Run)
	for i := range monitors {
		cfg := config(w.js, w.store, read)
		cfg.Holder = fmt.Sprint("monitor ", i)
		if change != nil {
			change(&cfg)
		}
		m, err := monitor.New(cfg)
		if err != nil {
			w.t.Fatal(err)
		}
		w.background(m.Run)
	}
}

// death says how a message dies.
type death func(e *lifecycle.Event)

func exhausted(e *lifecycle.Event) { e.Kind, e.Provenance = lifecycle.MaxDeliveries, lifecycle.Broker }

func terminated(reason string) death {
	return func(e *lifecycle.Event) {
		e.Kind, e.Provenance, e.Detail.Reason = lifecycle.Terminated, lifecycle.Observed, reason
	}
}

func orphaned(e *lifecycle.Event) {
	e.Kind, e.Provenance, e.Attempt, e.Consumer = lifecycle.Orphaned, lifecycle.Broker, 0, ""
}

// dies publishes a task and tells the store what capture would: that it was stored, and how it died.
func dies(ctx context.Context, js jetstream.JetStream, store *sqlite.Store, agent, id string, how death) (uint64, error) {
	return diesWith(ctx, js, store, agent, id, `{"taskId":"`+id+`"}`, how)
}

// diesWith is dies for a task of that body.
func diesWith(ctx context.Context, js jetstream.JetStream, store *sqlite.Store, agent, id, body string, how death) (uint64, error) {
	subject := contract.TaskSubject(agent, "code_review")
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	m.Header.Set("Nats-Msg-Id", id)
	m.Header.Set("X-Task-ID", id)
	ack, err := js.PublishMsg(ctx, m)
	if err != nil {
		return 0, err
	}
	stream, err := js.Stream(ctx, fleet.StreamTasks)
	if err != nil {
		return 0, err
	}
	raw, err := stream.GetMsg(ctx, ack.Sequence)
	if err != nil {
		return 0, err
	}
	at, key := lifecycle.MicrosOf(raw.Time), lifecycle.MessageKey{Stream: contract.StreamID(fleet.StreamTasks), Seq: ack.Sequence}
	stored := lifecycle.Event{ID: lifecycle.NewEventID(id, "stored"), Kind: lifecycle.Published, Provenance: lifecycle.Observed, At: at, TaskID: id, Message: key, Agent: agent}
	stored.Detail.Subject, stored.Detail.MsgID, stored.Detail.Type = subject, id, "code_review"
	died := lifecycle.Event{ID: lifecycle.NewEventID(id, "died"), At: at + 1, Message: key, Agent: agent, Consumer: fleet.WorkerName(agent), Attempt: 3}
	how(&died)
	if died.Kind == lifecycle.Terminated { // The broker removes it.
		if err := stream.DeleteMsg(ctx, ack.Sequence); err != nil {
			return 0, err
		}
	}
	payload := lifecycle.Payload{Message: key, Headers: m.Header, Body: m.Data, Size: int64(len(m.Data)), At: at}
	_, err = store.Append(ctx, lifecycle.Batch{Events: []lifecycle.Event{stored, died}, Payloads: []lifecycle.Payload{payload}})
	return ack.Sequence, err
}

func (w *world) dies(agent, id string, how death) uint64 {
	w.t.Helper()
	seq, err := dies(w.t.Context(), w.js, w.store, agent, id, how)
	if err != nil {
		w.t.Fatal(err)
	}
	return seq
}

// append stores lines as their collectors would.
func (w *world) append(b lifecycle.Batch) {
	w.t.Helper()
	if _, err := w.store.Append(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
}

// buried waits until the task is dead-lettered and what was planned is settled.
func (w *world) buried(id string) lifecycle.TaskRecord {
	w.t.Helper()
	var r lifecycle.TaskRecord
	testkit.Eventually(w.t, patience, func() (err error) {
		if r, err = w.store.Task(w.t.Context(), id); err == nil && (r.Summary.State != lifecycle.StateDeadLettered || r.Summary.Category == "") {
			err = fmt.Errorf("task %s is %s, and its entry says %q", id, r.Summary.State, r.Summary.Category)
		}
		return err
	})
	return r
}

// entries reads all entries, by the sequence of their message.
func entries(ctx context.Context, js jetstream.JetStream) (map[string][]*jetstream.RawStreamMsg, error) {
	stream, err := js.Stream(ctx, fleet.StreamDLQ)
	if err != nil {
		return nil, err
	}
	out := map[string][]*jetstream.RawStreamMsg{}
	for seq := stream.CachedInfo().State.FirstSeq; seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if err != nil {
			return nil, err
		}
		out[m.Header.Get("X-DLQ-Seq")] = append(out[m.Header.Get("X-DLQ-Seq")], m)
	}
	return out, nil
}

func (w *world) entries() map[string][]*jetstream.RawStreamMsg {
	w.t.Helper()
	all, err := entries(w.t.Context(), w.js)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// left reports how many messages are in TASKS.
func (w *world) left() uint64 {
	w.t.Helper()
	stream, err := w.js.Stream(w.t.Context(), fleet.StreamTasks)
	if err != nil {
		w.t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}
