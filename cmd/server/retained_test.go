package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

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

	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(cfg.DataDir, "fleetglass.db")})
	if err != nil {
		t.Fatal(err)
	}
	now := lifecycle.MicrosOf(time.Now())
	if err := markRetained(t.Context(), store, now); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Retain(t.Context(), now, now); err != nil || n != 2 {
		t.Fatalf("retain: %d tasks deleted, %v; want 2", n, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

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
