package main

import (
	"path/filepath"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/internal/live"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// TestWhatTheMonitorSettlesIsToldToOpenPages settles what a decision asked for, as the monitor does, and looks what an open page hears.
func TestWhatTheMonitorSettlesIsToldToOpenPages(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at, message := lifecycle.MicrosOf(now), lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleet.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	published := lifecycle.Event{
		ID: lifecycle.NewEventID("published", "t1"), At: at, Kind: lifecycle.Published, Provenance: lifecycle.Observed, Source: "OBS_PUB", SourceSeq: 1, TaskID: "t1", Message: message, Agent: "cto",
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "t1", Subject: "genbrain.agents.cto.tasks.review", Type: "review"}},
	}
	if _, err := store.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{published}}); err != nil {
		t.Fatal(err)
	}
	hub := live.NewHub(10)
	s := monitorStore{store, store, live.WrapDecisions(store, hub, nil)}
	open := hub.Subscribe("")
	defer open.Close()

	_, err = s.Decide(t.Context(), decision.Decision{ID: "d", Subject: decision.About(message), At: at, Change: decision.Change{
		Audit: []decision.AuditRecord{{ID: "d", At: at, Outcome: decision.Allowed}}, Effects: []decision.Effect{{ID: "d/1", Queue: "q", Due: at}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), decision.ClaimRequest{Queue: "q", Holder: "test", Now: at, Lease: time.Minute, Limit: 1})
	if err != nil || len(claimed) != 1 {
		t.Fatalf("claimed %v, %v", claimed, err)
	}
	event := lifecycle.Event{ID: decision.EventID("d/1", 0), At: at, Kind: lifecycle.Terminated, Provenance: lifecycle.Recorded, Source: "decision", Message: message, TaskID: "t1", Agent: "cto"}
	_, err = s.Settle(t.Context(), decision.Settlement{Effect: "d/1", Token: claimed[0].Token, Status: decision.StatusDone, At: at, Change: decision.Change{Events: []lifecycle.Event{event}}})
	if err != nil {
		t.Fatal(err)
	}
	if heard, some := open.Take(); !some || len(heard.Tasks) != 1 || heard.Tasks[0].TaskID != "t1" {
		t.Errorf("an open page hears %+v, %v; want task t1", heard, some)
	}
}
