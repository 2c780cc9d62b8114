package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// dlqEntries reads the entries in the broker's queue, by the task that they speak of.
func dlqEntries(t *testing.T, js jetstream.JetStream) map[string][]*jetstream.RawStreamMsg {
	t.Helper()
	stream, err := js.Stream(t.Context(), "DLQ")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]*jetstream.RawStreamMsg{}
	state := stream.CachedInfo().State
	for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		task := m.Header.Get("X-DLQ-Msg-Id")
		out[task] = append(out[task], m)
	}
	return out
}

// dead is what a trace says of a dead task.
type dead struct {
	State   string `json:"state"`
	Answers struct {
		Recovery struct {
			Text string `json:"text"`
		} `json:"recovery"`
	} `json:"answers"`
}

// dies waits until the task is in the state, and its recovery says so.
func (r *running) dies(id, state, text string) {
	r.t.Helper()
	testkit.Eventually(r.t, 3*patience, func() error {
		var got dead
		if err := r.get("/api/v1/tasks/"+id, &got); err != nil {
			return err
		}
		if got.State != state || !strings.Contains(got.Answers.Recovery.Text, text) {
			return fmt.Errorf("%s is %s: %s", id, got.State, got.Answers.Recovery.Text)
		}
		return nil
	})
}

func TestEachDeadTaskIsCopiedToTheQueueOnce(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--dlq-orphan-after", "1s"))
	a := connectAgent(t, r.AgentsURL())
	a.publish("given-up", `{"n":1}`)
	if err := a.take().TermWithReason("token_budget_exceeded: 50,000 output tokens"); err != nil {
		t.Fatal(err)
	}
	a.publish("used-up", `{"n":2}`)
	for range 3 {
		if err := a.take().Nak(); err != nil {
			t.Fatal(err)
		}
	}
	orphan := nats.NewMsg("genbrain.agents.legal.tasks.contract_review")
	orphan.Header.Set("Nats-Msg-Id", "nobody")
	if _, err := a.js.PublishMsg(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{ // Path and detail.
		"given-up": {"terminated", "token_budget_exceeded"}, "used-up": {"max_deliveries", ""}, "nobody": {"filter_rejected", ""},
	}
	for id := range want {
		r.dies(id, "dead_lettered", "The page DLQ says what can be done about it")
	}
	found := dlqEntries(t, a.js)
	for id, says := range want {
		if len(found[id]) != 1 {
			t.Errorf("%s has %d entries, want one", id, len(found[id]))
			continue
		}
		if h := found[id][0].Header; h.Get("X-DLQ-Path") != says[0] || h.Get("X-DLQ-Detail") != says[1] || h.Get("X-DLQ-Reason") == "" {
			t.Errorf("%s: %v", id, h)
		}
	}
	testkit.Eventually(t, patience, func() error {
		tasks, err := a.js.Stream(t.Context(), "TASKS")
		if err != nil {
			return err
		}
		if n := tasks.CachedInfo().State.Msgs; n > 0 {
			return fmt.Errorf("%d messages are left among the tasks", n)
		}
		return nil
	})
}

func TestWithoutAMonitorNobodyCopiesAndTheTraceSaysThatThereIsNoEntry(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--dlq-monitor", "off"))
	a := connectAgent(t, r.AgentsURL())
	a.publish("given-up", `{"n":1}`)
	if err := a.take().TermWithReason("no"); err != nil {
		t.Fatal(err)
	}
	r.dies("given-up", "terminated", "no dead-letter entry was seen")
	if found := dlqEntries(t, a.js); len(found) > 0 {
		t.Errorf("the queue has entries: %v", found)
	}
}

func TestTheMonitorIsOnWhereNobodyElseCanBe(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want bool
	}{
		{nil, true}, {[]string{"--demo"}, true}, {[]string{"--nats-url", "nats://b:4222"}, false},
		{[]string{"--nats-url", "nats://b:4222", "--dlq-monitor", "on"}, true}, {[]string{"--dlq-monitor", "off"}, false},
	} {
		if got := settings(t, tc.args...).MonitorsDLQ(); got != tc.want {
			t.Errorf("%v: on is %t, want %t", tc.args, got, tc.want)
		}
	}
	if cfg := settings(t, "--demo"); cfg.orphanAfter() != demoOrphans || settings(t).orphanAfter() != 5*time.Minute {
		t.Error("the demonstration should not wait five minutes for a worker")
	}
}

// TestTheDemonstrationsDeadLetters waits for dead letters of every path and category.
func TestTheDemonstrationsDeadLetters(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--demo", "--demo-rate", "8", "--dlq-orphan-after", "2s"))
	nc, err := nats.Connect(r.AgentsURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 9*patience, func() error {
		seen := map[string]bool{}
		for _, entries := range dlqEntries(t, js) {
			for _, m := range entries {
				seen[m.Header.Get("X-DLQ-Path")], seen[m.Header.Get("X-DLQ-Category")] = true, true
			}
		}
		for _, one := range []string{
			"max_deliveries", "terminated", "context_overflow", "filter_rejected", "transient", "conditionally_recoverable", "permanent", "unclassified",
		} {
			if !seen[one] {
				return fmt.Errorf("no dead letter of %s among %v", one, seen)
			}
		}
		return nil
	})
	for task, entries := range dlqEntries(t, js) {
		h := entries[0].Header
		if len(entries) != 1 || len(entries[0].Data) == 0 || h.Get("X-Task-ID") != task || h.Get("X-DLQ-Failed-At") == "" {
			t.Errorf("%s has %d entries: %v", task, len(entries), h)
		}
		if detail := h.Get("X-DLQ-Detail"); detail != "" && !strings.HasPrefix(h.Get("X-DLQ-Reason"), detail) {
			t.Errorf("%s is classified %s: %s", task, detail, h.Get("X-DLQ-Reason"))
		}
	}
}
