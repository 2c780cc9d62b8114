package query

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fleetglass/lifecycle"
)

func testCache(t *testing.T) *cache {
	t.Helper()
	c, err := newCache(func() lifecycle.Micros { return lifecycle.MicrosOf(time.Now()) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

func TestOneAnswerIsComputedForAllWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, computed, release := testCache(t), atomic.Int64{}, make(chan struct{})
		compute := func(context.Context, lifecycle.Micros) (int64, error) {
			<-release
			return computed.Add(1), nil
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if n, err := ask(t.Context(), c, "k", time.Second, compute); n != 1 || err != nil {
					t.Errorf("got %d, %v, want 1", n, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		group.Wait()
	})
}

func TestWhoLeavesDoesNotTakeTheAnswerFromTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, release := testCache(t), make(chan struct{})
		compute := func(ctx context.Context, _ lifecycle.Micros) (string, error) {
			select {
			case <-release:
				return "answer", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		hasty, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := ask(hasty, c, "k", time.Second, compute); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the hasty reader got %v, want its own deadline", err)
			}
		})
		synctest.Wait() // The hasty reader began the computation.
		group.Go(func() {
			if got, err := ask(t.Context(), c, "k", time.Second, compute); got != "answer" || err != nil {
				t.Errorf("the patient reader got %q, %v", got, err)
			}
		})
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		close(release)
		group.Wait()
	})
}

func TestAnAnswerIsNeverOlderThanItsAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, computed := testCache(t), 0
		next := func() int {
			n, err := ask(t.Context(), c, "k", time.Second, func(context.Context, lifecycle.Micros) (int, error) { computed++; return computed, nil })
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		got := []int{next()}
		time.Sleep(999 * time.Millisecond)
		got = append(got, next())
		time.Sleep(time.Millisecond)
		got = append(got, next())
		if fmt.Sprint(got) != "[1 1 2]" {
			t.Errorf("got %v, want [1 1 2]", got)
		}
	})
}

func TestASlowComputationIsNotHandedToWhoAsksAfterItsAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, computed := testCache(t), atomic.Int64{}
		slow := func(context.Context, lifecycle.Micros) (int64, error) {
			time.Sleep(3 * time.Second)
			return computed.Add(1), nil
		}
		var group sync.WaitGroup
		group.Go(func() { _, _ = ask(t.Context(), c, "k", time.Second, slow) })
		time.Sleep(2 * time.Second)
		if n, err := ask(t.Context(), c, "k", time.Second, slow); n != 2 || err != nil {
			t.Errorf("got %d, %v, want the second answer: the first began two seconds before the question", n, err)
		}
		group.Wait()
	})
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	c, away := testCache(t), errors.New("the database is away")
	if _, err := ask(t.Context(), c, "k", time.Hour, func(context.Context, lifecycle.Micros) (int, error) { return 0, away }); !errors.Is(err, away) {
		t.Fatalf("got %v, want %v", err, away)
	}
	if n, err := ask(t.Context(), c, "k", time.Hour, func(context.Context, lifecycle.Micros) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("got %d, %v, want 7", n, err)
	}
	if _, err := ask(t.Context(), c, "other", time.Hour, func(context.Context, lifecycle.Micros) (int, error) { panic("odd") }); err == nil {
		t.Error("a panic gave no error")
	}
}

func TestTheNumberOfAnswersIsBounded(t *testing.T) {
	t.Parallel()
	c := testCache(t)
	for i := range 2 * maxAnswers {
		if _, err := ask(t.Context(), c, fmt.Sprint(i), time.Hour, func(context.Context, lifecycle.Micros) (int, error) { return i, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.answers.Len(); n != maxAnswers {
		t.Errorf("%d answers are kept, want %d", n, maxAnswers)
	}
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := newCache(func() lifecycle.Micros { return lifecycle.MicrosOf(time.Now()) })
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		group.Go(func() {
			_, err := ask(t.Context(), c, "k", time.Second, func(ctx context.Context, _ lifecycle.Micros) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want a cancelled computation", err)
			}
		})
		synctest.Wait()
		c.close()
		c.close()
		group.Wait()
		if _, err := ask(t.Context(), c, "k", time.Second, func(context.Context, lifecycle.Micros) (int, error) { return 1, nil }); !errors.Is(err, lifecycle.ErrClosed) {
			t.Errorf("after close: got %v, want %v", err, lifecycle.ErrClosed)
		}
	})
}

func TestACostlyAnswerIsGivenAgainWhileTheNextIsComputed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testCache(t)
		n := 0
		next := func(context.Context, lifecycle.Micros) (int, error) {
			time.Sleep(2 * time.Second)
			n++
			return n, nil
		}
		for _, step := range []struct {
			after time.Duration
			want  int
			waits time.Duration
		}{
			{0, 1, 2 * time.Second}, // There is nothing yet.
			{time.Second, 1, 0},     // The second is computed meanwhile.
			{3 * time.Second, 2, 0},
			{time.Minute, 4, 2 * time.Second}, // The third is too old to be shown.
		} {
			time.Sleep(step.after)
			began := time.Now()
			got, err := askAhead(t.Context(), c, "k", 500*time.Millisecond, next)
			if waited := time.Since(began); err != nil || got != step.want || waited != step.waits {
				t.Errorf("after %s: got %d, %v within %s, want %d within %s", step.after, got, err, waited, step.want, step.waits)
			}
		}
	})
}
