package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

// forgets takes from a broker that is down what a consumer has delivered. A broker that is killed, or whose disk is full, forgets its last deliveries: it
// writes the state of a consumer a moment later than the stream.
func (b *leaving) forgets(consumer string) {
	b.t.Helper()
	var states []string
	err := filepath.WalkDir(b.dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "o.dat" && filepath.Base(filepath.Dir(path)) == consumer {
			states = append(states, path)
		}
		return err
	})
	if err != nil || len(states) != 1 {
		b.t.Fatalf("states of %s: %v, %v", consumer, states, err)
	}
	if err := os.Remove(states[0]); err != nil {
		b.t.Fatal(err)
	}
}

// forgetful is a broker with a stream that begins with a message which stays, a program that knows these tasks and is stopped, and their worker.
func forgetful(t *testing.T, tasks ...string) (*leaving, Config, *agent) {
	t.Helper()
	broker := newLeaving(t)
	cfg := settings(t, "--nats-url", broker.srv.URL())
	r := start(t, cfg)
	worker := connectAgent(t, broker.srv.URL())
	if _, err := worker.js.Publish(t.Context(), "genbrain.agents.legal.tasks.contract", []byte(`{"taskId":"older-1"}`)); err != nil {
		t.Fatal(err)
	}
	for _, id := range tasks {
		worker.publish(id, `{"taskId":"`+id+`","type":"code_review"}`)
	}
	for _, id := range tasks {
		r.dies(id, "published", "")
	}
	r.end()
	return broker, cfg, worker
}

// done waits until the stream has no more than the message that stays.
func (a *agent) done() {
	a.t.Helper()
	testkit.Eventually(a.t, patience, func() error {
		tasks, err := a.js.Stream(a.t.Context(), "TASKS")
		if err != nil {
			return err
		}
		if n := tasks.CachedInfo().State.Msgs; n > 1 {
			return fmt.Errorf("%d messages are in the stream", n)
		}
		return nil
	})
}

// A worker gave the message up, and the broker does not know any more that it had delivered it: that no worker had it must not be said.
func TestADeliveryThatTheBrokerForgotIsNotDenied(t *testing.T) {
	t.Parallel()
	broker, cfg, worker := forgetful(t, "review-1")
	worker.do(worker.take().TermWithReason("impossible"))
	worker.done()
	broker.goes()
	broker.forgets("backend-task-worker")
	broker.comes()

	r := start(t, cfg)
	r.dies("review-1", "outcome_unknown", "look it up before anything is run again")
}

// A disk that is full, or a broker that is killed, loses the line of an answer too. What a record says, and the line of another answer, show that the broker has
// forgotten deliveries.
func TestWhatElseShowsThatTheBrokerForgotDeliveries(t *testing.T) {
	t.Parallel()
	broker, cfg, worker := forgetful(t, "recorded", "lost", "answered")
	recorded := time.Now()
	for n := range 3 {
		msg := worker.take()
		if n == 0 {
			worker.record("recorded", msg)
		}
		worker.do(msg.Ack())
	}
	worker.done()
	testkit.Capture(t, worker.js, fleet.CaptureAck, 3)
	worker.loses("3", "2") // Sequence 1 is the message that stays.

	testkit.Eventually(t, patience, func() error { // A record counts that was stored two seconds before the message is missed.
		if age := time.Since(recorded); age < 3*time.Second {
			return fmt.Errorf("the record is %s old", age)
		}
		return nil
	})
	broker.goes()
	broker.forgets("backend-task-worker")
	broker.comes()

	r := start(t, cfg)
	r.dies("recorded", "completed", "")
	r.dies("lost", "outcome_unknown", "look it up before anything is run again")
	r.dies("answered", "outcome_unknown", "look it up before anything is run again")
}

// record writes the idempotency record of a task, which names the message.
func (a *agent) record(id string, msg jetstream.Msg) {
	a.t.Helper()
	meta, err := msg.Metadata()
	a.do(err)
	records, err := a.js.KeyValue(a.t.Context(), fleet.BucketIdempotency)
	a.do(err)
	_, err = records.Put(a.t.Context(), id, fmt.Appendf(nil, `{"taskId":%q,"agentId":"backend","completedAt":%d,"natsStreamSeq":%d}`, id, time.Now().UnixMilli(), meta.Sequence.Stream))
	a.do(err)
}

// loses takes the captured answers to messages away.
func (a *agent) loses(seqs ...string) {
	a.t.Helper()
	answers, err := a.js.Stream(a.t.Context(), fleet.CaptureAck)
	a.do(err)
	for _, seq := range seqs {
		a.do(answers.Purge(a.t.Context(), jetstream.WithPurgeSubject("$JS.ACK.TASKS.backend-task-worker.*."+seq+".*.*.*")))
	}
}
