package brokersync_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/internal/testkit"
)

// A capture stream without a leader loses the one advisory by which the broker tells that a message's attempts are used up.
func TestAMessageWhoseAdvisoryWasLostIsExhaustedByTheBrokersState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "silent").works(nats.ConsumerConfig{MaxDeliver: 2, AckWait: 200 * time.Millisecond})
	a.publish("dropped")
	a.must(a.takes().InProgress())
	b.captured(t, "OBS_ACK", 1)
	a.takes()
	testkit.Eventually(t, patience, func() error { // The broker drops it when its consumer pulls once more.
		a.take(100 * time.Millisecond)
		info, err := a.js.ConsumerInfo("TASKS", "silent-task-worker")
		if err != nil || info.NumAckPending > 0 {
			return errors.Join(errors.New("not dropped yet"), err)
		}
		return nil
	})
	b.captured(t, "OBS_EVT", 1)
	a.must(a.js.PurgeStream("OBS_EVT"))
	b.start()
	b.expect(t, "dropped", "failed (lease expired)\n1 timed_out beats")
	testkit.Eventually(t, 3*patience, func() error {
		if got := b.trace("dropped"); got != "exhausted (max deliveries)\n1 timed_out beats" {
			return errors.New(got)
		}
		return nil
	})
}

// dropsInSilence publishes a message that its workers take twice without a sign and that the broker then drops. Its advisory is lost.
func (b *bench) dropsInSilence(t *testing.T, name string) {
	t.Helper()
	a := b.agent(t, name).works(nats.ConsumerConfig{MaxDeliver: 2, AckWait: 200 * time.Millisecond})
	b.looked(t)
	a.publish(name)
	a.takes()
	a.takes()
	testkit.Eventually(t, patience, func() error {
		a.take(100 * time.Millisecond)
		info, err := a.js.ConsumerInfo("TASKS", name+"-task-worker")
		if err != nil || info.NumAckPending > 0 {
			return errors.Join(errors.New("not dropped yet"), err)
		}
		return nil
	})
	b.captured(t, "OBS_EVT", 1)
	a.must(a.js.PurgeStream("OBS_EVT"))
}

// looked waits until the synchronizer that runs, if one does, has polled twice more.
func (b *bench) looked(t *testing.T) { b.polls(t, b.parts, 2) }

func TestAMessageOfWhichNothingWasSeenIsExhaustedWhereItsConsumerWasWatched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.startState()
	b.dropsInSilence(t, "watched")
	b.startLines()
	testkit.Eventually(t, 3*patience, func() error {
		if got := b.trace("watched"); got != "exhausted (max deliveries)" {
			return errors.New(got)
		}
		return nil
	})
}

func TestAMessageOfWhichNothingWasSeenIsStrandedWhereNobodyWatchedItsConsumer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.dropsInSilence(t, "unwatched")
	b.start()
	testkit.Eventually(t, 3*patience, func() error {
		if got := b.trace("unwatched"); got != "outcome_unknown (stranded)" {
			return errors.New(got)
		}
		return nil
	})
}

// A consumer that takes a subject only after it went past a message of it never delivers that message.
func TestAMessageThatItsConsumerPassedByIsStrandedUntilItIsReset(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	a := b.agent(t, "narrow")
	cfg := nats.ConsumerConfig{
		Durable: "narrow-task-worker", FilterSubject: "genbrain.agents.narrow.tasks.other", AckPolicy: nats.AckExplicitPolicy, AckWait: time.Minute, MaxAckPending: 1,
	}
	_, err := a.js.AddConsumer("TASKS", &cfg)
	a.must(err)
	a.publish("passed")
	_, err = a.js.Publish("genbrain.agents.narrow.tasks.other", []byte(`{"taskId":"other"}`))
	a.must(err)
	sub, err := a.js.PullSubscribe(cfg.FilterSubject, "", nats.Bind("TASKS", cfg.Durable))
	a.must(err)
	got, err := sub.Fetch(1, nats.MaxWait(patience))
	a.must(err)
	a.must(got[0].AckSync())
	cfg.FilterSubject = "genbrain.agents.narrow.tasks.>"
	_, err = a.js.UpdateConsumer("TASKS", &cfg)
	a.must(err)
	testkit.Eventually(t, 3*patience, func() error {
		if got := b.trace("passed"); got != "outcome_unknown (stranded)" {
			return errors.New(got)
		}
		return nil
	})
	_, err = a.nc.Request("$JS.API.CONSUMER.RESET.TASKS."+cfg.Durable, []byte(`{"seq":1}`), patience)
	a.must(err)
	b.expect(t, "passed", "published (stored)")
}
