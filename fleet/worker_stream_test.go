package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAWorkerWhoseConsumerIsDeletedGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, b.records, func(context.Context, fleet.Delivery) (string, error) { return "x", nil })
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 +ACK")
	if err := b.js.DeleteConsumer(t.Context(), fleet.StreamTasks, fleet.WorkerName("cto")); err != nil {
		t.Fatal(err)
	}
	b.publish(t, fleet.NewTask{ID: "t-2"})
	b.awaitAnswers(t, "1 +ACK", "1 +ACK")
}

// electing is a broker that finds a consumer once, and then elects a leader: a cluster answers 503 for a while.
type electing struct {
	jetstream.JetStream
	asked atomic.Int32
}

func (e *electing) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	if e.asked.Add(1) > 1 {
		return nil, &jetstream.APIError{Code: 503, ErrorCode: 10008, Description: "JetStream system temporarily unavailable"}
	}
	return e.JetStream.Consumer(ctx, stream, name)
}

func TestAnOpenedWorkerRunsWhileTheClusterElectsALeader(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, err := fleet.NewWorker(fleet.WorkerConfig{
		JetStream: &electing{JetStream: b.js}, Contract: b.contract, Agent: "cto", Records: b.records, Timing: briskTiming(),
		Handle: func(context.Context, fleet.Delivery) (string, error) { return "done", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	b.publish(t, fleet.NewTask{ID: "t"})
	b.awaitAnswers(t, "1 +ACK")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAWorkerWithoutATaskStreamErrors(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	w, err := fleet.NewWorker(fleet.WorkerConfig{
		JetStream: js, Contract: fleet.NewContract(""), Agent: "cto", Records: &checking{},
		Handle: func(context.Context, fleet.Delivery) (string, error) { return "", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err == nil {
		t.Error("ran without a stream")
	}
}
