package release_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/release"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

const patience = 60 * time.Second

var contract = fleet.NewContract("")

// world is a broker with the fleet's streams, a store, and a worker that has one message and does not answer.
type world struct {
	t       *testing.T
	js      jetstream.JetStream
	store   *sqlite.Store
	actions *dlqtriage.Actions
	worker  jetstream.Consumer
	key     lifecycle.MessageKey
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, js: testkit.JetStream(t, testkit.Broker(t))}
	var err error
	if w.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() })
	w.actions, err = dlqtriage.NewActions(dlqtriage.ActionsConfig{
		Entries: w.store, Tasks: w.store, Decisions: w.store, Fleet: w.store, Policy: dlqtriage.DefaultPolicy, Contract: contract,
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.worker, err = w.js.CreateOrUpdateConsumer(t.Context(), fleet.StreamTasks, contract.Worker("cto", fleet.Timing{})); err != nil {
		t.Fatal(err)
	}
	w.hold()
	return w
}

// take lets the worker take a message; nil where there is none.
func (w *world) take(wait time.Duration) jetstream.Msg {
	w.t.Helper()
	batch, err := w.worker.Fetch(1, jetstream.FetchMaxWait(wait))
	if err != nil {
		w.t.Fatal(err)
	}
	return <-batch.Messages()
}

// hold publishes a task, lets the worker take it, and tells the store what capture and the synchronizer would.
func (w *world) hold() {
	w.t.Helper()
	m := nats.NewMsg(contract.TaskSubject("cto", "code_review"))
	m.Data = []byte(`{"taskId":"t-1"}`)
	m.Header.Set("Nats-Msg-Id", "t-1")
	if _, err := w.js.PublishMsg(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
	taken := w.take(10 * time.Second)
	meta, err := taken.Metadata()
	if err != nil {
		w.t.Fatal(err)
	}
	at := lifecycle.MicrosOf(meta.Timestamp)
	w.key = lifecycle.MessageKey{Stream: contract.StreamID(fleet.StreamTasks), Seq: meta.Sequence.Stream}
	stored := lifecycle.Event{ID: lifecycle.NewEventID("stored"), Kind: lifecycle.Published, Provenance: lifecycle.Observed, At: at, TaskID: "t-1", Message: w.key, Agent: "cto"}
	stored.Detail.Subject, stored.Detail.MsgID, stored.Detail.Type = m.Subject, "t-1", "code_review"
	given := lifecycle.Event{
		ID: lifecycle.NewEventID("delivered"), Kind: lifecycle.Delivered, Provenance: lifecycle.Broker, At: lifecycle.MicrosOf(time.Now()), Message: w.key, Agent: "cto",
		Consumer: fleet.WorkerName("cto"), Attempt: 1, ConsumerSeq: meta.Sequence.Consumer, Detail: lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}},
	}
	info, err := w.worker.Info(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	state := lifecycle.ConsumerState{
		Stream: w.key.Stream, Name: fleet.WorkerName("cto"), ObservedAt: at + 2, AckWait: 5 * time.Minute, MaxDeliver: 3, MaxAckPending: 1,
		DeliveredCSeq: info.Delivered.Consumer, DeliveredSeq: info.Delivered.Stream,
	}
	if _, err := w.store.Append(w.t.Context(), lifecycle.Batch{Events: []lifecycle.Event{stored, given}, Consumers: []lifecycle.ConsumerState{state}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) request(force string) dlqtriage.HeldRequest {
	return dlqtriage.HeldRequest{
		Message: w.key, Action: dlqtriage.ActionRelease, Reason: "its pod is gone", Key: "k-1", Actor: decision.Actor{Name: "ann", Via: decision.ViaAPI},
		Force: force != "", ForceReason: force,
	}
}

// relay runs a relay until the test ends, or until it reaches a point, where it dies.
func (w *world) relay(dieAt string) (died chan struct{}) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	died = make(chan struct{})
	r, err := release.New(release.Config{
		JetStream: w.js, Effects: w.store, Actions: w.actions, Every: 10 * time.Millisecond, Lease: 200 * time.Millisecond,
		Step: func(step string) {
			if step == dieAt {
				runtime.Goexit() // Nothing that comes after happens.
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(died)
		_ = r.Run(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		<-died
	})
	return died
}

func (w *world) ended(id string) dlqtriage.Action {
	w.t.Helper()
	var a dlqtriage.Action
	testkit.Eventually(w.t, patience, func() (err error) {
		if a, err = w.actions.Action(w.t.Context(), id); err == nil && !a.Status.Ended() {
			err = fmt.Errorf("the action is %s", a.Status)
		}
		return err
	})
	return a
}

func TestAReleasedMessageGoesToTheNextPull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.relay("")
	if _, err := w.actions.ActHeld(t.Context(), w.request("")); err == nil {
		t.Fatal("effects of which nothing is known did not block a release")
	}
	asked, err := w.actions.ActHeld(t.Context(), w.request("its effects were looked up by hand"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.actions.ActHeld(t.Context(), w.request("its effects were looked up by hand"))
	if err != nil || again.ID != asked.ID {
		t.Errorf("asked again, the action is %q, %v; want %q", again.ID, err, asked.ID)
	}
	if a := w.ended(asked.ID); a.Status != dlqtriage.ActionSucceeded {
		t.Fatalf("the action is %s: %s", a.Status, a.Why)
	}
	taken := w.take(10 * time.Second)
	if taken == nil {
		t.Fatal("nothing was handed back, five minutes before the deadline")
	}
	if meta, err := taken.Metadata(); err != nil || meta.NumDelivered != 2 {
		t.Errorf("it is delivery %d, %v; want the second", meta.NumDelivered, err)
	}
	record, err := w.store.Task(t.Context(), "t-1")
	if err != nil || record.Messages[0].Handled == nil || record.Messages[0].Handled.Actor != "ann" || record.Messages[0].Acting() {
		t.Errorf("the message says of the release %+v, %v", record.Messages[0].Handled, err)
	}
}

// TestAReleaseThatDiesAnywhereTakesOneAttempt lets one relay die at each point of a release. The worker takes what is handed back at once, so that a second answer would take the message from
// it.
func TestAReleaseThatDiesAnywhereTakesOneAttempt(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"before hand back", "after hand back", "before settle", "after settle"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			asked, err := w.actions.ActHeld(t.Context(), w.request("looked up by hand"))
			if err != nil {
				t.Fatal(err)
			}
			<-w.relay(point)
			if point != "before hand back" {
				if taken := w.take(10 * time.Second); taken == nil {
					t.Fatal("nothing was handed back")
				}
			}
			w.relay("")
			if a := w.ended(asked.ID); a.Status != dlqtriage.ActionSucceeded {
				t.Fatalf("the action is %s: %s", a.Status, a.Why)
			}
			if point == "before hand back" {
				if taken := w.take(10 * time.Second); taken == nil {
					t.Fatal("nothing was handed back")
				}
			}
			info, err := w.worker.Info(t.Context())
			if err != nil || info.Delivered.Consumer != 2 || info.NumAckPending != 1 || info.NumRedelivered != 1 {
				t.Errorf("delivered %d times, %d pending: %v; want two deliveries and the second in hand", info.Delivered.Consumer, info.NumAckPending, err)
			}
			if taken := w.take(300 * time.Millisecond); taken != nil {
				t.Error("it was handed back from the second attempt too")
			}
		})
	}
}

func TestAnAttemptThatIsOverIsNotHandedBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked, err := w.actions.ActHeld(t.Context(), w.request("looked up by hand"))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := w.js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), w.key.Seq); err != nil {
		t.Fatal(err)
	}
	w.relay("")
	if a := w.ended(asked.ID); a.Status != dlqtriage.ActionFailed || a.Why == "" {
		t.Errorf("the action is %s: %q", a.Status, a.Why)
	}
}
