package brokersync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// tasks changes the configuration of the task stream, and waits until that is captured: what is done meanwhile may have been done under the former one.
func (b *bench) tasks(t *testing.T, change func(*jetstream.StreamConfig)) jetstream.Stream {
	t.Helper()
	before := b.updates(t)
	s, err := b.js.Stream(t.Context(), "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	change(&cfg)
	if s, err = b.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		if b.updates(t) == before {
			return errors.New("the update is not captured")
		}
		return nil
	})
	return s
}

// updates is how many updates of the task stream are captured.
func (b *bench) updates(t *testing.T) uint64 {
	t.Helper()
	const updated = "$JS.EVENT.ADVISORY.STREAM.UPDATED.TASKS"
	events, err := b.js.Stream(t.Context(), fleet.CaptureEvt)
	if err != nil {
		t.Fatal(err)
	}
	info, err := events.Info(t.Context(), jetstream.WithSubjectFilter(updated))
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Subjects[updated]
}

func TestAMessageThatOutlivesItsAckIsNotCompleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	a := b.agent(t, "forged").works(nats.ConsumerConfig{AckWait: time.Hour})
	seq := a.publish("forged")
	a.takes()
	backlog := a.publish("backlog")
	b.expect(t, "forged", "delivered (delivered)\n1 open exact silent")
	for _, s := range []uint64{seq, backlog} { // Acknowledgements that no consumer ever asked for.
		a.must(a.nc.Publish(fmt.Sprintf("$JS.ACK.TASKS.nobody.1.%d.1.%d.0", s, time.Now().UnixNano()), []byte("+ACK")))
	}
	b.expect(t, "forged", "delivered (delivered) [ack_refuted]\n1 open exact silent")
	b.expect(t, "backlog", "published (stored) [ack_refuted]")
}

func TestMessagesThatLeaveTheStreamUnansweredAreGoneForAReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		act        func(t *testing.T, b *bench, a *agent)
	}{
		{"age", "removed (removed before delivery)\ngone: older than max_age", func(t *testing.T, b *bench, a *agent) {
			a.publish("age")
			b.tasks(t, func(c *jetstream.StreamConfig) { c.MaxAge, c.Duplicates = 300*time.Millisecond, 200*time.Millisecond })
		}},
		{"subject", "removed (removed before delivery)\ngone: discarded by limits", func(t *testing.T, b *bench, a *agent) {
			b.tasks(t, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 })
			for _, id := range []string{"subject", "second", "third"} {
				a.publish(id)
			}
		}},
		{"count", "removed (removed before delivery)\ngone: discarded by limits", func(t *testing.T, b *bench, a *agent) {
			b.tasks(t, func(c *jetstream.StreamConfig) { c.MaxMsgs = 2 })
			for _, id := range []string{"count", "second", "third"} {
				a.publish(id)
			}
		}},
		{"purge", "removed (removed before delivery)\ngone: stream purged or message deleted: no worker ever had it", func(t *testing.T, b *bench, a *agent) {
			a.publish("purge")
			b.expect(t, "purge", "published (stored)")
			a.must(a.js.PurgeStream("TASKS"))
		}},
		{"deletion", "removed (removed before delivery)\ngone: stream purged or message deleted: no worker ever had it", func(t *testing.T, b *bench, a *agent) {
			a.publish("before")
			seq := a.publish("deletion")
			a.publish("after")
			a.must(a.js.DeleteMsg("TASKS", seq))
		}},
		{"stream", "outcome_unknown (vanished)\ngone: stream deleted", func(t *testing.T, b *bench, a *agent) {
			a.publish("stream")
			b.expect(t, "stream", "published (stored)")
			a.must(a.js.DeleteStream("TASKS"))
		}},
		{"deadletter", "exhausted (max deliveries) [vanished silent_attempt]\n1 timed_out silent\ngone: gone after its last attempt: deleted, or answered late", func(t *testing.T, b *bench, a *agent) {
			a.works(nats.ConsumerConfig{MaxDeliver: 1, AckWait: 200 * time.Millisecond})
			seq := a.publish("deadletter")
			a.takes()
			b.expect(t, "deadletter", "exhausted (max deliveries) [silent_attempt]\n1 timed_out silent")
			a.must(a.js.DeleteMsg("TASKS", seq))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.inexact = true
			part := b.start()
			c.act(t, b, b.agent(t, c.name))
			b.expect(t, c.name, c.want)
			if h := part.Health()[0]; c.name == "stream" && (h.State != health.NotConfigured || h.Detail != "TASKS does not exist") {
				t.Errorf("health without a stream: %+v", h)
			}
		})
	}
}

func TestAnAckLineThatWasLostLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "lost").works(nats.ConsumerConfig{})
	a.publish("lost")
	a.must(a.takes().AckSync())
	b.captured(t, "OBS_ACK", 1)
	a.must(a.js.PurgeStream("OBS_ACK"))
	b.start()
	b.expect(t, "lost", "outcome_unknown (vanished) [vanished]\ngone: unknown")
}

func TestWithoutCaptureNothingFollowsFromSilence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "blind").works(nats.ConsumerConfig{})
	a.publish("blind")
	a.must(a.takes().AckSync())
	a.must(a.js.DeleteStream("OBS_ACK"))
	b.start()
	b.expect(t, "blind", "outcome_unknown (vanished) [vanished]\ngone: unknown: OBS_ACK does not exist")
}

// captured waits until a capture stream holds n lines.
func (b *bench) captured(t *testing.T, stream string, n uint64) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		s, err := b.js.Stream(t.Context(), stream)
		if err == nil && s.CachedInfo().State.LastSeq < n {
			err = fmt.Errorf("%s ends at %d, want %d", stream, s.CachedInfo().State.LastSeq, n)
		}
		return err
	})
}

func TestAnOrphanIsAdoptedWhenAWorkerComes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	a := b.agent(t, "orphan")
	a.publish("orphan")
	b.expect(t, "orphan", "published (stored) [orphaned]")
	a.works(nats.ConsumerConfig{AckWait: time.Hour})
	b.expect(t, "orphan", "published (stored)")
	a.must(a.js.DeleteConsumer("TASKS", "orphan-task-worker"))
	b.expect(t, "orphan", "published (stored) [orphaned]")
	testkit.Eventually(t, patience, func() error {
		consumers, err := b.store.Consumers(t.Context())
		if err == nil && !slices.ContainsFunc(consumers, func(c lifecycle.ConsumerState) bool { return c.Gone }) {
			err = fmt.Errorf("no consumer is gone: %+v", consumers)
		}
		return err
	})
}

func TestAttemptsBeginAgainWithANewConsumer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.inexact = true
	b.start()
	a := b.agent(t, "again").works(nats.ConsumerConfig{MaxDeliver: 2})
	a.publish("again")
	for range 2 {
		a.takes()
	}
	b.expect(t, "again", "exhausted (presumed dead) [silent_attempt]\n1 timed_out silent\n2 timed_out silent")
	a.must(a.js.DeleteConsumer("TASKS", "again-task-worker"))
	a.works(nats.ConsumerConfig{AckWait: time.Hour})
	m := a.takes()
	a.must(m.InProgress())
	testkit.Eventually(t, patience, func() error {
		r, err := b.store.Task(context.Background(), "again")
		if err == nil && (r.Summary.State == lifecycle.StateExhausted || !slices.Contains(r.Summary.Anomalies, lifecycle.AnomalyConsumerRecreated)) {
			err = fmt.Errorf("trace: %s\n%s", b.trace("again"), b.events("again"))
		}
		return err
	})
	a.must(m.AckSync())
	testkit.Eventually(t, patience, func() error {
		r, err := b.store.Task(context.Background(), "again")
		if err == nil && r.Summary.State != lifecycle.StateCompleted {
			err = fmt.Errorf("trace: %s\n%s", b.trace("again"), b.events("again"))
		}
		return err
	})
}
