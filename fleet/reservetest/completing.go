package reservetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"fleetglass/fleet"
)

func guarded(t *testing.T, w *world) {
	other := claim("other")
	other.PayloadHash = "bb"
	unknown := claim("unknown")
	unknown.PayloadHash = ""

	w.reserve(t, claim("first"))
	w.refuse(t, other, fleet.ErrKeyConflict)
	w.refuse(t, unknown, fleet.ErrReserved)
	w.pass(lease)
	w.refuse(t, other, fleet.ErrKeyConflict)
	held := w.reserve(t, claim("second"))
	stored := w.confirm(t, held, w.record("done"))
	w.refuse(t, other, fleet.ErrKeyConflict)
	w.expectReply(t, unknown, stored)
}

// expectReply expects that a claim is answered with a record.
func (w *world) expectReply(t *testing.T, c fleet.Claim, want fleet.Record) {
	t.Helper()
	held, done, err := w.Reservations.Reserve(t.Context(), c)
	if err != nil || done == nil || *done != want || held != (fleet.Reservation{}) {
		t.Errorf("reserve: %+v, %+v, error %v; want the reply %+v", held, done, err, want)
	}
}

func replayed(t *testing.T, w *world) {
	held := w.reserve(t, claim("first"))
	if found, err := w.Records.Find(t.Context(), "t-1", ""); err != nil || found != nil {
		t.Errorf("a reservation reads as the record %+v, %v", found, err)
	}
	r := w.record("merged\nas  written")
	r.CompletedAt += 345 // Records have whole milliseconds.
	stored := w.confirm(t, held, r)
	for range 3 {
		w.expectReply(t, claim("again"), stored)
	}
	w.pass(10 * lease)
	w.expectReply(t, claim("much later"), stored)
}

func confirmedTwice(t *testing.T, w *world) {
	held := w.reserve(t, claim("first"))
	stored := w.confirm(t, held, w.record("first"))
	w.pass(time.Second)
	if again := w.confirm(t, held, w.record("again")); again != stored {
		t.Errorf("confirmed again as %+v, want %+v", again, stored)
	}
	if err := w.Reservations.Release(t.Context(), held); !errors.Is(err, fleet.ErrFenced) {
		t.Errorf("released what was confirmed: %v", err)
	}
	w.expectReply(t, claim("second"), stored)
}

func recordedOtherwise(t *testing.T, w *world) {
	held := w.reserve(t, claim("first"))
	other := w.record("without reserving")
	if err := w.Records.Complete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	if _, err := w.Reservations.Confirm(t.Context(), held, w.record("first")); !errors.Is(err, fleet.ErrRecorded) {
		t.Errorf("confirmed: %v", err)
	}
	w.expectReply(t, claim("second"), other)
}

func unfit(t *testing.T, w *world) {
	for _, c := range []fleet.Claim{{}, {TaskID: "t-1", Owner: "x"}, {TaskID: "t-1", Lease: lease}, {Owner: "x", Lease: lease}} {
		if _, _, err := w.Reservations.Reserve(t.Context(), c); err == nil {
			t.Errorf("reserved for %+v", c)
		}
	}
	held := w.reserve(t, claim("first"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, reserve := w.Reservations.Reserve(ended, claim("second"))
	_, renew := w.Reservations.Renew(ended, held)
	_, confirm := w.Reservations.Confirm(ended, held, w.record("x"))
	for name, err := range map[string]error{"reserve": reserve, "renew": renew, "confirm": confirm, "release": w.Reservations.Release(ended, held)} {
		if err == nil || named(err) {
			t.Errorf("%s without a store to ask: %v", name, err)
		}
	}
	w.confirm(t, held, w.record("done"))
}
