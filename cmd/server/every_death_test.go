package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// mortals is an agent on a broker whose nodes may go away, and the tasks that died on it.
type mortals struct {
	t        *testing.T
	js       jetstream.JetStream
	consumer jetstream.Consumer
	dead     map[string]string // By task, the path on which it died.
}

func newMortals(t *testing.T, url string) *mortals {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	m := &mortals{t: t, dead: map[string]string{}}
	if m.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 3*patience, func() (err error) {
		m.consumer, err = m.js.CreateOrUpdateConsumer(t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
			Durable: "backend-task-worker", FilterSubject: "genbrain.agents.backend.tasks.>", AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: 3 * time.Second, MaxDeliver: 3, MaxAckPending: 1,
		})
		return err
	})
	return m
}

// publish repeats until the broker has the message.
func (m *mortals) publish(subject, id string) {
	m.t.Helper()
	msg := nats.NewMsg(subject)
	msg.Header.Set(fleet.HeaderMsgID, id)
	msg.Header.Set(fleet.HeaderTaskID, id)
	msg.Data = []byte(`{"taskId":"` + id + `"}`)
	testkit.Eventually(m.t, 3*patience, func() error {
		ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Second)
		defer cancel()
		_, err := m.js.PublishMsg(ctx, msg)
		return err
	})
}

// gone reports whether nothing of the agent is left. Its consumer alone does not tell: for a moment, and while it has a new leader, it counts too few that wait.
func (m *mortals) gone() error {
	info, err := m.consumer.Info(m.t.Context())
	if err != nil {
		return err
	}
	stream, err := m.js.Stream(m.t.Context(), fleet.StreamTasks)
	if err != nil {
		return err
	}
	held, err := stream.Info(m.t.Context(), jetstream.WithSubjectFilter(info.Config.FilterSubject))
	if err == nil && info.NumPending+uint64(info.NumAckPending)+uint64(len(held.State.Subjects)) > 0 {
		err = fmt.Errorf("%d wait, %d are in work, in the stream are %v", info.NumPending, info.NumAckPending, held.State.Subjects)
	}
	return err
}

// works answers every delivery of the agent until nothing is left. An answer that a node takes along when it stops is given again.
func (m *mortals) works(answer func(jetstream.Msg) error) {
	m.t.Helper()
	testkit.Eventually(m.t, 3*patience, func() error {
		got, err := m.consumer.Fetch(1, jetstream.FetchMaxWait(500*time.Millisecond))
		if err != nil {
			return err
		}
		for msg := range got.Messages() {
			if err := answer(msg); err != nil {
				return err
			}
		}
		return errors.Join(got.Error(), m.gone())
	})
}

// round has one task die on each of the four paths.
func (m *mortals) round(name string) {
	m.t.Helper()
	terminated, overflow, used, nobody := name+"-terminated", name+"-overflow", name+"-used-up", name+"-nobody"
	m.dead[terminated], m.dead[overflow], m.dead[used], m.dead[nobody] = "terminated", "context_overflow", "max_deliveries", "filter_rejected"
	m.publish("genbrain.agents.legal.tasks.contract_review", nobody)
	for _, id := range []string{terminated, overflow, used} {
		m.publish("genbrain.agents.backend.tasks.code_review", id)
	}
	m.works(func(msg jetstream.Msg) error {
		switch msg.Headers().Get(fleet.HeaderTaskID) {
		case terminated:
			return msg.TermWithReason("authority_exceeded: no right to merge")
		case overflow:
			return msg.TermWithReason("context_window_overflow: 210,000 tokens")
		case used:
			return msg.Nak()
		}
		return msg.Ack() // A retry, where somebody decides.
	})
}

// copies reads the queue: by task, the paths that its entries name.
func (m *mortals) copies() (map[string][]string, error) {
	stream, err := m.js.Stream(m.t.Context(), fleet.StreamDLQ)
	if err != nil {
		return nil, err
	}
	out, state := map[string][]string{}, stream.CachedInfo().State
	for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
		msg, err := stream.GetMsg(m.t.Context(), seq)
		if err != nil {
			return nil, err
		}
		task := msg.Header.Get(fleet.HeaderTaskID)
		out[task] = append(out[task], msg.Header.Get(fleet.HeaderDLQPath))
	}
	return out, nil
}

