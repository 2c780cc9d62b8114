package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// TestEachStaleKindFiresOnceAcrossReplicasAndResolves has plain workers that die, fall silent in the last attempt, and speak although they lost their message. Two
// replicas on one Postgres look at the same broker.
func TestEachStaleKindFiresOnceAcrossReplicasAndResolves(t *testing.T) {
	t.Parallel()
	srv, database := testkit.Broker(t), testkit.Postgres(t)
	replica := func() *running {
		return start(t, settings(t, "--nats-url", srv.URL(), "--database-url", database, "--dlq-monitor", "off"))
	}
	both := []*running{replica(), replica()}
	js := testkit.JetStream(t, srv)

	silent := startWorker(t, js, "silent", jetstream.ConsumerConfig{AckWait: 2 * time.Second, MaxDeliver: 5})
	dead := startWorker(t, js, "dead", jetstream.ConsumerConfig{BackOff: []time.Duration{200 * time.Millisecond, 2 * time.Second}, MaxDeliver: 2})
	slow := startWorker(t, js, "slow", jetstream.ConsumerConfig{BackOff: []time.Duration{time.Second, time.Minute}, MaxDeliver: 3})

	silent.takes() // And it dies.
	dead.takes()
	last := dead.takes() // Nobody pulls after it, so the broker never says that no attempt is left.
	first, second := slow.takes(), slow.takes()
	slow.must(first.InProgress()) // It does not know that it lost the message.

	for _, r := range both {
		r.turnsStaleInTime(t, "silent", "stale")
		r.turnsStaleInTime(t, "dead", "presumed_dead")
	}
	want := map[string]string{"stale": "silent", "presumed_dead": "dead", "zombie": "slow"}
	ids := map[string]string{}
	for rule, agent := range want {
		ids[rule] = oneAlert(t, both, rule, agent, "firing", "")
	}
	silent.must(silent.takes().Ack())
	dead.must(last.Ack()) // Late, and the broker still takes it.
	slow.must(second.Ack())
	for rule, agent := range want {
		oneAlert(t, both, rule, agent, "resolved", ids[rule])
	}
}

// oneAlert waits until both replicas show one alert of a rule about an agent, the same one, in that state, and that it never came back. It returns its id.
func oneAlert(t *testing.T, both []*running, rule, agent, state, id string) string {
	t.Helper()
	testkit.Eventually(t, alertsWithin, func() error {
		for _, r := range both {
			found, err := r.alerts("?rule=" + rule + "&agent=" + agent + "&state=firing&state=resolved")
			if err != nil || len(found) != 1 || found[0].State != state || found[0].Recurrence != 0 || (id != "" && found[0].ID != id) {
				return fmt.Errorf("%s of %s: %+v, %w, want one that is %s", rule, agent, found, err, state)
			}
			id = found[0].ID
		}
		return nil
	})
	return id
}

// turnsStaleInTime reads the board until the agent's lease is of a stale kind. No answer may call it so before its deadline. After it, each answer must do so, or
// say that what workers answered is not read yet.
func (r *running) turnsStaleInTime(t *testing.T, agent, kind string) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		var list struct {
			AsOf time.Time `json:"as_of"`
			Data []struct {
				DeadlineAt *time.Time `json:"deadline_at"`
				StaleKind  *string    `json:"stale_kind"`
				Unread     bool
			}
		}
		if err := r.get("/api/v1/in-flight?agent="+agent, &list); err != nil || len(list.Data) != 1 || list.Data[0].DeadlineAt == nil {
			return fmt.Errorf("leases of %s: %+v, %w", agent, list, err)
		}
		l := list.Data[0]
		over, stale := list.AsOf.Sub(*l.DeadlineAt), l.StaleKind != nil && *l.StaleKind == kind
		if early, silent := stale && over < 0, !stale && !l.Unread && over > 0; early || silent {
			t.Errorf("%s after the deadline of %s the board says %s %t, unread %t", over, agent, kind, stale, l.Unread)
		}
		if !stale {
			return fmt.Errorf("%s before the deadline of %s", -over, agent)
		}
		return nil
	})
}

// plainWorker is a worker without any code of Fleetglass of one agent, with one message to work on.
type plainWorker struct {
	t        *testing.T
	consumer jetstream.Consumer
}

func startWorker(t *testing.T, js jetstream.JetStream, name string, cfg jetstream.ConsumerConfig) plainWorker {
	t.Helper()
	cfg.Durable, cfg.FilterSubject = name+"-task-worker", "genbrain.agents."+name+".tasks.>"
	cfg.AckPolicy, cfg.MaxAckPending = jetstream.AckExplicitPolicy, 1
	consumer, err := js.CreateConsumer(t.Context(), "TASKS", cfg)
	if err != nil {
		t.Fatal(err)
	}
	publishTask(t, js, name, 1)
	return plainWorker{t, consumer}
}

func (w plainWorker) takes() jetstream.Msg {
	w.t.Helper()
	m, err := w.consumer.Next(jetstream.FetchMaxWait(patience))
	w.must(err)
	return m
}

func (w plainWorker) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
