package publishes_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/collectors/publishes"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// What a replica that was killed had in hand the broker gives to the others only when its wait for it ends.
func TestNoPublishIsCalledRefusedWhileALineOfItIsInTheHandOfAKilledReplica(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]int{"nothing else comes": 0, "many others come": 3000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fleet.Streams{})
			r.cfg.Coordinator = collectors.NewBatchCoordinator(r.store)
			stopStored, stopAttempts := r.start(r.stored()), r.start(r.attempts())
			r.publishOnce("T-1")
			stopStored()
			stopAttempts()
			r.publish("T-1", "{}")
			killed := r.inHand()
			r.publishMany(meanwhile)
			r.start(r.stored())
			r.start(r.attempts())
			r.isNotRefused("T-1", killed)
		})
	}
}

// Who reads beside others cannot know which lines they have in hand. That others read it sees when one of them has got a line of the same kind.
func TestNoPublishIsCalledRefusedWhileALineOfItIsInAnothersHandAndManyCome(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	r.cfg.Coordinator = collectors.NewBatchCoordinator(r.store)
	r.start(r.stored())
	r.cfg.Idle, r.cfg.Linger = 50*time.Millisecond, patience // A batch is what comes at once.
	r.start(r.attempts())
	const some = 50
	ids := make([]string, some)
	for i := range ids {
		ids[i] = fmt.Sprint("T-", i)
	}
	r.publishOnce(ids...)
	r.besides(fleet.CaptureRaw, publishes.SourceAttempts, func(i int) { r.publish(fmt.Sprint("other-", i), "{}") })
	killed := r.besides(fleet.CapturePub, publishes.SourceStored, func(i int) { r.publish(ids[i], "{}") })
	r.publishMany(3000)
	r.isNotRefused(killed.Headers().Get("Nats-Msg-Id"), killed)
}

// Lines of one process are committed together while they have a backlog: those of publishes do not wait for attempts that wait for them.
func TestAttemptsThatWaitForALineDoNotKeepTheOtherLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	r.cfg.Coordinator = collectors.NewBatchCoordinator(r.store)
	stop := r.start(r.stored())
	r.publish("T-0", "{}")
	r.task("T-0", func(lifecycle.TaskRecord) error { return nil })
	stop()
	r.publish("T-1", "{}")
	killed := r.inHand()
	r.start(r.stored())
	r.cfg.Idle, r.cfg.Linger = 100*time.Millisecond, patience // A batch is what comes at once.
	attempts, err := r.attempts()
	r.start(attempts, err)
	begun := time.Time{}
	r.eventually(func() error { // Its first batch is complete, and waits.
		durable, err := r.js.Consumer(t.Context(), fleet.CaptureRaw, collectors.DurableName("", publishes.SourceAttempts))
		if err == nil && begun.IsZero() && durable.CachedInfo().NumAckPending > 0 {
			begun = time.Now()
		}
		if err == nil && (begun.IsZero() || time.Since(begun) < 5*r.cfg.Idle) {
			err = errors.New("no attempt was read yet")
		}
		return err
	})
	const many = 3000
	for i := range many {
		if _, err := r.js.PublishAsync("genbrain.agents.backend.tasks.code_review", []byte("{}"), jetstream.WithMsgID(fmt.Sprint("M-", i))); err != nil {
			t.Fatal(err)
		}
	}
	r.task(fmt.Sprint("M-", many-1), func(rec lifecycle.TaskRecord) error { return knows(rec, 1, 0) })
	if n := attempts.Stats().Lines; n > 0 {
		t.Errorf("%d attempts were stored before the line that may tell of them", n)
	}
	if err := killed.Nak(); err != nil {
		t.Fatal(err)
	}
	r.task("T-1", func(rec lifecycle.TaskRecord) error { return knows(rec, 1, 1) })
	r.task(fmt.Sprint("M-", many-1), func(rec lifecycle.TaskRecord) error { return knows(rec, 1, 1) })
}

// publishOnce publishes tasks, and returns when their stream has forgotten their ids.
func (r *rig) publishOnce(ids ...string) {
	r.t.Helper()
	tasks, err := r.js.Stream(r.t.Context(), fleet.StreamTasks)
	if err != nil {
		r.t.Fatal(err)
	}
	cfg := tasks.CachedInfo().Config
	cfg.Duplicates = fleet.LeastWindow
	if _, err := r.js.UpdateStream(r.t.Context(), cfg); err != nil {
		r.t.Fatal(err)
	}
	for _, id := range ids {
		r.publish(id, "{}")
	}
	last := time.Now()
	for _, id := range ids {
		r.task(id, func(rec lifecycle.TaskRecord) error { return knows(rec, 1, 1) })
	}
	r.eventually(func() error {
		if time.Since(last) < cfg.Duplicates+1500*time.Millisecond { // Later than any stream forgets.
			return errors.New("the stream may still swallow a second one")
		}
		return nil
	})
}

// publishMany publishes so many other tasks.
func (r *rig) publishMany(n int) {
	r.t.Helper()
	for i := range n {
		if _, err := r.js.PublishAsync("genbrain.agents.backend.tasks.code_review", []byte("{}"), jetstream.WithMsgID(fmt.Sprint("M-", i))); err != nil {
			r.t.Fatal(err)
		}
	}
	<-r.js.PublishAsyncComplete()
}

// isNotRefused looks at a task that was published twice until its second line, which somebody was killed with, comes again, and until it is stored.
func (r *rig) isNotRefused(id string, line jetstream.Msg) {
	r.t.Helper()
	for began := time.Now(); time.Since(began) < 4*time.Second; {
		rec, err := r.store.Task(r.t.Context(), id)
		if err != nil {
			r.t.Fatal(err)
		}
		if slices.Contains(rec.Summary.Anomalies, lifecycle.AnomalyPublishRefused) {
			r.t.Fatalf("after %s a publish is called refused whose line nobody has read", time.Since(began))
		}
	}
	if err := line.Nak(); err != nil { // As if the wait were over.
		r.t.Fatal(err)
	}
	r.task(id, func(rec lifecycle.TaskRecord) error { return knows(rec, 2, 2) })
}

// besides asks a durable for one line beside those who read, and publishes until it gets one.
func (r *rig) besides(stream, source string, publish func(int)) jetstream.Msg {
	r.t.Helper()
	durable, err := r.js.Consumer(r.t.Context(), stream, collectors.DurableName("", source))
	if err != nil {
		r.t.Fatal(err)
	}
	got, err := durable.Fetch(1)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; ; i++ {
		publish(i)
		select {
		case msg := <-got.Messages():
			return msg
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// inHand takes the next publish line, as a replica does that is killed before it acknowledges.
func (r *rig) inHand() jetstream.Msg {
	r.t.Helper()
	durable, err := r.js.Consumer(r.t.Context(), fleet.CapturePub, collectors.DurableName("", publishes.SourceStored))
	if err != nil {
		r.t.Fatal(err)
	}
	msg, err := durable.Next()
	if err != nil {
		r.t.Fatal(err)
	}
	return msg
}

// knows errors until so many messages and attempts of a task are known.
func knows(rec lifecycle.TaskRecord, messages, attempts int) error {
	got := 0
	for _, p := range rec.Facts.Publishes {
		got += len(p.Attempts())
	}
	if rec.Summary.Messages != messages || got != attempts {
		return fmt.Errorf("%d messages and %d attempts are known, want %d and %d", rec.Summary.Messages, got, messages, attempts)
	}
	return nil
}
