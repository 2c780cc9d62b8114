package storetest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fleetglass/decision"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// FillStored puts something of everything into an empty store: tasks of every kind, with duplicates, payloads, a quarantined line, gaps, consumers,
// watermarks, reconciliations, decisions with effects, audit records and idempotency keys. A store that an older program has written, and
// that is kept with the tests, is made of it. It returns the ids of all tasks.
func FillStored(t testing.TB, s Store) (tasks []string) {
	t.Helper()
	events := everyScenario()
	mustStore(t, s, lifecycle.Batch{
		Events: events,
		Payloads: []lifecycle.Payload{{Message: events[0].Message, Body: []byte("body"), Size: 4, At: events[0].At,
			Headers: map[string][]string{"Nats-Msg-Id": {"id"}}}},
		Quarantined: []lifecycle.QuarantinedLine{{ID: 7, Source: "OBS", SourceSeq: 8, At: 9, Subject: "subject", Body: []byte{0xff}, Reason: "no JSON"}},
		Gaps:        []lifecycle.Gap{{Source: "OBS", From: 5, To: 6, FromSeq: 1, ToSeq: 2, Reason: "lost"}, {Source: "OBS", From: 7, Reason: "open"}},
		Consumers:   []lifecycle.ConsumerState{{Stream: tasksStream, Name: "worker", ObservedAt: 5, MaxDeliver: 3}},
		Watermarks:  map[string]string{"source": "12"},
	})
	if _, created, err := s.CreateReconciliation(t.Context(), reconciliationOf(1)); err != nil || !created {
		t.Fatalf("create reconciliation: %v", err)
	}
	w, _ := withEffects(t, s, 3)
	mustClaim(t, s, "relay", w.now+5000, 1)
	if state, err := s.ReserveKey(t.Context(), keyRequest("key", "fingerprint", 1000)); err != nil || state.Status != decision.KeyReserved {
		t.Fatalf("reserve key: %+v, %v", state, err)
	}
	states := map[lifecycle.State]bool{}
	for id, row := range expectedOf(slices.Concat(events, w.events)).tasks {
		tasks = append(tasks, id)
		states[row.Summary.State] = true
	}
	for _, state := range lifecycle.States() {
		if !states[state] {
			t.Errorf("no task is %s: add a scenario", state)
		}
	}
	slices.Sort(tasks)
	return tasks
}

// CheckStored lets the upgrade of a store that [FillStored] filled run, and compares every answer with what the store's own events come to
// when they are folded afresh. A task's events must not be fewer than what FillStored wrote.
func CheckStored(t *testing.T, s Store, tasks []string) {
	t.Helper()
	finishUpgrade(t, s, 5)
	var events []lifecycle.Event
	for _, id := range tasks {
		some, err := s.Events(t.Context(), id, lifecycle.EventPosition{}, math.MaxInt32)
		if err != nil || len(some) == 0 {
			t.Fatalf("events of %q: %d, %v", id, len(some), err)
		}
		for _, e := range some {
			events = append(events, e.WithoutPlaceholder())
		}
	}
	expected := expectedOf(events)
	if got := len(expected.tasks); got != len(tasks) {
		t.Errorf("the events tell of %d tasks, want %d", got, len(tasks))
	}
	expected.check(t, s)
	checkStoredRest(t, s)
}

// checkStoredRest looks at what is stored beside the events.
func checkStoredRest(t *testing.T, s Store) {
	t.Helper()
	ctx := t.Context()
	if lines, n, err := s.Quarantine(ctx, 5); err != nil || n != 1 || lines[0].Reason != "no JSON" {
		t.Errorf("quarantine: %+v, %d, %v", lines, n, err)
	}
	if gaps, err := s.Gaps(ctx, 0, math.MaxInt64, 5); err != nil || len(gaps) != 2 {
		t.Errorf("gaps: %+v, %v", gaps, err)
	}
	if consumers, err := s.Consumers(ctx); err != nil || len(consumers) != 1 || consumers[0].MaxDeliver != 3 {
		t.Errorf("consumers: %+v, %v", consumers, err)
	}
	if at, err := s.Watermark(ctx, "source"); err != nil || at != "12" {
		t.Errorf("watermark: %q, %v", at, err)
	}
	if r, err := s.Reconciliation(ctx, "r001"); err != nil || r.Status != reconcile.StatusDone || r.Report == nil {
		t.Errorf("reconciliation: %+v, %v", r, err)
	}
	checkStoredDecisions(t, s)
}

func checkStoredDecisions(t *testing.T, s Store) {
	t.Helper()
	if n := len(onlyAudit(t, s)); n != 3 {
		t.Errorf("audit records: %d, want 3", n)
	}
	var statuses []string
	for _, action := range []string{"d01", "d02", "d03"} {
		effects, err := s.EffectsOf(t.Context(), action)
		if err != nil || len(effects) != 1 {
			t.Fatalf("effects of %s: %+v, %v", action, effects, err)
		}
		statuses = append(statuses, string(effects[0].Status))
		if r, err := s.Revision(t.Context(), effects[0].Subject); err != nil || r != 1 {
			t.Errorf("revision of %s: %d, %v; want 1", effects[0].Subject, r, err)
		}
	}
	if got := strings.Join(statuses, " "); got != "waiting claimed waiting" {
		t.Errorf("effects: %s, want the one that was due first claimed", got)
	}
	if state, err := s.ReserveKey(t.Context(), keyRequest("key", "other", 1001)); err != nil || state.Status != decision.KeyReused {
		t.Errorf("idempotency key: %+v, %v; want it reused", state, err)
	}
}
