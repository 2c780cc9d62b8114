package deadletters_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/collectors"
	"fleetglass/collectors/deadletters"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

const patience = 30 * time.Second

// world is a broker, a store, and a collector between them.
type world struct {
	t     *testing.T
	js    jetstream.JetStream
	store *sqlite.Store
	read  *deadletters.Collector
	stop  func()
}

func newWorld(t *testing.T, js jetstream.JetStream) *world {
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
	w := &world{t: t, js: js, store: store}
	w.start()
	return w
}

// start starts a collector; stop stops it and waits.
func (w *world) start() {
	w.t.Helper()
	c, err := deadletters.New(deadletters.Config{Every: 20 * time.Millisecond, Config: collectors.Config{
		JetStream: w.js, Appender: w.store, Watermarks: w.store, Contract: fleet.NewContract(""), Retry: 5 * time.Millisecond, Watch: 20 * time.Millisecond,
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	w.read, w.stop = c, func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}
	w.t.Cleanup(w.stop)
}

func (w *world) publish(subject, body string, headers ...string) *jetstream.PubAck {
	w.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	ack, err := w.js.PublishMsg(w.t.Context(), m)
	if err != nil {
		w.t.Fatal(err)
	}
	return ack
}

// eventually waits until the task is in the state.
func (w *world) eventually(task string, want lifecycle.State) lifecycle.TaskRecord {
	w.t.Helper()
	var r lifecycle.TaskRecord
	testkit.Eventually(w.t, patience, func() (err error) {
		if r, err = w.store.Task(w.t.Context(), task); err == nil && r.Summary.State != want {
			err = fmt.Errorf("task %s is %s, want %s", task, r.Summary.State, want)
		}
		return err
	})
	return r
}

// readPast waits until all entries that are there now were read.
func (w *world) readPast() {
	w.t.Helper()
	tasks, err := w.js.Stream(w.t.Context(), fleet.StreamTasks)
	if err != nil {
		w.t.Fatal(err)
	}
	now := lifecycle.MicrosOf(tasks.CachedInfo().TimeStamp)
	testkit.Eventually(w.t, patience, func() error {
		if to := w.read.ReadTo(); to < now {
			return fmt.Errorf("read up to %s, want %s", to.Time(), now.Time())
		}
		return nil
	})
}

func TestEveryStreamOfEntriesIsReadAndEachEntryCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.JetStream(t, testkit.Broker(t)))
	for range 2 { // Another monitor writes a second one of the same message.
		w.publish("genbrain.dlq.cto.transient", `{"taskId":"T-1"}`, "X-DLQ-Stream", "ARCHIVE", "X-DLQ-Seq", "7", "X-DLQ-Reason", "reset by peer", "X-DLQ-Path", "max_deliveries")
	}
	w.eventually("T-1", lifecycle.StateDeadLettered)
	w.readPast()
	r := w.eventually("T-1", lifecycle.StateDeadLettered)
	if len(r.Messages) != 1 || len(r.Messages[0].Entries) != 2 || r.Messages[0].Dead.Entry != "DLQ:1" || r.Summary.Reason != "reset by peer" {
		t.Errorf("got %d messages of reason %q, %+v; want one with both entries", len(r.Messages), r.Summary.Reason, r.Messages)
	}
	p, err := w.store.Payload(t.Context(), lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "DLQ"}, Seq: 1})
	if err != nil || string(p.Body) != `{"taskId":"T-1"}` || p.Headers["X-DLQ-Reason"][0] != "reset by peer" {
		t.Errorf("the entry is kept as %+v, %v", p, err)
	}
	if part := w.read.Health()[0]; part.State != health.OK || part.Name != "deadletters" || part.Handled != 2 {
		t.Errorf("health is %+v", part)
	}
}

func TestStreamsOfSingleAgentsAreFoundWhileItRuns(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	w := newWorld(t, js)
	testkit.Eventually(t, patience, func() error {
		if part := w.read.Health()[0]; part.State != health.NotConfigured {
			return fmt.Errorf("health without a stream is %+v", part)
		}
		return nil
	})
	for _, agent := range []string{"cto", "cso"} {
		stream := jetstream.StreamConfig{Name: "DLQ_" + agent, Subjects: []string{"genbrain.dlq." + agent + ".>"}}
		if _, err := js.CreateStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
		w.publish("genbrain.dlq."+agent+".permanent", "{}", "X-Task-ID", "T-"+agent, "X-DLQ-Reason", "no budget")
		r := w.eventually("T-"+agent, lifecycle.StateDeadLettered)
		if got := r.Messages[0].Key.String(); got != "DLQ_"+agent+":1" {
			t.Errorf("the entry of %s stands for %s, want itself", agent, got)
		}
	}
}

