package firestorekit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/fleet"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/testkit"
)

// The emulator has a clock that nobody can move, so the suite cannot run there; this is the way of a reservation with leases that end soon.
func TestGooglesEmulatorHoldsReservationsAsOurServer(t *testing.T) {
	t.Parallel()
	addr := firestoretest.Emulator(t)
	if addr == "" {
		t.Log("emulator not present: reservations were shown with our own server only")
		return
	}
	connect := func(t testing.TB) *firestore.Client { return firestoretest.Connect(t, addr, "reservations") }
	k := reservations(t, connect(t))
	c := claimOf("one of many")
	c.Lease = time.Minute
	first := race(t, connect, c)
	if err := k.Release(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := race(t, connect, c)
	for range 3 {
		next, err := k.Renew(t.Context(), second)
		if err != nil || next.ExpiresAt < second.ExpiresAt {
			t.Fatalf("renewed %+v to %+v, %v", second, next, err)
		}
		second = next
	}
	other := claimOf("other")
	other.PayloadHash = "bb"
	if _, _, err := k.Reserve(t.Context(), other); !errors.Is(err, fleet.ErrKeyConflict) {
		t.Errorf("reserved for another payload: %v", err)
	}
	if err := k.Release(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	c.Lease = time.Second // Nothing is asked of it until it has run out.
	third, _, err := k.Reserve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	fourth := takeOver(t, connect)
	if first.Token >= second.Token || second.Token >= third.Token || third.Token >= fourth.Token {
		t.Errorf("tokens %d, %d, %d, %d", first.Token, second.Token, third.Token, fourth.Token)
	}
	for name, late := range map[string]fleet.Reservation{"released": first, "taken over": third} {
		if _, err := k.Confirm(t.Context(), late, completion("late")); !errors.Is(err, fleet.ErrFenced) {
			t.Errorf("a holder whose key was %s confirmed: %v", name, err)
		}
	}
	want := completion("done")
	for range 2 {
		if got, err := k.Confirm(t.Context(), fourth, want); err != nil || got != want {
			t.Errorf("confirmed %+v, %v; want %+v", got, err, want)
		}
	}
	if _, done, err := k.Reserve(t.Context(), c); err != nil || done == nil || *done != want {
		t.Errorf("replied %+v, %v; want %+v", done, err, want)
	}
	oneEffect(t, connect)
}

// takeOver takes over a reservation as soon as it can be.
func takeOver(t *testing.T, connect func(testing.TB) *firestore.Client) (held fleet.Reservation) {
	t.Helper()
	k := reservations(t, connect(t))
	testkit.Eventually(t, 20*time.Second, func() (err error) {
		held, _, err = k.Reserve(t.Context(), claimOf("next"))
		return err
	})
	return held
}

// oneEffect submits one key ten times at once.
func oneEffect(t *testing.T, connect func(testing.TB) *firestore.Client) {
	t.Helper()
	var effects atomic.Int32
	var all sync.WaitGroup
	replies := make([]fleet.Record, 10)
	for i := range replies {
		o, err := fleet.NewOnce(fleet.OnceConfig{Reservations: reservations(t, connect(t)), Agent: "cto"})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			c := claimOf(fmt.Sprint("submitter ", i))
			c.TaskID = "submitted"
			var err error
			replies[i], err = o.Do(t.Context(), c, func(context.Context, fleet.Reservation) (string, error) {
				return fmt.Sprint("effect ", effects.Add(1)), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, r := range replies {
		if r != replies[0] || effects.Load() != 1 {
			t.Errorf("%d effects, replies %+v and %+v", effects.Load(), replies[0], r)
		}
	}
}
