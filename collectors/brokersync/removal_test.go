package brokersync_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// removed waits until a task is removed by that cause.
func (b *bench) removed(t *testing.T, task string, by lifecycle.Removal) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		r, err := b.store.Task(t.Context(), task)
		if err == nil && len(r.Messages) == 0 {
			return errors.New("no message of it is known yet")
		}
		if err == nil && (r.Summary.State != lifecycle.StateRemoved || r.Messages[0].Removal != by) {
			err = fmt.Errorf("%s by %q, want removed by %q\n%s\n%s", r.Summary.State, r.Messages[0].Removal, by, b.trace(task), b.events(task))
		}
		if err == nil {
			err = b.toldAlike(task)
		}
		return err
	})
}

// toldAlike errors where the events of a removal are known from something else than the answer at the top of the task.
func (b *bench) toldAlike(task string) error {
	events, err := b.store.Events(b.t.Context(), task, lifecycle.EventPosition{}, 1000)
	if err != nil {
		return err
	}
	r, err := b.store.Task(b.t.Context(), task)
	if err != nil {
		return err
	}
	answer := lifecycle.AssembleTrace(lifecycle.TraceInput{Record: r, Now: lifecycle.MicrosOf(time.Now())}).Answers.Ownership
	for _, e := range events {
		if e.Kind == lifecycle.Vanished && e.Provenance != answer.Provenance {
			return fmt.Errorf("the event is known from %q, the answer %q from %q", e.Provenance, answer.Headline, answer.Provenance)
		}
	}
	return nil
}

// A worker goes on while and after a flood overflows the limit of its subject: what it never had was removed, and that it never had it is proved
// although it has had later messages since.
func TestAFloodIsRemovedByTheLimitBeforeAnyWorkerHadIt(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("down %t", down), func(t *testing.T) {
			t.Parallel()
			const flood, limit = 300, 3
			b := newBench(t)
			if !down {
				b.start()
			}
			b.tasks(t, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = limit })
			a := b.agent(t, "flooded").works(nats.ConsumerConfig{AckWait: time.Hour})
			a.publish("before")
			a.must(a.takes().AckSync())
			for i := range flood {
				a.publish(fmt.Sprintf("flood-%d", i))
			}
			if !down {
				b.removed(t, "flood-0", lifecycle.RemovedByLimit)
			}
			for range limit {
				a.must(a.takes().AckSync())
			}
			if down {
				b.start()
			}
			for i := range flood - limit {
				b.removed(t, fmt.Sprintf("flood-%d", i), lifecycle.RemovedByLimit)
			}
		})
	}
}

// A consumer that was created again has delivered nothing yet. That proves nothing of what its predecessor delivered.
func TestANewConsumerDoesNotProveThatNobodyHadTheMessage(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("down %t", down), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if !down {
				b.start()
			}
			a := b.agent(t, "again").works(nats.ConsumerConfig{AckWait: time.Hour})
			a.publish("done")
			a.must(a.takes().AckSync())
			seq := a.publish("had")
			a.takes() // Silently: no line tells of it.
			a.must(a.js.DeleteConsumer("TASKS", "again-task-worker"))
			a.works(nats.ConsumerConfig{AckWait: time.Hour})
			a.must(a.js.DeleteMsg("TASKS", seq))
			a.publish("later")
			if down {
				b.start()
			}
			b.gone(t, "had")
			if r, err := b.store.Task(t.Context(), "had"); err != nil || r.Summary.State == lifecycle.StateRemoved {
				t.Errorf("a worker had it, yet it is %s, %v\n%s", r.Summary.State, err, b.events("had"))
			}
		})
	}
}

// gone waits until it is said that a message has left the stream.
func (b *bench) gone(t *testing.T, task string) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		r, err := b.store.Task(t.Context(), task)
		if err == nil && (len(r.Messages) == 0 || !r.Messages[0].VanishedAt.Known()) {
			err = errors.New("it is not called gone yet:\n" + b.trace(task) + "\n" + b.events(task))
		}
		return err
	})
}

func TestAMessageThatReachedItsOwnTTLIsRemovedByIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	b.tasks(t, func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true })
	a := b.agent(t, "brief").works(nats.ConsumerConfig{AckWait: time.Hour})
	a.publish("held")
	a.takes()
	m := nats.NewMsg("genbrain.agents.brief.tasks.blog")
	m.Data = []byte(`{"taskId":"brief","type":"blog"}`)
	m.Header.Set("Nats-Msg-Id", "brief")
	m.Header.Set("Nats-TTL", "1s")
	_, err := a.js.PublishMsg(m)
	a.must(err)
	b.removed(t, "brief", lifecycle.RemovedByTTL)
}
