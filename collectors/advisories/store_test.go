package advisories_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/collectors"
	"fleetglass/collectors/advisories"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

func TestAttemptsUsedUpReachTheStore(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	contract := fleet.NewContract("")
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: js, Appender: store, Watermarks: store, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	c, err := advisories.New(collectors.Config{JetStream: js, Appender: store, Watermarks: store, Incarnations: inc, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	worker, err := js.CreateConsumer(t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
		Durable: fleet.WorkerName("a1"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute, MaxDeliver: 1,
		FilterSubject: "genbrain.agents.a1.tasks.>",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "genbrain.agents.a1.tasks.t", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	m := next(t, worker)
	if err := m.Nak(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 20*time.Second, func() error {
		if _, err := worker.FetchNoWait(1); err != nil { // The advisory comes with a pull.
			return err
		}
		rec, err := store.Task(t.Context(), "TASKS:1")
		if err != nil {
			return err
		}
		if rec.Summary.State == lifecycle.StateExhausted {
			t.Fatal("an advisory alone exhausts")
		}
		if len(rec.Messages) != 1 || !rec.Messages[0].ExhaustedSaid.Known() {
			return errors.New("nobody says that it is exhausted: " + string(rec.Summary.State))
		}
		return nil
	})
	testkit.Eventually(t, 20*time.Second, func() error { // A batch is counted after the store has it.
		if s := c.Stats(); s.Ignored < 2 || s.Quarantined != 0 {
			return fmt.Errorf("stats %+v, want the stream's and the consumer's creation ignored and nothing quarantined", s)
		}
		return nil
	})
}
