package reservetest

import (
	"errors"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

func oneWinner(t *testing.T, w *world) {
	won := w.race(t, 20)
	if len(won) != 1 {
		t.Fatalf("%d of 20 reserved", len(won))
	}
	_, _, err := w.Reservations.Reserve(t.Context(), claim("late comer"))
	var busy *fleet.ReservedError
	if !errors.As(err, &busy) || busy.Owner != "one of many" || busy.Until != won[0].ExpiresAt || busy.Left != lease {
		t.Errorf("the next claim is told %v", err)
	}
	w.confirm(t, won[0], w.record("done"))
}

func released(t *testing.T, w *world) {
	first := w.reserve(t, claim("first"))
	if err := w.Reservations.Release(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	other := claim("second")
	other.PayloadHash = "bb"
	second := w.reserve(t, other)
	if second.Token <= first.Token {
		t.Errorf("token %d after %d", second.Token, first.Token)
	}
	if err := w.Reservations.Release(t.Context(), first); !errors.Is(err, fleet.ErrFenced) {
		t.Errorf("released twice: %v", err)
	}
	w.refuse(t, other, fleet.ErrReserved)
}

func takenOver(t *testing.T, w *world) {
	first := w.reserve(t, claim("first"))
	w.pass(lease - time.Millisecond)
	w.refuse(t, claim("early"), fleet.ErrReserved)
	w.pass(time.Millisecond)
	won := w.race(t, 20)
	if len(won) != 1 || won[0].Token <= first.Token {
		t.Fatalf("%+v took over from token %d", won, first.Token)
	}
	w.pass(lease)
	if again := w.race(t, 20); len(again) != 1 || again[0].Token <= won[0].Token {
		t.Fatalf("%+v took over from token %d", again, won[0].Token)
	}
}

func late(t *testing.T, w *world) {
	first := w.reserve(t, claim("first"))
	w.pass(lease)
	second := w.reserve(t, claim("second"))
	w.expectFenced(t, first)
	w.refuse(t, claim("third"), fleet.ErrReserved)
	stored := w.confirm(t, second, w.record("of the second"))
	w.expectFenced(t, first)
	if found, err := w.Records.Find(t.Context(), "t-1", ""); err != nil || found == nil || *found != stored {
		t.Errorf("found %+v, %v; want %+v", found, err, stored)
	}
}

// expectFenced expects that a reservation is good for nothing any more.
func (w *world) expectFenced(t *testing.T, r fleet.Reservation) {
	t.Helper()
	if _, err := w.Reservations.Confirm(t.Context(), r, w.record("late")); !errors.Is(err, fleet.ErrFenced) {
		t.Errorf("confirmed: %v", err)
	}
	if _, err := w.Reservations.Renew(t.Context(), r); !errors.Is(err, fleet.ErrFenced) {
		t.Errorf("renewed: %v", err)
	}
	if err := w.Reservations.Release(t.Context(), r); !errors.Is(err, fleet.ErrFenced) {
		t.Errorf("released: %v", err)
	}
}

func expiredButAlone(t *testing.T, w *world) {
	held := w.reserve(t, claim("slow"))
	w.pass(2 * lease)
	w.confirm(t, held, w.record("slow"))
}

func renewed(t *testing.T, w *world) {
	first := w.reserve(t, claim("first"))
	held := first
	for range 5 {
		w.pass(lease - time.Millisecond)
		next, err := w.Reservations.Renew(t.Context(), held)
		if err != nil {
			t.Fatal(err)
		}
		if next.Token != first.Token || next.ExpiresAt != lifecycle.MicrosOf(w.now().Add(lease)) {
			t.Errorf("renewed to %+v", next)
		}
		held = next
	}
	w.refuse(t, claim("second"), fleet.ErrReserved)
	if _, err := w.Reservations.Renew(t.Context(), first); err != nil {
		t.Errorf("renewed by what the holder knew at first: %v", err) // As when the answer to a renewal was lost.
	}
	w.pass(lease)
	second := w.reserve(t, claim("second"))
	w.expectFenced(t, held)
	if _, err := w.Reservations.Renew(t.Context(), second); err != nil {
		t.Error(err)
	}
}

func versions(t *testing.T, w *world) {
	for _, id := range []string{"t-1", "a b", "日本", "a/=b", "TASKS:7"} {
		for _, version := range []string{"", "2", "3"} {
			c := claim("first")
			if c.TaskID = id; version != "" {
				c.IdempotencyKey = fleet.IdempotencyKey(id, version)
			}
			held := w.reserve(t, c)
			w.refuse(t, c, fleet.ErrReserved)
			stored := w.confirm(t, held, w.record("done "+version))
			if stored.TaskID != id || stored.IdempotencyKey != c.IdempotencyKey {
				t.Errorf("%q version %q is recorded as %+v", id, version, stored)
			}
			if found, err := w.Records.Find(t.Context(), id, c.IdempotencyKey); err != nil || found == nil || *found != stored {
				t.Errorf("%q version %q: found %+v, %v", id, version, found, err)
			}
		}
	}
}