// buried waits until every dead task has an entry on its path, then holds it to one.
func (m *mortals) buried() {
	m.t.Helper()
	var found map[string][]string
	testkit.Eventually(m.t, 3*patience, func() (err error) {
		found, err = m.copies()
		for task, path := range m.dead {
			if err == nil && !slices.Contains(found[task], path) {
				err = fmt.Errorf("%s has the entries %v, want one of %s", task, found[task], path)
			}
		}
		return err
	})
	for task, paths := range found {
		if len(paths) != 1 || m.dead[task] != paths[0] {
			m.t.Errorf("%s has the entries %v, want one of %q", task, paths, m.dead[task])
		}
	}
}

// listed waits until the list of dead letters names each once, with its copy in the queue.
func (r *running) listed(m *mortals) {
	r.t.Helper()
	testkit.Eventually(r.t, 3*patience, func() error {
		var list struct {
			Data []struct {
				TaskID string  `json:"task_id"`
				Path   string  `json:"path"`
				Seq    *string `json:"dlq_seq"`
			} `json:"data"`
		}
		if err := r.get("/api/v1/dlq?limit=200", &list); err != nil {
			return err
		}
		seen := map[string]int{}
		for _, e := range list.Data {
			if e.Seq == nil || e.Path != m.dead[e.TaskID] {
				return fmt.Errorf("%+v, want the path %q and a copy", e, m.dead[e.TaskID])
			}
			seen[e.TaskID]++
		}
		for task := range m.dead {
			if seen[task] != 1 {
				return fmt.Errorf("%s is listed %d times", task, seen[task])
			}
		}
		return nil
	})
}

// decidedOnce waits until the desk has decided about each of them, or told of it, and holds it to one of both.
func (r *running) decidedOnce(m *mortals) {
	r.t.Helper()
	testkit.Eventually(r.t, 3*patience, func() error {
		var records struct {
			Data []struct {
				Action string `json:"action"`
				Target string `json:"target"`
			} `json:"data"`
		}
		if err := r.get("/api/v1/audit?actor=auto-triage&limit=200", &records); err != nil {
			return err
		}
		decided := map[string][]string{}
		for _, a := range records.Data {
			action, _, _ := strings.Cut(a.Action, " ") // "retry succeeded" says how the one that was decided ended.
			decided[a.Target] = append(decided[a.Target], action)
		}
		for target, actions := range decided {
			if len(slices.Compact(slices.Sorted(slices.Values(actions)))) != 1 {
				r.t.Fatalf("%s: %v", target, actions)
			}
		}
		if len(decided) != len(m.dead) {
			return fmt.Errorf("of %d dead letters %d are decided about or told of: %v", len(m.dead), len(decided), decided)
		}
		return nil
	})
}

// toldOnce waits until the triage agent has a task of each entry that is left to it, and no second one.
func (m *mortals) toldOnce(want int) {
	m.t.Helper()
	told := map[string]int{}
	testkit.Eventually(m.t, 3*patience, func() error {
		stream, err := m.js.Stream(m.t.Context(), fleet.StreamTasks)
		if err != nil {
			return err
		}
		clear(told)
		state := stream.CachedInfo().State
		for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
			msg, err := stream.GetMsg(m.t.Context(), seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if id := msg.Header.Get(fleet.HeaderTaskID); strings.HasPrefix(id, "triage:") {
				told[id]++
			}
		}
		if len(told) != want {
			return fmt.Errorf("told of %v, want %d entries", told, want)
		}
		return nil
	})
	for id, n := range told {
		if n != 1 {
			m.t.Errorf("%s was published %d times", id, n)
		}
	}
}

// ceo makes the consumer of the agent that is told: what nobody takes would die.
func (m *mortals) ceo() {
	m.t.Helper()
	testkit.Eventually(m.t, 3*patience, func() error {
		_, err := m.js.CreateOrUpdateConsumer(m.t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
			Durable: "ceo-task-worker", FilterSubject: "genbrain.agents.ceo.tasks.>", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 3,
		})
		return err
	})
}

