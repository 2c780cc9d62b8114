package reservetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"fleetglass/fleet"
)

func handedOver(t *testing.T, w *world) {
	first := w.reserve(t, claim("first"))
	renewed, err := w.client(1).Renew(t.Context(), first)
	if err != nil || renewed.Token != first.Token {
		t.Fatalf("renewed to %+v, %v", renewed, err)
	}
	if err := w.client(1).Release(t.Context(), renewed); err != nil {
		t.Fatal(err)
	}
	second, _, err := w.client(1).Reserve(t.Context(), claim("second"))
	if err != nil || second.Token <= first.Token {
		t.Fatalf("reserved %+v, %v after token %d", second, err, first.Token)
	}
	stored := w.confirm(t, second, w.record("done"))
	if again, err := w.client(1).Confirm(t.Context(), second, w.record("again")); err != nil || again != stored {
		t.Errorf("confirmed again through another client as %+v, %v; want %+v", again, err, stored)
	}
}

func slightlyAstray(t *testing.T, w *world) {
	held := w.reserve(t, claim("holder"))
	for range 5 {
		w.pass(lease / 3) // As often as a holder renews.
		for _, off := range []time.Duration{lease / 2, -lease / 2} {
			if got, done, err := w.Astray(off).Reserve(t.Context(), claim("astray")); !errors.Is(err, fleet.ErrReserved) {
				t.Errorf("a clock off by %s: reserved %+v, %v, error %v", off, got, done, err)
			}
		}
		var err error
		if held, err = w.Reservations.Renew(t.Context(), held); err != nil {
			t.Fatal(err)
		}
	}
	behind, _, err := w.Astray(-lease/2).Reserve(t.Context(), fleet.Claim{TaskID: "t-2", Owner: "behind", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	w.pass(lease / 3)
	if _, _, err := w.Reservations.Reserve(t.Context(), fleet.Claim{TaskID: "t-2", Owner: "right", Lease: lease}); !errors.Is(err, fleet.ErrReserved) {
		t.Errorf("what a clock that is behind reserved: %v", err)
	}
	if _, err := w.Astray(-lease/2).Confirm(t.Context(), behind, w.record("done")); err != nil {
		t.Error(err)
	}
}

func farAstray(t *testing.T, w *world) {
	first := w.reserve(t, claim("right"))
	second, _, err := w.Astray(1000*lease).Reserve(t.Context(), claim("days ahead"))
	switch {
	case errors.Is(err, fleet.ErrReserved): // The store has a clock of its own.
		w.confirm(t, first, w.record("right"))
	case err == nil && second.Token > first.Token:
		w.expectFenced(t, first)
		w.confirm(t, second, w.record("days ahead"))
		w.expectFenced(t, first)
	default:
		t.Fatalf("reserved %+v, %v after token %d", second, err, first.Token)
	}
}

// confusion lets many clients reserve, confirm and release one key as long as it takes until somebody has confirmed.
func confusion(t *testing.T, w *world) {
	var mu sync.Mutex
	confirmed := map[fleet.Record]int{}
	var highest uint64
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i := range 8 {
		wg.Go(func() {
			for turn := 0; ctx.Err() == nil; turn++ {
				held, done, err := w.client(i).Reserve(ctx, claim("one of eight"))
				switch {
				case errors.Is(err, fleet.ErrReserved):
					continue
				case err != nil:
					t.Error(err)
					return
				case done != nil:
					mu.Lock()
					confirmed[*done] += 0
					mu.Unlock()
					return
				}
				mu.Lock()
				if held.Token <= highest {
					t.Errorf("token %d after %d", held.Token, highest)
				}
				highest = max(highest, held.Token)
				mu.Unlock()
				if turn < 5 {
					err = w.client(i+1).Release(ctx, held)
				} else if done, confirmErr := w.client(i+1).Confirm(ctx, held, w.record("done")); confirmErr == nil {
					mu.Lock()
					confirmed[done]++
					mu.Unlock()
				} else {
					err = confirmErr
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(confirmed) != 1 {
		t.Errorf("records %v", confirmed)
	}
	for r, n := range confirmed {
		if n != 1 {
			t.Errorf("%+v was confirmed by %d", r, n)
		}
	}
}
