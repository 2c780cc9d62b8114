package acks_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

const patience = 20 * time.Second

// rig is a broker with one worker, a SQLite store and the collector between them.
type rig struct {
	t     *testing.T
	js    jetstream.JetStream
	store *sqlite.Store
}

func newRig(t *testing.T, domain string) *rig {
	t.Helper()
	r := &rig{t: t, js: broker(t, domain)}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	r.store = store
	return r
}

// start runs a collector that knows nothing but what the store remembers.
func (r *rig) start() (c *collectors.Collector, stop func()) {
	r.t.Helper()
	contract := fleet.NewContract("")
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: r.js, Appender: r.store, Watermarks: r.store, Contract: contract})
	if err != nil {
		r.t.Fatal(err)
	}
	c, err = acks.New(collectors.Config{JetStream: r.js, Appender: r.store, Watermarks: r.store, Incarnations: inc, Contract: contract,
		Retry: 10 * time.Millisecond})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
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
			r.t.Error(err)
		}
	}
	r.t.Cleanup(stop)
	return c, stop
}

// message waits until the facts of a message satisfy the check. No publish line is read here, so that nothing is doubted that the broker can have
// accepted.
func (r *rig) message(k lifecycle.MessageKey, check func(lifecycle.MessageFacts) error) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		found, err := r.store.MessagesIn(r.t.Context(), k.Stream, k.Seq, k.Seq, 1)
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return fmt.Errorf("message %s is not known", k)
		}
		return check(found[0].Believed())
	})
}

func key(seq uint64) lifecycle.MessageKey {
	return lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: fleet.StreamTasks}, Seq: seq}
}

func TestAnswersBecomeFactsAlsoWithADomainAndLongSubjects(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"", "hub"} {
		r := newRig(t, domain)
		c, _ := r.start()
		m := deliver(t, r.js, "genbrain.agents.a1.tasks.t")
		answer(t, r.js, m, "+WPI")
		answer(t, r.js, m, "-NAK")
		m = next(t, r.js)
		answer(t, r.js, m, "+ACK")
		r.message(key(1), func(f lifecycle.MessageFacts) error {
			if len(f.Attempts) != 2 || !f.Attempts[0].LastBeat.Known() || !f.Attempts[0].NakAt.Known() || !f.Attempts[1].AckAt.Known() || f.Agent != "a1" {
				return fmt.Errorf("domain %q: facts %+v", domain, f)
			}
			return nil
		})
		if s := c.Stats(); s.Quarantined != 0 {
			t.Errorf("domain %q: %d lines quarantined", domain, s.Quarantined)
		}
	}
}

func TestBogusAcksAreQuarantined(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.start()
	m := deliver(t, r.js, "genbrain.agents.a1.tasks.t")
	now := time.Now().UnixNano()
	for _, subject := range []string{
		fmt.Sprintf("$JS.ACK.TASKS.a1-task-worker.1.999.1.%d.0", now), // Not there yet: it must not settle the future message 999.
		fmt.Sprintf("$JS.ACK.TASKS.a1-task-worker.1.0.1.%d.0", now),
		"$JS.ACK.TASKS.a1-task-worker.1.x.1.2.0",
	} {
		if err := r.js.Conn().Publish(subject, []byte("+ACK")); err != nil {
			t.Fatal(err)
		}
	}
	answer(t, r.js, m, "+ACK")
	r.message(key(1), func(f lifecycle.MessageFacts) error {
		if len(f.Attempts) != 1 || !f.Attempts[0].AckAt.Known() {
			return fmt.Errorf("facts %+v", f)
		}
		return nil
	})
	lines, n, err := r.store.Quarantine(t.Context(), 10)
	if err != nil || n != 3 {
		t.Fatalf("%d lines quarantined, error %v, want 3: %+v", n, err, lines)
	}
	if found, err := r.store.MessagesIn(t.Context(), key(1).Stream, 2, 1<<40, 10); err != nil || len(found) != 0 {
		t.Errorf("made-up messages %+v, error %v", found, err)
	}
}

func TestAcksOfMessageNumberOneOfAStreamCreatedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	_, stop := r.start()
	answer(t, r.js, deliver(t, r.js, "genbrain.agents.a1.tasks.t"), "+ACK")
	r.message(key(1), func(lifecycle.MessageFacts) error { return nil })
	late := deliver(t, r.js, "genbrain.agents.a1.tasks.t") // Number 2; answered only after the stream is gone.
	stop()
	if err := r.js.DeleteStream(t.Context(), fleet.StreamTasks); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Provision(t.Context(), r.js, fleet.Streams{Contract: fleet.NewContract("")}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.js.CreateConsumer(t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
		Durable: fleet.WorkerName("a1"), AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "genbrain.agents.a1.tasks.>",
	}); err != nil {
		t.Fatal(err)
	}
	answer(t, r.js, deliver(t, r.js, "genbrain.agents.a1.tasks.t"), "+TERM no")
	answer(t, r.js, late, "+ACK")
	again := key(1)
	again.Stream.Epoch = lifecycle.MicrosOf(tasks(t, r.js).CachedInfo().Created)
	r.start()
	r.message(again, func(f lifecycle.MessageFacts) error {
		if len(f.Attempts) != 1 || !f.Attempts[0].TermAt.Known() || f.Attempts[0].AckAt.Known() {
			return fmt.Errorf("second life: %+v", f)
		}
		return nil
	})
	r.message(key(1), func(f lifecycle.MessageFacts) error {
		if len(f.Attempts) != 1 || f.Attempts[0].TermAt.Known() || !f.Attempts[0].AckAt.Known() {
			return fmt.Errorf("first life: %+v", f)
		}
		return nil
	})
	r.message(key(2), func(f lifecycle.MessageFacts) error { // The late answer belongs to the life in which it was published.
		if !f.Attempts[0].AckAt.Known() {
			return fmt.Errorf("late answer: %+v", f)
		}
		return nil
	})
}

// An answer that the broker cannot have accepted is a claim, and no attempt: its message was not delivered, or the consumer does not exist.
func TestAnAnswerWithoutProofIsAClaim(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.start()
	if _, err := r.js.Publish(t.Context(), "genbrain.agents.a1.tasks.t", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for _, consumer := range []string{fleet.WorkerName("a1"), "nobody"} {
		subject := fmt.Sprintf("$JS.ACK.TASKS.%s.1.1.1.%d.0", consumer, time.Now().UnixNano())
		if err := r.js.Conn().Publish(subject, []byte("+ACK")); err != nil {
			t.Fatal(err)
		}
	}
	r.message(key(1), func(f lifecycle.MessageFacts) error {
		if len(f.Claims) != 2 || len(f.Attempts) != 0 || f.Consumer != "" {
			return fmt.Errorf("facts %+v, want two claims and nothing else", f)
		}
		return nil
	})
	answer(t, r.js, next(t, r.js), "+ACK")
	r.message(key(1), func(f lifecycle.MessageFacts) error {
		if len(f.Attempts) != 1 || !f.Attempts[0].AckAt.Known() {
			return fmt.Errorf("facts %+v, want the acknowledged attempt", f)
		}
		return nil
	})
}
