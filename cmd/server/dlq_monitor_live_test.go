package main

import (
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/internal/live"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// TestWhatTheMonitorSettlesIsToldToOpenPages settles what a decision asked for, as the monitor does, and looks what an open page hears.
func TestWhatTheMonitorSettlesIsToldToOpenPages(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	story := webtest.NewStory(now)
	m := story.Publish("t1", "cto", "review", "Review", -time.Minute, "")
	store, err := webtest.Store(t.Context(), t.TempDir(), func() time.Time { return now }, story.Batch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	hub := live.NewHub(10)
	s := monitorStore{store, store, live.WrapDecisions(store, hub)}
	open := hub.Subscribe("")
	defer open.Close()

	at := lifecycle.MicrosOf(now)
	_, err = s.Decide(t.Context(), decision.Decision{ID: "d", Subject: decision.About(m.Key), At: at, Change: decision.Change{
		Audit: []decision.AuditRecord{{ID: "d", At: at, Outcome: decision.Allowed}}, Effects: []decision.Effect{{ID: "d/1", Queue: "q", Due: at}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), decision.ClaimRequest{Queue: "q", Holder: "test", Now: at, Lease: time.Minute, Limit: 1})
	if err != nil || len(claimed) != 1 {
		t.Fatalf("claimed %v, %v", claimed, err)
	}
	event := lifecycle.Event{ID: decision.EventID("d/1", 0), At: at, Kind: lifecycle.Terminated, Provenance: lifecycle.Recorded, Source: "decision", Message: m.Key, TaskID: "t1", Agent: "cto"}
	_, err = s.Settle(t.Context(), decision.Settlement{Effect: "d/1", Token: claimed[0].Token, Status: decision.StatusDone, At: at, Change: decision.Change{Events: []lifecycle.Event{event}}})
	if err != nil {
		t.Fatal(err)
	}
	if heard, some := open.Take(); !some || len(heard.Tasks) != 1 || heard.Tasks[0].TaskID != "t1" {
		t.Errorf("an open page hears %+v, %v; want task t1", heard, some)
	}
}
