package reservetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fleetglass/fleet"
)

const (
	lostPieces = 12 // No action has more pieces of answers.
	lostRounds = 10 * lostPieces
	deafFor    = 400 * time.Millisecond // Longer than a distant client waits.
)

// deafDuring acts while answers begin to be lost, in every round one piece later.
func (w *world) deafDuring(t *testing.T, distant fleet.Reservations, wire *Wire, round int, act func()) {
	t.Helper()
	w.connected(t, distant, round)
	wire.Deafen(round % lostPieces)
	heal := time.AfterFunc(deafFor, wire.Heal)
	act()
	heal.Stop()
	wire.Heal()
}

// connected waits until a distant client is connected again.
func (w *world) connected(t *testing.T, distant fleet.Reservations, round int) {
	t.Helper()
	var err error
	for try := range 50 {
		c := claim("connecting")
		c.TaskID = fmt.Sprintf("connect-%d-%d", round, try)
		if _, _, err = distant.Reserve(t.Context(), c); err == nil {
			return
		}
	}
	t.Fatalf("the distant client does not come back: %v", err)
}

// unheardReservations loses answers to claims. Who is not told that it holds a key does not, and others wait no longer than a lease.
func unheardReservations(t *testing.T, w *world) {
	distant, wire := w.Distant()
	outcomes := map[string]int{}
	for round := 0; more(round, outcomes); round++ {
		c, rival := claim("distant"), claim("rival")
		c.TaskID = fmt.Sprintf("reserved-%d", round)
		rival.TaskID = c.TaskID
		var held fleet.Reservation
		var err error
		w.deafDuring(t, distant, wire, round, func() { held, _, err = distant.Reserve(t.Context(), c) })
		if err == nil {
			outcomes["heard"]++
			w.refuse(t, rival, fleet.ErrReserved)
			if _, err := w.Reservations.Renew(t.Context(), held); err != nil {
				t.Errorf("renew what was reserved: %v", err)
			}
			continue
		}
		if named(err) || held != (fleet.Reservation{}) {
			t.Errorf("reserved %+v, %v; want an error that says that nothing is known", held, err)
		}
		second, _, err := w.Reservations.Reserve(t.Context(), rival)
		if errors.Is(err, fleet.ErrReserved) {
			outcomes["unheard"]++
			w.pass(lease)
			second = w.reserve(t, rival)
		} else {
			outcomes["not reserved"]++
		}
		w.refuse(t, c, fleet.ErrReserved)
		if r := w.record("done"); second.Token > 0 {
			w.confirm(t, second, r)
		}
	}
	wantOutcomes(t, outcomes)
}

// unheardConfirmations loses answers to confirmations. What was recorded stays, and is what everybody is told in the end.
func unheardConfirmations(t *testing.T, w *world) {
	distant, wire := w.Distant()
	outcomes := map[string]int{}
	for round := 0; more(round, outcomes); round++ {
		c := claim("distant")
		c.TaskID = fmt.Sprintf("confirmed-%d", round)
		held := w.reserve(t, c)
		var first fleet.Record
		var err error
		w.deafDuring(t, distant, wire, round, func() { first, err = distant.Confirm(t.Context(), held, w.record("first")) })
		if err != nil && named(err) {
			t.Errorf("confirm: %v; want an error that says that nothing is known", err)
		}
		stands := w.ask(t, held, round%2 == 0)
		switch {
		case err == nil && stands != first:
			t.Errorf("told %+v, then %+v stands", first, stands)
		case err == nil:
			outcomes["heard"]++
		case stands.ResultSummary == "first":
			outcomes["unheard"]++
		default:
			outcomes["not recorded"]++
		}
		if found, err := w.Records.Find(t.Context(), c.TaskID, ""); err != nil || found == nil || *found != stands {
			t.Errorf("found %+v, %v; want %+v", found, err, stands)
		}
		w.expectReply(t, c, stands)
	}
	wantOutcomes(t, outcomes)
}

// ask finds out what became of a confirmation: the holder asks again, or its lease ends and a rival takes over or is told.
func (w *world) ask(t *testing.T, held fleet.Reservation, holder bool) fleet.Record {
	t.Helper()
	if holder {
		return w.confirm(t, held, w.record("again"))
	}
	w.pass(lease)
	second, done, err := w.Reservations.Reserve(t.Context(), held.Claim)
	if err != nil {
		t.Fatal(err)
	}
	if done != nil {
		return *done
	}
	w.expectFenced(t, held)
	return w.confirm(t, second, w.record("of the rival"))
}

// more reports whether another round is needed: answers differ in the number of their pieces, so that a loss may miss the one it is for.
func more(round int, outcomes map[string]int) bool {
	return round < lostPieces || (round < lostRounds && (outcomes["heard"] == 0 || outcomes["unheard"] == 0))
}

// wantOutcomes expects that some answers were heard and some were lost that had taken effect.
func wantOutcomes(t *testing.T, outcomes map[string]int) {
	t.Helper()
	if t.Logf("outcomes %v", outcomes); outcomes["heard"] == 0 || outcomes["unheard"] == 0 {
		t.Errorf("outcomes %v", outcomes)
	}
}

// named reports whether an error says what is the case; any other says that the store could not be asked.
func named(err error) bool {
	for _, target := range []error{fleet.ErrReserved, fleet.ErrFenced, fleet.ErrKeyConflict, fleet.ErrRecorded} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
