package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// TestABacklogFiresOnceAcrossReplicasAndResolves has work come for an agent whose workers went home, and for one that works more slowly than work comes. Two
// replicas on one Postgres look at the same broker.
func TestABacklogFiresOnceAcrossReplicasAndResolves(t *testing.T) {
	t.Parallel()
	srv, database := testkit.Broker(t), testkit.Postgres(t)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("rules: {backlog_idle: {threshold: 2s}, backlog_grows: {for: 1s, threshold: 20m}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	replica := func() *running {
		return start(t, settings(t, "--nats-url", srv.URL(), "--database-url", database, "--dlq-monitor", "off", "--alert-rules", rules))
	}
	both := []*running{replica(), replica()}
	js := testkit.JetStream(t, srv)

	idle := startWorker(t, js, "idle", jetstream.ConsumerConfig{})
	slow := startWorker(t, js, "slow", jetstream.ConsumerConfig{})
	quick := startWorker(t, js, "quick", jetstream.ConsumerConfig{})
	for n := 2; n <= 4; n++ { // At the pace of slow, one in 15 minutes, three take 45.
		for _, agent := range []string{"idle", "slow", "quick"} {
			publishTask(t, js, agent, n)
		}
	}
	slow.must(slow.takes().Ack())
	slow.takes() // It works on it until the end of the test.
	for range 3 {
		quick.must(quick.takes().Ack())
	}
	quick.takes()
	publishTask(t, js, "quick", 5)

	want := [][2]string{{"backlog_idle", "idle"}, {"backlog_grows", "idle"}, {"backlog_grows", "slow"}}
	ids := map[[2]string]string{}
	for _, w := range want {
		ids[w] = oneAlert(t, both, w[0], w[1], "firing", "")
	}
	for _, agent := range []string{"slow", "quick"} { // Somebody works there.
		found, err := both[0].alerts("?rule=backlog_idle&agent=" + agent)
		if err != nil || len(found) != 0 {
			t.Errorf("backlog_idle of %s: %+v, %v", agent, found, err)
		}
	}
	if found, err := both[1].alerts("?rule=backlog_grows&agent=quick"); err != nil || len(found) != 0 {
		t.Errorf("backlog_grows of an agent with one waiting message and three ended ones: %+v, %v", found, err)
	}

	for range 4 {
		idle.must(idle.takes().Ack())
	}
	slow.drains(t, js)
	for _, w := range want {
		oneAlert(t, both, w[0], w[1], "resolved", ids[w])
	}
}

// publishTask publishes the n-th task of an agent.
func publishTask(t *testing.T, js jetstream.JetStream, agent string, n int) {
	t.Helper()
	m := nats.NewMsg("genbrain.agents." + agent + ".tasks.work")
	m.Header.Set("Nats-Msg-Id", fmt.Sprintf("%s-%d", agent, n))
	m.Data = fmt.Appendf(nil, `{"taskId":"%s-%d"}`, agent, n)
	if _, err := js.PublishMsg(context.Background(), m); err != nil {
		t.Fatal(err)
	}
}

// drains lets the worker take all that waits at once: max_ack_pending is raised, as the rule's advice says.
func (w plainWorker) drains(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	info, err := w.consumer.Info(t.Context())
	w.must(err)
	cfg := info.Config
	cfg.MaxAckPending = 10
	more, err := js.UpdateConsumer(t.Context(), "TASKS", cfg)
	w.must(err)
	w.consumer = more
	for range info.NumPending {
		w.must(w.takes().Ack())
	}
}
