package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/store/sqlite"
)

// TestAnHourWhoseDeadLettersWereDeletedIsNotCountedAgain counts an hour before and after retention: what was copied of it stays.
func TestAnHourWhoseDeadLettersWereDeletedIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleet.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	now := lifecycle.MicrosOf(time.Now())
	died := now.Add(-5 * time.Hour)
	k := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1}
	events := []lifecycle.Event{
		{Kind: lifecycle.Published, At: died, TaskID: "a", Agent: "cto"}, {Kind: lifecycle.Terminated, At: died + 1, Agent: "cto", Consumer: "cto-task-worker", Attempt: 1, ConsumerSeq: 1},
		{Kind: lifecycle.Triaged, At: died + 2},
	}
	events[2].Detail.Revision, events[2].Detail.Outcome = 1, lifecycle.OutcomeDiscarded
	for i := range events {
		events[i].ID, events[i].Message, events[i].Provenance = lifecycle.NewEventID(fmt.Sprint(i)), k, lifecycle.Observed
	}
	if _, err := store.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
		t.Fatal(err)
	}
	counted := func() string {
		ask, err := query.New(query.Config{Store: store, Entries: store, AgentOf: fleet.AgentOfWorker})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ask.Close() }()
		hours, err := hoursOf(ask)(t.Context(), now.Add(-24*time.Hour), now)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, h := range hours {
			text += fmt.Sprintf("%d of %d died", h.Entries, h.Messages)
		}
		return text
	}
	if got := counted(); got != "1 of 1 died" {
		t.Errorf("before retention: %q", got)
	}
	cutoff := now.Add(-time.Hour)
	if _, err := markRetained(t.Context(), store, cutoff); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Retain(t.Context(), cutoff, now); err != nil || n != 1 {
		t.Fatalf("retain: %d tasks deleted, %v; want 1", n, err)
	}
	if got := counted(); got != "" {
		t.Errorf("after retention: %q; want that the hour is left as it is", got)
	}
}
