package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// shredder notes the cutoffs that it is given.
type shredder struct {
	cutoffs []time.Duration // Before the time of the call.
	marks   []string        // The cutoffs that were stored before.

	decisions, keys, alerts, restarts []lifecycle.Micros // Likewise.

	err error
}

func (s *shredder) Retain(_ context.Context, cutoff, now lifecycle.Micros) (int64, error) {
	s.cutoffs = append(s.cutoffs, now.Sub(cutoff))
	return 1, s.err
}

// RetainDecisions implements [decision.Keeper].
func (s *shredder) RetainDecisions(_ context.Context, cutoff lifecycle.Micros) (int64, error) {
	s.decisions = append(s.decisions, cutoff)
	return 1, s.err
}

// RetainAlerts implements [alerts.BoardStore].
func (s *shredder) RetainAlerts(_ context.Context, cutoff lifecycle.Micros) (int64, error) {
	s.alerts = append(s.alerts, cutoff)
	return 1, s.err
}

// RetainRestarts implements [restarts.Store].
func (s *shredder) RetainRestarts(_ context.Context, cutoff lifecycle.Micros) (int64, error) {
	s.restarts = append(s.restarts, cutoff)
	return 1, s.err
}

// ExpireKeys implements [decision.RequestKeys].
func (s *shredder) ExpireKeys(_ context.Context, before lifecycle.Micros) (int64, error) {
	s.keys = append(s.keys, before)
	return 1, s.err
}

// Watermark implements [retainedStore].
func (s *shredder) Watermark(context.Context, string) (string, error) {
	if len(s.marks) == 0 {
		return "", nil
	}
	return s.marks[len(s.marks)-1], nil
}

// Append implements [lifecycle.Appender].
func (s *shredder) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	s.marks = append(s.marks, b.Watermarks["retained"])
	return lifecycle.Appended{}, s.err
}

func TestOldTasksAreDeletedEveryHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shredder{err: errors.New("busy")}
		r := &retention{store: s, keep: 48 * time.Hour, now: time.Now, log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Errorf("Run: %v; a failure is tried again an hour later", err)
		}
		if len(s.cutoffs) != 3 {
			t.Errorf("called %d times in three hours, want 3", len(s.cutoffs))
		}
		if len(s.decisions) != 3 || len(s.alerts) != 3 || len(s.restarts) != 3 || len(s.keys) != 3 || s.decisions[2].Sub(s.keys[2]) != 24*time.Hour {
			t.Errorf("decisions before %v and keys before %v were deleted, want three of each, keys kept for 72 h", s.decisions, s.keys)
		}
		if len(s.marks) != 3 || s.marks[0] == "" {
			t.Errorf("marks %v, want one before each call", s.marks)
		}
		for _, c := range s.cutoffs {
			if c != 48*time.Hour {
				t.Errorf("cutoff %s before now, want 48h", c)
			}
		}
	})
}

// Of replicas that share a database the one that keeps tasks longest deletes last: what the others deleted before does not come back by it, and it says so.
func TestALongerRetentionSaysWhatAShorterOneDeleted(t *testing.T) {
	t.Parallel()
	s, now := &shredder{}, time.Now()
	said := map[time.Duration]*strings.Builder{}
	replica := func(keep time.Duration) *retention {
		said[keep] = &strings.Builder{}
		return &retention{store: s, keep: keep, now: func() time.Time { return now }, log: slog.New(slog.NewTextHandler(said[keep], &slog.HandlerOptions{Level: slog.LevelWarn}))}
	}
	short, long := replica(time.Hour), replica(48*time.Hour)
	for range 3 {
		short.once(t.Context())
		long.once(t.Context())
		long.once(t.Context())
		mark, _ := s.Watermark(t.Context(), lifecycle.WatermarkRetained)
		if got, want := lifecycle.Retained(mark), lifecycle.MicrosOf(now.Add(-time.Hour)); got != want {
			t.Fatalf("deleted up to %s, want %s: the shorter retention counts", got.Time(), want.Time())
		}
		now = now.Add(time.Hour)
	}
	if text := said[48*time.Hour].String(); strings.Count(text, "\n") != 3 || strings.Count(text, "shorter --retention") != 3 {
		t.Errorf("the longer one said, of three deletions by the shorter one: %s", text)
	}
	if text := said[time.Hour].String(); text != "" {
		t.Errorf("the shorter one said %s", text)
	}
}

func TestAlertsOutlastAReceiverThatFails(t *testing.T) {
	t.Parallel()
	s, now := &shredder{}, time.Now()
	r := &retention{store: s, keep: time.Hour, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
	r.once(t.Context())
	if told := lifecycle.MicrosOf(now).Sub(s.alerts[0]); told <= 24*time.Hour {
		t.Errorf("alerts and what is told of them are deleted after %s; a receiver that fails is told for a day", told)
	}
}

// A read-only replica has no word in what others decide, and so none in how long they keep it. A store of its own nobody else clears.
func TestAReadOnlyReplicaDeletesNothingOfASharedStore(t *testing.T) {
	t.Parallel()
	shared, elsewhere := testkit.Postgres(t), testkit.Broker(t).URL()
	for _, tt := range []struct {
		args    []string
		deletes bool
	}{
		{[]string{"--database-url", shared}, true},
		{[]string{"--database-url", shared, "--read-only"}, false},
		{[]string{"--read-only"}, true},
		{[]string{"--database-url", testkit.Postgres(t), "--nats-url", elsewhere, "--reader", "staging", "--read-only"}, true},
	} {
		app := start(t, settings(t, tt.args...))
		if got := slices.ContainsFunc(app.workers, func(w worker) bool { return w.name == "retention" }); got != tt.deletes {
			t.Errorf("%q: deletes by --retention is %t, want %t", tt.args, got, tt.deletes)
		}
		app.stop()
	}
}

func TestAWorkerThatFailsStopsEverythingAndIsNamed(t *testing.T) {
	t.Parallel()
	app, err := New(t.Context(), settings(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("out of luck")
	app.work("gambler", func(context.Context) error { return cause })
	ended := false
	app.work("other", func(ctx context.Context) error { <-ctx.Done(); ended = true; return nil })
	err = app.Run(context.Background())
	if !errors.Is(err, cause) || err.Error() != "gambler: out of luck" {
		t.Errorf("Run: %v, want the worker's error with its name", err)
	}
	if !ended {
		t.Error("another worker was not waited for")
	}
}

func TestPartsAreReleasedInReverseOrder(t *testing.T) {
	t.Parallel()
	var order []string
	var a App
	for _, name := range []string{"store", "nats", "listener"} {
		a.onStop(name, func() error { order = append(order, name); return errors.New("no") })
	}
	err := a.Close()
	if err == nil || a.Close() != nil {
		t.Errorf("Close: %v; want the errors once", err)
	}
	if len(order) != 3 || order[0] != "listener" || order[2] != "store" {
		t.Errorf("order %v, want listener, nats, store", order)
	}
}
