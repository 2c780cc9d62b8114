package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestARetryReachesTheTasksOnceAndItsRecordSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	entry := w.dead("t1")
	a := w.act(retryOf(entry, "k1"))
	if a.Status != dlqtriage.ActionQueued || a.MessageID != "t1:r1" {
		t.Errorf("action %+v", a)
	}
	w.sentOnce("t1", w.ended(a.ID))
	w.empty()
	again := w.act(retryOf(entry, "k1"))
	if again.ID != a.ID || again.Status != dlqtriage.ActionSucceeded {
		t.Errorf("the same request again: %+v", again)
	}
	var refusal *dlqtriage.Refusal
	if _, err := w.actions.Act(t.Context(), retryOf(entry, "k2")); !errors.As(err, &refusal) || refusal.Code != dlqtriage.RefusedIneligible {
		t.Errorf("another request on what was retried: %v", err)
	}
}

func TestAHundredEqualRequestsAtOnceAreOneAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	entry := w.dead("t1")
	var all sync.WaitGroup
	ids := make([]string, 100)
	for i := range ids {
		all.Go(func() {
			a, err := w.actions.Act(t.Context(), retryOf(entry, "k"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = a.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("actions %s and %s, want one", id, ids[0])
		}
	}
	w.sentOnce("t1", w.ended(ids[0]))
}

func TestOfManyDifferentRequestsAtOnceOneIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	entry := w.dead("t1")
	var all sync.WaitGroup
	var mu sync.Mutex
	taken, busy := []string{}, 0
	for i := range 20 {
		all.Go(func() {
			a, err := w.actions.Act(t.Context(), retryOf(entry, fmt.Sprint(i)))
			mu.Lock()
			defer mu.Unlock()
			var refusal *dlqtriage.Refusal
			switch {
			case err == nil:
				taken = append(taken, a.ID)
			case errors.As(err, &refusal) && refusal.Code == dlqtriage.RefusedBusy:
				busy++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(taken) != 1 || busy != 19 {
		t.Fatalf("%d were taken and %d were told that it is busy, want 1 and 19", len(taken), busy)
	}
	w.runs()
	w.sentOnce("t1", w.ended(taken[0]))
}

func TestARetryWaitsUntilItIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	r := retryOf(w.dead("t1"), "k1")
	delay := int64(1500)
	r.Params.DelayMS = &delay
	begun := time.Now()
	a := w.act(r)
	w.sentOnce("t1", w.ended(a.ID))
	if took := time.Since(begun); took < 1400*time.Millisecond {
		t.Errorf("sent after %s, want 1.5 s", took)
	}
}

// A message without a body may have the headers by which the broker itself speaks to clients.
func TestAMessageWithTheBrokersStatusIsRetriedLikeAnyOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	for i, status := range []string{"100", "404", "408", "409", "503"} {
		task := fmt.Sprint("t", i)
		a := w.act(retryOf(w.deadWith(task, nil, map[string][]string{"X-Task-ID": {task}, "Status": {status}, "Description": {"Consumer Deleted"}}), task))
		w.sentOnce(task, w.ended(a.ID))
	}
}

func TestAParkedMessageThatWasLostIsParkedAgain(t *testing.T) {
	t.Parallel()
	js := broker(t)
	w := newWorld(t, js, temporary(t), func(c *Config) { c.Grace = 200 * time.Millisecond })
	stop := w.runs()
	r := retryOf(w.dead("t1"), "k1")
	delay := int64(1000)
	r.Params.DelayMS = &delay
	a := w.act(r)
	stream, err := js.Stream(t.Context(), "RETRY")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		info, err := stream.Info(t.Context())
		if err == nil && info.State.Msgs != 1 {
			err = errors.New("it is not parked yet")
		}
		return err
	})
	stop()
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.runs()
	w.sentOnce("t1", w.ended(a.ID))
}

func TestTwoPipelinesSendOnce(t *testing.T) {
	t.Parallel()
	js, path := broker(t), temporary(t)
	w := newWorld(t, js, path, nil)
	other := newWorld(t, js, path, nil)
	w.runs()
	other.runs()
	var actions []dlqtriage.Action
	for i := range 20 {
		actions = append(actions, w.act(retryOf(w.dead(fmt.Sprintf("t%d", i)), fmt.Sprint(i))))
	}
	for i, a := range actions {
		w.sentOnce(fmt.Sprintf("t%d", i), w.ended(a.ID))
	}
}

func TestABrokerThatIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(listen string) *embednats.Server {
		srv, err := embednats.Start(embednats.Config{Dir: dir, Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		return srv
	}
	first := start("127.0.0.1:0")
	testkit.Provision(t, first, streams())
	nc, err := nats.Connect(first.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	w := newWorld(t, newJetStream(t, nc), temporary(t), nil)
	address := first.URL()[len("nats://"):]
	w.runs()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	a := w.act(retryOf(w.dead("t1"), "k1"))
	testkit.Eventually(t, patience, func() error {
		if part := w.pipe.Health()[0]; part.Detail == "" {
			return fmt.Errorf("health %+v, want it to say that retries are not sent", part)
		}
		return nil
	})
	second := start(address)
	t.Cleanup(func() { _ = second.Close() })
	w.sentOnce("t1", w.ended(a.ID))
}

func TestAUserThatMayNotReadRetriesIsNamedAsTheCause(t *testing.T) {
	t.Parallel()
	srv := testkit.ConfiguredBroker(t, fmt.Sprintf(`jetstream { store_dir: %q }
		authorization { users: [ { user: operator, password: x }, { user: observer, password: x, permissions: { publish: { deny: "$JS.API.CONSUMER.INFO.RETRY.>" } } } ] }`, t.TempDir()))
	as := func(user string) jetstream.JetStream {
		nc, err := nats.Connect("", nats.InProcessServer(srv), nats.UserInfo(user, "x"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return newJetStream(t, nc)
	}
	if _, err := fleet.Provision(t.Context(), as("operator"), streams()); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, as("observer"), temporary(t), nil)
	w.runs()
	testkit.Eventually(t, patience, func() error {
		if part := w.pipe.Health()[0]; !strings.Contains(part.Detail, "fleetglass provision --permissions") {
			return fmt.Errorf("health %+v, want it to name the permissions that are missing", part)
		}
		return nil
	})
}
