package idempotency_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"fleetglass/collectors/idempotency"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

func TestNothingIsLostAcrossARestartOfTheProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	before, during, down := names("before", 3), names("during", 3), names("down", 3)
	b.completeAll(time.Now(), before...)
	c, stop := b.start()
	b.wantOnce(before...)
	b.completeAll(time.Now(), during...)
	b.wantOnce(during...)
	stop()
	if got := c.Stats(); got.New != 6 || got.Polls != 0 {
		t.Errorf("stats %+v, want 6 new events and no poll", got)
	}
	b.completeAll(time.Now(), down...)
	c, _ = b.start() // Neither poll nor sweep are due: the listener's first result is the catch-up.
	b.wantOnce(slices.Concat(before, during, down)...)
	b.wantStats(c, "3 new events and no sweep", func(s idempotency.FirestoreStats) bool { return s.New == 3 && s.Sweeps == 0 })
}

func TestADeadListenerIsOpenedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{
		codes.Aborted, codes.PermissionDenied, codes.Canceled, codes.FailedPrecondition, codes.InvalidArgument, codes.NotFound,
		codes.AlreadyExists, codes.OutOfRange, codes.Unimplemented, codes.DataLoss,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			c, _ := b.start()
			b.complete("first", time.Now())
			b.wantOnce("first")
			b.server.Fail(firestoretest.Listen, code, feeds+3)
			if n := b.server.BreakListeners(code); n != feeds {
				t.Errorf("%d listeners were open", n)
			}
			b.complete("second", time.Now())
			b.wantOnce("first", "second")
			b.wantStats(c, "every listener opened again", func(s idempotency.FirestoreStats) bool { return s.Recreated >= feeds })
			b.eventually(func() error {
				if part := c.Health()[0]; part.State != health.OK {
					return fmt.Errorf("health %+v", part)
				}
				return nil
			})
		})
	}
}

func TestAnInterruptedListenerGoesOn(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Unavailable, codes.Internal, codes.Unauthenticated, codes.Unknown, codes.DeadlineExceeded} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.start()
			b.complete("first", time.Now())
			b.wantOnce("first")
			b.server.BreakListeners(code)
			b.complete("second", time.Now())
			b.wantOnce("first", "second")
		})
	}
}

func TestAPollFindsThatAListenerStalled(t *testing.T) {
	t.Parallel()
	for name, stall := range map[string]func(*firestoretest.Server) int{
		"it says nothing":              (*firestoretest.Server).StallListeners,
		"the client waits for a quota": func(s *firestoretest.Server) int { return s.BreakListeners(codes.ResourceExhausted) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.cfg.Poll, b.cfg.Patience = 100*time.Millisecond, time.Second
			c, _ := b.start()
			b.complete("told", time.Now())
			b.wantOnce("told")
			if n := stall(b.server); n != feeds {
				t.Fatalf("%d listeners were open", n)
			}
			b.complete("silent", time.Now())
			b.wantOnce("told", "silent")
			b.eventually(func() error {
				if n, got := b.server.Listeners(), c.Stats(); n != 1 || got.Stalled != 1 || got.New != 2 {
					return fmt.Errorf("%d listeners tell, stats %+v", n, got)
				}
				return nil
			})
		})
	}
}

func TestAQuietListenerIsNotTakenForAStalledOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.cfg.Poll, b.cfg.Patience = 20*time.Millisecond, time.Second
	c, _ := b.start()
	b.completeAll(time.Now(), names("t", 5)...)
	b.wantOnce(names("t", 5)...)
	polls, written := c.Stats().Polls, time.Now()
	b.eventually(func() error {
		if got := c.Stats(); got.Polls < polls+10*feeds || time.Since(written) < 2*b.cfg.Patience {
			return fmt.Errorf("stats %+v", got)
		}
		return nil
	})
	b.wantStats(c, "5 new events and no listener opened again", func(s idempotency.FirestoreStats) bool {
		return s.Stalled == 0 && s.Recreated == 0 && s.New == 5
	})
}

func TestAServerRestartedEmptyErasesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	c, _ := b.start()
	tasks := names("t", 5)
	b.completeAll(time.Now(), tasks...)
	b.wantOnce(tasks...)
	b.server.Erase()
	for _, task := range tasks {
		b.wantKinds(task, lifecycle.CompletionRecorded, lifecycle.RecordDeleted)
	}
	b.complete("after", time.Now())
	b.wantOnce("after")
	b.wantStats(c, "6 completions and 5 deletions", func(s idempotency.FirestoreStats) bool { return s.Events == 11 })
	for _, task := range tasks {
		rec, err := b.store.Task(t.Context(), task)
		if err != nil || len(rec.Facts.Completed) != 1 {
			t.Errorf("%s: %+v, %v", task, rec.Facts, err)
		}
	}
}

func TestAServerErasedWhileTheListenerWasDeadErasesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.start()
	b.complete("t", time.Now())
	b.wantOnce("t")
	b.server.Fail(firestoretest.Listen, codes.Aborted, 2*feeds)
	b.server.BreakListeners(codes.Aborted)
	b.server.Erase()
	b.wantKinds("t", lifecycle.CompletionRecorded, lifecycle.RecordDeleted)
}

func TestClocksMayBeOffByMinutes(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-7 * time.Minute, 7 * time.Minute} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			clock := func() time.Time { return time.Now().Add(skew) }
			b := newBench(t, clock)
			_, stop := b.start()
			offsets := []time.Duration{5 * time.Minute, 0, -5 * time.Minute, 48 * time.Hour, -3 * time.Minute, 0}
			var all []string
			for round := range 3 {
				for i, offset := range offsets {
					task := fmt.Sprintf("r%d-%d", round, i)
					all = append(all, task)
					b.complete(task, clock().Add(offset))
					b.wantOnce(task)
				}
				stop()
				b.complete(fmt.Sprintf("down%d", round), clock().Add(-4*time.Minute))
				all = append(all, fmt.Sprintf("down%d", round))
				_, stop = b.start()
			}
			b.wantOnce(all...)
			for _, task := range all[:2] {
				e := b.wantKinds(task, lifecycle.CompletionRecorded)[0]
				if d := e.At.Time().Sub(clock()).Abs(); d > time.Minute {
					t.Errorf("%s: event at %v, want Firestore's time", task, e.At.Time())
				}
			}
		})
	}
}

func TestARotatedListenerMissesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.cfg.Rotate = 20 * time.Millisecond
	c, _ := b.run()
	tasks := names("t", 60)
	for i, task := range tasks {
		b.complete(task, time.Now())
		if i%20 == 0 {
			b.wantOnce(task)
		}
	}
	b.wantOnce(tasks...)
	if _, err := b.agents.Doc("task-idempotency/t005").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantKinds("t005", lifecycle.CompletionRecorded, lifecycle.RecordDeleted)
	b.wantStats(c, "61 new events and no failed listener", func(s idempotency.FirestoreStats) bool { return s.Recreated == 0 && s.New == 61 })
}
