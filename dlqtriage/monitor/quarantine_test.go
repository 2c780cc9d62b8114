package monitor_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/monitor"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// actionsOn is what acts on messages in flight.
func actionsOn(store *sqlite.Store) (*dlqtriage.Actions, error) {
	return dlqtriage.NewActions(dlqtriage.ActionsConfig{
		Entries: store, Tasks: store, Decisions: store, Fleet: store, Policy: dlqtriage.DefaultPolicy, Contract: contract,
	})
}

// aWorker is a worker's consumer that does not answer.
func aWorker(t *testing.T, js jetstream.JetStream, agent string) jetstream.Consumer {
	t.Helper()
	c, err := js.CreateOrUpdateConsumer(t.Context(), fleet.StreamTasks, contract.Worker(agent, fleet.Timing{}))
	if err == nil {
		cfg := c.CachedInfo().Config
		cfg.MaxAckPending = 100
		c, err = js.CreateOrUpdateConsumer(t.Context(), fleet.StreamTasks, cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// held publishes a task, lets a worker take it, and tells the store what capture and the synchronizer would.
func held(t *testing.T, js jetstream.JetStream, worker jetstream.Consumer, store *sqlite.Store, agent, id string) lifecycle.MessageKey {
	t.Helper()
	subject := contract.TaskSubject(agent, "code_review")
	m := nats.NewMsg(subject)
	m.Data = []byte(`{"taskId":"` + id + `"}`)
	m.Header.Set("Nats-Msg-Id", id)
	m.Header.Set("X-Task-ID", id)
	ack, err := js.PublishMsg(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := worker.Fetch(1, jetstream.FetchMaxWait(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	taken := <-batch.Messages()
	if taken == nil {
		t.Fatalf("no delivery: %v", batch.Error())
	}
	meta, err := taken.Metadata()
	if err != nil || meta.Sequence.Stream != ack.Sequence {
		t.Fatalf("the worker got message %d, want %d: %v", meta.Sequence.Stream, ack.Sequence, err)
	}
	at, key := lifecycle.MicrosOf(meta.Timestamp), lifecycle.MessageKey{Stream: contract.StreamID(fleet.StreamTasks), Seq: ack.Sequence}
	stored := lifecycle.Event{ID: lifecycle.NewEventID(id, "stored"), Kind: lifecycle.Published, Provenance: lifecycle.Observed, At: at, TaskID: id, Message: key, Agent: agent}
	stored.Detail.Subject, stored.Detail.MsgID, stored.Detail.Type = subject, id, "code_review"
	given := lifecycle.Event{
		ID: lifecycle.NewEventID(id, "delivered"), Kind: lifecycle.Delivered, Provenance: lifecycle.Broker, At: at + 1, Message: key, Agent: agent,
		Consumer: fleet.WorkerName(agent), Attempt: 1, ConsumerSeq: meta.Sequence.Consumer, Detail: lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}},
	}
	info, err := worker.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state := lifecycle.ConsumerState{
		Stream: key.Stream, Name: fleet.WorkerName(agent), ObservedAt: at + 2, AckWait: info.Config.AckWait, MaxDeliver: info.Config.MaxDeliver,
		MaxAckPending: info.Config.MaxAckPending, DeliveredCSeq: info.Delivered.Consumer, DeliveredSeq: info.Delivered.Stream,
	}
	if _, err := store.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{stored, given}, Consumers: []lifecycle.ConsumerState{state}}); err != nil {
		t.Fatal(err)
	}
	return key
}

func quarantine(t *testing.T, store *sqlite.Store, key lifecycle.MessageKey) dlqtriage.Action {
	t.Helper()
	actions, err := actionsOn(store)
	if err != nil {
		t.Fatal(err)
	}
	a, err := actions.ActHeld(t.Context(), dlqtriage.HeldRequest{
		Message: key, Action: dlqtriage.ActionQuarantine, Reason: "nobody knows what it did", Key: key.String(), Actor: decision.Actor{Name: "ann", Via: decision.ViaAPI},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAMessageInFlightIsQuarantined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := aWorker(t, w.js, "cto")
	key := held(t, w.js, worker, w.store, "cto", "t-1")
	actions, err := actionsOn(w.store)
	if err != nil {
		t.Fatal(err)
	}
	w.run(2, func(c *monitor.Config) { c.Actions, c.OnlyLook = actions, true })
	asked := quarantine(t, w.store, key)
	testkit.Eventually(t, patience, func() error {
		a, err := actions.Action(t.Context(), asked.ID)
		if err == nil && a.Status != dlqtriage.ActionSucceeded {
			err = fmt.Errorf("the action is %s: %s", a.Status, a.Why)
		}
		return err
	})
	testkit.Eventually(t, patience, func() error {
		r, err := w.store.Task(t.Context(), "t-1")
		if err == nil && r.Summary.State != lifecycle.StateTriaged {
			err = fmt.Errorf("the task is %s", r.Summary.State)
		}
		return err
	})
	testkit.Eventually(t, patience, func() error { // Its entry is read from the queue a moment later.
		e, err := w.store.Entry(t.Context(), dlqtriage.EntryID(key))
		if err == nil && (e.Status != dlqtriage.StatusQuarantined || !e.Copied() || e.Actor != "ann") {
			err = fmt.Errorf("the entry is %+v", e)
		}
		return err
	})
	copies := w.entries()[fmt.Sprint(key.Seq)]
	if len(copies) != 1 || string(copies[0].Data) != `{"taskId":"t-1"}` || copies[0].Header.Get(fleet.HeaderTriageAction) != asked.ID || w.left() != 0 {
		t.Errorf("%d messages are left, and the copies are %v", w.left(), copies)
	}
	info, err := worker.Info(t.Context())
	if err != nil || info.NumAckPending != 0 {
		t.Errorf("the broker did not free the slot: %+v, %v", info, err)
	}
}

func TestAMessageThatIsAnsweredMeanwhileIsNotQuarantined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := held(t, w.js, aWorker(t, w.js, "cto"), w.store, "cto", "t-1")
	asked := quarantine(t, w.store, key)
	stream, err := w.js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), key.Seq); err != nil { // As an acknowledgement does.
		t.Fatal(err)
	}
	actions, err := actionsOn(w.store)
	if err != nil {
		t.Fatal(err)
	}
	w.run(1, func(c *monitor.Config) { c.Actions, c.OnlyLook = actions, true })
	testkit.Eventually(t, patience, func() error {
		a, err := actions.Action(t.Context(), asked.ID)
		if err == nil && (a.Status != dlqtriage.ActionFailed || a.Why == "") {
			err = fmt.Errorf("the action is %s: %s", a.Status, a.Why)
		}
		return err
	})
	if queue, err := w.js.Stream(t.Context(), fleet.StreamDLQ); err != nil || queue.CachedInfo().State.Msgs != 0 {
		t.Errorf("the queue has %d entries, %v", queue.CachedInfo().State.Msgs, err)
	}
}

// heldPoints are the steps of a quarantine in their order.
var heldPoints = []string{"before claim", "after claim", "before publish", "after publish", "before delete", "after delete", "before settle", "after settle"}

// TestAQuarantineThatIsKilledAnywhereLeavesOneEntryAndNoSecondDelivery kills one process after the other, each at another point of the quarantine of a message that
// a worker holds.
func TestAQuarantineThatIsKilledAnywhereLeavesOneEntryAndNoSecondDelivery(t *testing.T) {
	t.Parallel()
	srv := testkit.Broker(t)
	js := testkit.JetStream(t, srv)
	path := filepath.Join(t.TempDir(), "store.db")
	worker := aWorker(t, js, "cto")
	var all []string
	for i, p := range heldPoints {
		all = append(all, prepareHeld(t, js, worker, path, fmt.Sprint("t-", i)))
		steps := child(t, srv.URL(), path, p, nil)
		if len(steps) == 0 || steps[len(steps)-1] != p {
			t.Fatalf("it was to die %s, and did %v", p, steps)
		}
	}
	last := child(t, srv.URL(), path, "", func() bool { return allBuried(t, js, all) == nil && settledAll(t, path, len(all)) })
	for _, step := range last {
		if !slices.Contains(append(points, append(heldPoints, "before give back", "after give back")...), step) {
			t.Errorf("no process died at the point %q", step)
		}
	}
	found, err := entries(t.Context(), js)
	if err := errors.Join(err, allBuried(t, js, all)); err != nil {
		t.Fatal(err)
	}
	for _, seq := range all {
		if len(found[seq]) != 1 || len(found[seq][0].Data) == 0 {
			t.Errorf("message %s has %d entries: %v", seq, len(found[seq]), found[seq])
		}
	}
	info, err := worker.Info(t.Context())
	if err != nil || info.Delivered.Consumer != uint64(len(all)) || info.NumAckPending != 0 {
		t.Errorf("%d messages were delivered %d times, and %d are pending: %v", len(all), info.Delivered.Consumer, info.NumAckPending, err)
	}
}

// prepareHeld lets a worker take a task whose quarantine is then asked for, and returns its sequence.
func prepareHeld(t *testing.T, js jetstream.JetStream, worker jetstream.Consumer, path, id string) string {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	key := held(t, js, worker, store, "cto", id)
	quarantine(t, store, key)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(key.Seq)
}

// settledAll reports whether all quarantines have ended well.
func settledAll(t *testing.T, path string, n int) bool {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		return false
	}
	defer func() { _ = store.Close() }()
	all, err := store.Operations(t.Context(), nil, 100)
	open := slices.ContainsFunc(all, func(a decision.Action) bool { return a.Open })
	return err == nil && len(all) == n && !open
}