// desked are settings with which Fleetglass copies what died, retries what the policy allows, and tells of the rest.
func desked(t *testing.T, args ...string) Config {
	t.Helper()
	return settings(t, append([]string{
		"--dlq-monitor", "on", "--dlq-orphan-after", "1s", "--auto-triage", "on", "--escalate-subject", "genbrain.agents.ceo.tasks.triage",
	}, args...)...)
}

// TestEachDeathHasOneEntryAndOneDecision has a task die on every path; with Postgres two replicas look at it.
func TestEachDeathHasOneEntryAndOneDecision(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, args ...string) {
		broker := testkit.Broker(t)
		args = append(args, "--nats-url", broker.URL())
		r := start(t, desked(t, args...))
		if slices.Contains(args, "--database-url") {
			start(t, desked(t, args...))
		}
		m := newMortals(t, broker.URL())
		m.ceo()
		m.round("one")
		m.buried()
		r.listed(m)
		r.decidedOnce(m)
		m.toldOnce(3) // The overflow is retried.
	})
}

// TestEachDeathHasOneEntryOnThreeNodes has tasks die while the streams' leaders change and while a node is stopped. Two replicas on Postgres look at it.
func TestEachDeathHasOneEntryOnThreeNodes(t *testing.T) {
	t.Parallel()
	nodes := testkit.BrokerCluster(t, fleet.NewContract(""))
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.ClientURL())
	}
	url := strings.Join(urls, ",")
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 3*patience, func() error {
		_, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: fleet.NewContract(""), Replicas: 3})
		return err
	})
	args := []string{"--nats-url", url, "--database-url", testkit.Postgres(t)}
	r := start(t, desked(t, args...))
	start(t, desked(t, args...))
	m := newMortals(t, url)
	m.ceo()
	m.round("calm")
	m.stepDown(nodes[0])
	m.round("stepped")
	m.stopLeader(nodes)
	m.round("stopped")
	m.buried()
	r.listed(m)
	r.decidedOnce(m)
	m.toldOnce(3 * 3)
}

// stepDown gives tasks and dead letters other leaders, by the way that an operator takes.
func (m *mortals) stepDown(node *server.Server) {
	m.t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(node))
	if err != nil {
		m.t.Fatal(err)
	}
	defer nc.Close()
	for _, what := range []string{"STREAM.LEADER.STEPDOWN.TASKS", "STREAM.LEADER.STEPDOWN.DLQ", "CONSUMER.LEADER.STEPDOWN.TASKS.backend-task-worker", "CONSUMER.LEADER.STEPDOWN.DLQ.fleetglass-deadletters"} {
		answer, err := nc.Request("$JS.API."+what, nil, patience)
		if err != nil || strings.Contains(string(answer.Data), `"error"`) {
			m.t.Fatalf("%s: %v, %s", what, err, answer.Data)
		}
	}
}

// stopLeader stops the node that leads the queue of dead letters.
func (m *mortals) stopLeader(nodes []*server.Server) {
	m.t.Helper()
	var leader string
	testkit.Eventually(m.t, patience, func() error {
		stream, err := m.js.Stream(m.t.Context(), fleet.StreamDLQ)
		if err != nil {
			return err
		}
		if leader = stream.CachedInfo().Cluster.Leader; leader == "" {
			return errors.New("nobody leads DLQ")
		}
		return nil
	})
	for _, n := range nodes {
		if n.Name() == leader {
			n.Shutdown()
			n.WaitForShutdown()
		}
	}
	m.leads(leader)
}

// leads waits until every stream that sees a death has another leader: what happens before is recorded by nobody (docs/broker-facts.md).
func (m *mortals) leads(stopped string) {
	m.t.Helper()
	testkit.Eventually(m.t, 3*patience, func() error {
		for _, name := range []string{fleet.StreamTasks, fleet.CapturePub, fleet.CaptureRaw, fleet.CaptureAck, fleet.CaptureEvt} {
			stream, err := m.js.Stream(m.t.Context(), name)
			if err != nil {
				return err
			}
			if leader := stream.CachedInfo().Cluster.Leader; leader == "" || leader == stopped {
				return fmt.Errorf("%s is led by %q", name, leader)
			}
		}
		return nil
	})
}
