package idempotency_test

import (
	"testing"
	"time"

	"fleetglass/internal/firestoretest"
	"fleetglass/lifecycle"
)

func TestGooglesEmulatorIsReadAsOurServer(t *testing.T) {
	t.Parallel()
	addr := firestoretest.Emulator(t)
	if addr == "" {
		t.Log("emulator not present: the collector was shown with our own server only")
		return
	}
	b := newBenchAt(t, addr, nil)
	b.cfg.Page, b.cfg.Poll, b.cfg.Sweep, b.cfg.Timeout = 3, 200*time.Millisecond, 500*time.Millisecond, 10*time.Second
	b.cfg.Patience = 20 * time.Second // It is slow while its machine code is being made.
	before, during, down := names("before", 5), names("during", 5), names("down", 5)
	b.completeAll(time.Now(), before...)
	c, stop := b.run()
	b.wantOnce(before...)
	b.completeAll(time.Now(), during...)
	b.put("task-idempotency/text", record{"taskId": "text", "completedAt": time.Now().Format(time.RFC3339Nano)})
	b.put("agent-state/cto/idempotency-log/logged-1", record{"action": "push", "completed_at": time.Now()})
	b.wantOnce(append(during, "text")...)
	b.wantKinds("logged", lifecycle.EffectLogged)
	if _, err := b.agents.Doc("task-idempotency/during003").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantKinds("during003", lifecycle.CompletionRecorded, lifecycle.RecordDeleted)
	stop()
	if got := c.Stats(); got.New != 13 || got.Recreated != 0 {
		t.Errorf("stats %+v, want 13 new events and no failed listener", got)
	}
	for _, task := range down { // The emulator lets a write fail for each listener that it finds gone.
		b.eventually(func() error {
			_, err := b.agents.Doc("task-idempotency/"+task).Set(t.Context(), completed(task, time.Now()))
			return err
		})
	}
	b.run()
	b.wantOnce(down...)
}
