package reservetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/fleet"
)

func (w *world) once(t *testing.T) *fleet.Once {
	t.Helper()
	return w.onceOf(t, w.Reservations)
}

func (w *world) onceOf(t *testing.T, r fleet.Reservations) *fleet.Once {
	t.Helper()
	o, err := fleet.NewOnce(fleet.OnceConfig{Reservations: r, Agent: "cto", Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// submit asks for the effect n times at once, through all clients, and returns the replies.
func (w *world) submit(t *testing.T, c fleet.Claim, n int, effect fleet.Effect) (replies []fleet.Record, failures []error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		o := w.onceOf(t, w.client(i))
		wg.Go(func() {
			r, err := o.Do(ctx, c, effect)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures = append(failures, err)
				return
			}
			replies = append(replies, r)
		})
	}
	wg.Wait()
	return replies, failures
}

func submissions(t *testing.T, w *world) {
	for _, n := range []int{10, 100} {
		c := claim("submitter")
		c.TaskID = fmt.Sprintf("submitted-%d", n)
		var effects atomic.Int32
		replies, failures := w.submit(t, c, n, func(context.Context, fleet.Reservation) (string, error) {
			return fmt.Sprintf("effect %d", effects.Add(1)), nil
		})
		if effects.Load() != 1 || len(failures) > 0 || len(replies) != n {
			t.Errorf("%d submissions: %d effects, %d replies, failures %v", n, effects.Load(), len(replies), failures)
		}
		for _, r := range replies {
			if r != replies[0] || r.ResultSummary != "effect 1" {
				t.Errorf("replies differ: %+v and %+v", r, replies[0])
			}
		}
	}
}

func failedEffect(t *testing.T, w *world) {
	var effects atomic.Int32
	refused := errors.New("admission rejected")
	replies, failures := w.submit(t, claim("submitter"), 10, func(context.Context, fleet.Reservation) (string, error) {
		if effects.Add(1) <= 2 {
			return "", refused
		}
		return "done", nil
	})
	if effects.Load() != 3 || len(replies) != 8 || len(failures) != 2 {
		t.Errorf("%d effects, %d replies, failures %v", effects.Load(), len(replies), failures)
	}
	for _, err := range failures {
		if !errors.Is(err, refused) {
			t.Errorf("failed with %v", err)
		}
	}
}

func otherSubmission(t *testing.T, w *world) {
	o := w.once(t)
	first, err := o.Do(t.Context(), claim("first"), func(context.Context, fleet.Reservation) (string, error) { return "done", nil })
	if err != nil {
		t.Fatal(err)
	}
	other := claim("other")
	other.PayloadHash = "bb"
	_, err = o.Do(t.Context(), other, func(context.Context, fleet.Reservation) (string, error) {
		t.Error("the effect of another payload")
		return "", nil
	})
	if !errors.Is(err, fleet.ErrKeyConflict) {
		t.Errorf("another payload: %v", err)
	}
	w.expectReply(t, claim("again"), first)
}

func lostEffect(t *testing.T, w *world) {
	short := claim("slow")
	short.Lease = 150 * time.Millisecond // By the clock of the test it expires when that says so; the renewals are real.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := w.once(t).Do(ctx, short, func(ctx context.Context, held fleet.Reservation) (string, error) {
		for { // Somebody takes over, in the moment that a renewal leaves.
			w.pass(short.Lease)
			if next, _, err := w.Reservations.Reserve(t.Context(), claim("second")); err == nil {
				if next.Token <= held.Token {
					t.Errorf("token %d after %d", next.Token, held.Token)
				}
				break
			}
		}
		<-ctx.Done()
		return "", ctx.Err()
	})
	if !errors.Is(err, fleet.ErrFenced) {
		t.Errorf("the slow effect ended with %v", err)
	}
}
