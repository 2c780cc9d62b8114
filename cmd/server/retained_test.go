package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/internal/telemetry"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// retainsAllButOne deletes what ended before a time from the store of a program that is not running: two of three tasks.
func retainsAllButOne(t *testing.T, cfg Config, before time.Time) {
	t.Helper()
	store, err := openStore(t.Context(), cfg, &telemetry.Traces{})
	if err != nil {
		t.Fatal(err)
	}
	cutoff := lifecycle.MicrosOf(before)
	if _, err := markRetained(t.Context(), store, cutoff); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Retain(t.Context(), cutoff, cutoff); err != nil || n != 2 {
		t.Fatalf("retain: %d tasks deleted, %v; want 2", n, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestALateAnswerMakesNoTaskOfWhatRetentionDeleted answers once more, after retention has deleted the tasks: nothing is known of how they ended.
func TestALateAnswerMakesNoTaskOfWhatRetentionDeleted(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "--dlq-monitor", "off")
	r := start(t, cfg)
	worker := connectAgent(t, r.AgentsURL())
	var answers []string
	for _, id := range []string{"done-1", "given-up-1"} {
		worker.publish(id, `{"taskId":"`+id+`","type":"code_review"}`)
		msg := worker.take()
		answers = append(answers, msg.Reply())
		if id == "done-1" {
			worker.do(msg.Ack())
		} else {
			worker.do(msg.TermWithReason("broken"))
		}
	}
	worker.publish("open-1", `{"taskId":"open-1","type":"code_review"}`)
	held := worker.take()
	r.dies("done-1", "completed", "")
	r.dies("given-up-1", "terminated", "")
	r.dies("open-1", "delivered", "")
	r.act("TASKS:2", "discard", `{"action":"discard","reason":"nobody needs it"}`)
	r.dies("given-up-1", "triaged", "")
	r.end()

	retainsAllButOne(t, cfg, time.Now())
	r = start(t, cfg)
	worker = connectAgent(t, r.AgentsURL())
	for _, to := range append(answers, held.Reply()) {
		worker.do(worker.js.Conn().Publish(to, []byte("+ACK")))
	}
	r.dies("open-1", "completed", "") // It was known, and answered last.
	testkit.Eventually(t, patience, func() error {
		var lines struct {
			Total int `json:"total"`
		}
		if err := r.get("/api/v1/quarantine", &lines); err != nil || lines.Total != 2 {
			return fmt.Errorf("%d lines in quarantine, %w; want both answers", lines.Total, err)
		}
		return nil
	})
	var counts struct {
		Counts map[string]int `json:"counts"`
		Total  int            `json:"total"`
	}
	if err := r.get("/api/v1/tasks/counts", &counts); err != nil || counts.Total != 1 || counts.Counts["completed"] != 1 {
		t.Errorf("counts %+v, %v; want the open task alone, completed", counts, err)
	}
}

// TestARebuildAfterRetentionInventsNothing deletes tasks, rebuilds, and looks with a server that only reads: what was counted is counted once, and what is kept is told as before.
func TestARebuildAfterRetentionInventsNothing(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, args ...string) {
		cfg := settings(t, args...)
		r := start(t, cfg)
		worker := connectAgent(t, r.AgentsURL())
		for _, id := range []string{"done-1", "done-2", "undecided-1"} {
			worker.publish(id, `{"taskId":"`+id+`","type":"code_review"}`)
			if msg := worker.take(); id == "undecided-1" {
				worker.do(msg.TermWithReason("broken"))
			} else {
				worker.do(msg.Ack())
			}
		}
		for _, id := range []string{"done-1", "done-2"} {
			r.dies(id, "completed", "")
		}
		r.dies("undecided-1", "dead_lettered", "")
		r.lookedAt("TASKS:3")
		before := r.numbers()
		kept := r.traced("undecided-1")
		r.end()

		retainsAllButOne(t, cfg, time.Now().Add(time.Minute))
		for _, rebuilds := range []bool{false, true} {
			if rebuilds {
				var out strings.Builder
				if code := run(t.Context(), append([]string{"rebuild", "--data-dir", cfg.DataDir}, args...), vars(), &out, &out); code != 0 {
					t.Fatalf("rebuild: exit code %d: %s", code, &out)
				}
			}
			cfg.ReadOnly = true
			r = start(t, cfg)
			testkit.Eventually(t, patience, func() error {
				var ready struct{ Ready bool }
				if err := r.get("/readyz", &ready); err != nil || !ready.Ready {
					return fmt.Errorf("readyz: %+v, %w", ready, err)
				}
				return nil
			})
			if diff := cmp.Diff(before, r.numbers()); diff != "" {
				t.Errorf("rebuilt %t: the statistics (-before +after):\n%s", rebuilds, diff)
			}
			if diff := cmp.Diff(kept, r.traced("undecided-1")); diff != "" {
				t.Errorf("rebuilt %t: the task that is kept (-before +after):\n%s", rebuilds, diff)
			}
			var counts struct {
				Total int `json:"total"`
			}
			if err := r.get("/api/v1/tasks/counts", &counts); err != nil || counts.Total != 1 {
				t.Errorf("rebuilt %t: %d tasks, %v; want the one that is kept", rebuilds, counts.Total, err)
			}
			r.end()
		}
	})
}

// numbers are the statistics by the day.
func (r *running) numbers() map[string]any {
	r.t.Helper()
	out := map[string]any{}
	for _, path := range []string{"/api/v1/duplicates?bucket=day", "/api/v1/dlq/stats?bucket=day"} {
		var got struct {
			Data []map[string]any `json:"data"`
		}
		if err := r.get(path, &got); err != nil {
			r.t.Fatal(err)
		}
		for _, row := range got.Data {
			delete(row, "observed") // Servers end and begin, and of what is deleted nobody can say which part died.
			delete(row, "rate")
		}
		out[path] = got.Data
	}
	return out
}

// traced is a task as it is traced, without what depends on the time of the question.
func (r *running) traced(id string) map[string]any {
	r.t.Helper()
	var got struct {
		State    string           `json:"state"`
		Messages []map[string]any `json:"messages"`
	}
	if err := r.get("/api/v1/tasks/"+id, &got); err != nil {
		r.t.Fatal(err)
	}
	for _, m := range got.Messages {
		delete(m, "max_deliver") // Of the consumer, when it was looked at.
	}
	return map[string]any{"state": got.State, "messages": got.Messages}
}
