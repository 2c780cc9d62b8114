package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/storetest"
)

// TestAStoreWorksAgainAfterItsDatabaseDied kills the server, asks everything, starts it again, and goes on with the same store.
func TestAStoreWorksAgainAfterItsDatabaseDied(t *testing.T) {
	t.Parallel()
	cluster := testkit.PostgresCluster(t)
	s := open(t, cluster.Database(t))
	events := overlapping(30)
	if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events[:40]}); err != nil {
		t.Fatal(err)
	}
	cluster.Kill(t)
	for name, call := range calls(s, events) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := call(ctx); err == nil || !strings.Contains(err.Error(), "postgres: ") || !errors.Is(err, lifecycle.ErrUnable) {
			t.Errorf("%s while the database is away: got %v, want an error that names postgres and says that the store is unable", name, err)
		}
		cancel()
	}
	cluster.Start(t)
	if done, err := s.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil || done.New != len(events)-40 {
		t.Errorf("append afterwards: %d new events, %v; want %d", done.New, err, len(events)-40)
	}
	for name, call := range calls(s, events) {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s after the database came back: %v", name, err)
		}
	}
}

func calls(s storetest.Store, events []lifecycle.Event) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"append": func(ctx context.Context) error { _, err := s.Append(ctx, lifecycle.Batch{Events: events}); return err },
		"list": func(ctx context.Context) error {
			_, err := s.ListTasks(ctx, lifecycle.Filter{}, lifecycle.Page{Limit: 5})
			return err
		},
		"count":  func(ctx context.Context) error { _, _, err := s.CountTasks(ctx, lifecycle.Filter{}); return err },
		"facets": func(ctx context.Context) error { _, err := s.Facets(ctx); return err },
		"task":   func(ctx context.Context) error { _, err := s.Task(ctx, "task-1"); return err },
		"events": func(ctx context.Context) error {
			_, err := s.Events(ctx, "task-1", lifecycle.EventPosition{}, 5)
			return err
		},
		"open":    func(ctx context.Context) error { _, err := s.OpenMessages(ctx, lifecycle.StreamID{}, 0, 5); return err },
		"rebuild": func(ctx context.Context) error { _, err := s.Rebuild(ctx); return err },
		"retain":  func(ctx context.Context) error { _, err := s.Retain(ctx, 1, 1); return err },
		"rollups": func(ctx context.Context) error {
			_, err := s.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricState}, 0, 1, true)
			return err
		},
		"ping": s.Ping,
	}
}