func TestOfAStreamThatTakesTasksTooOnlyEntriesAreRead(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"genbrain.>"}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, js)
	w.publish("genbrain.agents.cto.tasks.review", "{}", "X-Task-ID", "T-2")
	w.publish("genbrain.dlq.cto.permanent", "{}", "X-Task-ID", "T-1", "X-DLQ-Reason", "no budget")
	w.eventually("T-1", lifecycle.StateDeadLettered)
	durable, err := stream.Consumer(t.Context(), "fleetglass-deadletters")
	if err != nil {
		t.Fatal(err)
	}
	if info := durable.CachedInfo(); info.Delivered.Consumer != 1 || w.read.Health()[0].Quarantine != 0 {
		t.Errorf("%d messages were delivered, %d are in quarantine; want the entry alone", info.Delivered.Consumer, w.read.Health()[0].Quarantine)
	}
}

func TestAStreamThatForgetsWhatIsReadIsNotRead(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "DLQ", Subjects: []string{"genbrain.dlq.>"}, Retention: jetstream.WorkQueuePolicy,
	}); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, js)
	w.publish("genbrain.dlq.cto.permanent", "{}")
	testkit.Eventually(t, patience, func() error {
		if part := w.read.Health()[0]; part.State != health.Down || part.Detail == "" {
			return fmt.Errorf("health is %+v", part)
		}
		return nil
	})
	stream, err := js.Stream(t.Context(), "DLQ")
	if err != nil {
		t.Fatal(err)
	}
	if s := stream.CachedInfo().State; s.Msgs != 1 || s.Consumers != 0 || w.read.ReadTo().Known() {
		t.Errorf("the stream has %d messages and %d consumers, read up to %d; want it untouched", s.Msgs, s.Consumers, w.read.ReadTo())
	}
}

func TestForgedEntriesKillNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.JetStream(t, testkit.Broker(t)))
	k := func(seq uint64) lifecycle.MessageKey {
		return lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}
	}
	var b lifecycle.Batch
	for i, task := range []string{"lives", "other", "died"} {
		ack := w.publish("genbrain.agents.cto.tasks.x", "{}", "X-Task-ID", task)
		e := lifecycle.Event{ID: lifecycle.EventID(i + 1), Kind: lifecycle.Published, At: lifecycle.MicrosOf(time.Now()), TaskID: task, Message: k(ack.Sequence), Agent: "cto"}
		e.Detail.Subject = "genbrain.agents.cto.tasks.x"
		b.Events = append(b.Events, e)
		if task != "lives" {
			e.ID, e.Kind, e.Attempt, e.ConsumerSeq, e.Detail = lifecycle.EventID(i+100), lifecycle.Terminated, 1, uint64(i), lifecycle.Detail{}
			b.Events = append(b.Events, e)
		}
	}
	if _, err := w.store.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	about := func(seq, task string) []string {
		return []string{"X-DLQ-Stream", "TASKS", "X-DLQ-Seq", seq, "X-Task-ID", task}
	}
	w.publish("genbrain.dlq.cto.permanent", "{}", about("1", "lives")...)
	w.publish("genbrain.dlq.cto.permanent", "{}", about("2", "lives")...)
	w.publish("genbrain.dlq.cto.permanent", "{}", about("3", "died")...)
	w.publish("genbrain.dlq.cto.permanent", "{}", "X-DLQ-Stream", "TASKS", "X-DLQ-Seq", "not a number")
	w.eventually("died", lifecycle.StateDeadLettered)
	w.readPast()
	for task, want := range map[string]lifecycle.State{"lives": lifecycle.StatePublished, "other": lifecycle.StateTerminated} {
		r := w.eventually(task, want)
		if len(r.Summary.Anomalies) == 0 || r.Summary.Category != "" {
			t.Errorf("task %s has the anomalies %v and the category %q, want the entry to be named and not to count", task, r.Summary.Anomalies, r.Summary.Category)
		}
	}
	if _, n, err := w.store.Quarantine(t.Context(), 5); n != 1 || err != nil {
		t.Errorf("%d lines in quarantine, %v; want one", n, err)
	}
}

func TestAfterARestartNothingIsSaidBeforeTheQueueWasReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.JetStream(t, testkit.Broker(t)))
	w.readPast()
	w.stop()
	w.publish("genbrain.dlq.cto.transient", "{}", "X-Task-ID", "T-1")
	w.start()
	if to := w.read.ReadTo(); to.Known() {
		t.Errorf("it says that it read up to %s before it began", to.Time())
	}
	w.readPast()
	if _, err := w.store.Task(t.Context(), "T-1"); errors.Is(err, lifecycle.ErrNotFound) {
		t.Error("it says that it read everything, and the store does not have it")
	}
}
