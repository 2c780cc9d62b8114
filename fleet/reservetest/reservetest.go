// Package reservetest is the conformance suite of [fleet.Reservations]: one set of promises, whatever keeps them.
package reservetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Store is an implementation under test.
type Store struct {
	Reservations fleet.Reservations
	Rivals       []fleet.Reservations // At least one: the same store through other clients, as other agents have them.
	Records      fleet.Records        // Where completions are found.
	// Astray is the same store through a client of an agent whose own clock is ahead by d, or behind where d is negative.
	Astray func(d time.Duration) fleet.Reservations
	// Distant is the same store through a client that is connected by a wire, and that waits 200 ms at most for an answer.
	Distant func() (fleet.Reservations, *Wire)
}

// client is that of the i-th of many.
func (s Store) client(i int) fleet.Reservations {
	return append([]fleet.Reservations{s.Reservations}, s.Rivals...)[i%(len(s.Rivals)+1)]
}

// Open makes an empty store that takes its time from now. It is closed when the test ends.
type Open func(t testing.TB, now func() time.Time) Store

// Run tests an implementation. Every case opens a store of its own, and they run in parallel.
func Run(t *testing.T, open Open) {
	t.Helper()
	t.Run("records", func(t *testing.T) { runRecords(t, open) })
	for name, test := range map[string]func(*testing.T, *world){
		"of twenty concurrent claims one wins":                    oneWinner,
		"a released key is free at once, whatever the payload":    released,
		"an expired reservation is taken over by one of twenty":   takenOver,
		"a late holder is refused":                                late,
		"a holder that expired goes on until another takes over":  expiredButAlone,
		"a renewed reservation holds":                             renewed,
		"the key stands for one payload":                          guarded,
		"a completed task replies with its record":                replayed,
		"a confirmation that is repeated changes nothing":         confirmedTwice,
		"a completion that was recorded without reserving stays":  recordedOtherwise,
		"versions of a task and odd ids are keys of their own":    versions,
		"unfit claims and a store that cannot be asked":           unfit,
		"ten and a hundred parallel submissions have one effect":  submissions,
		"an effect that fails frees the key for those who wait":   failedEffect,
		"a submission of another payload is refused":              otherSubmission,
		"what one client reserved another confirms or releases":   handedOver,
		"a clock that is off by half a lease takes nothing":       slightlyAstray,
		"however wrong a clock, one of two holders can confirm":   farAstray,
		"who does not hear that it reserved does not hold":        unheardReservations,
		"a confirmation whose answer is lost is found out":        unheardConfirmations,
		"of many that confirm, release and reserve one is left":   confusion,
		"an effect that lost its reservation ends and is refused": lostEffect,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, open))
		})
	}
}

const lease = time.Minute

// world is a store and its clock.
type world struct {
	Store
	clock atomic.Int64 // Milliseconds.
}

func newWorld(t *testing.T, open Open) *world {
	w := &world{}
	w.clock.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli())
	w.Store = open(t, w.now)
	return w
}

func (w *world) now() time.Time { return time.UnixMilli(w.clock.Load()) }

func (w *world) pass(d time.Duration) { w.clock.Add(d.Milliseconds()) }

func claim(owner string) fleet.Claim {
	return fleet.Claim{TaskID: "t-1", PayloadHash: "aa", Owner: owner, Lease: lease}
}

func (w *world) record(summary string) fleet.Record {
	at := lifecycle.MicrosOf(w.now())
	return fleet.Record{TaskID: "t-1", AgentID: "cto", CompletedAt: at, ResultSummary: summary, ExpiresAt: at.Add(time.Hour), PayloadHash: "aa"}
}

// reserve takes a key that must be free.
func (w *world) reserve(t *testing.T, c fleet.Claim) fleet.Reservation {
	t.Helper()
	held, done, err := w.Reservations.Reserve(t.Context(), c)
	if err != nil || done != nil {
		t.Fatalf("reserve for %s: done %v, error %v; want a reservation", c.Owner, done, err)
	}
	if held.Token == 0 || held.ExpiresAt != lifecycle.MicrosOf(w.now().Add(c.Lease)) || held.Claim != c {
		t.Fatalf("reserved %+v", held)
	}
	return held
}

// refuse expects a claim to be refused.
func (w *world) refuse(t *testing.T, c fleet.Claim, want error) {
	t.Helper()
	held, done, err := w.Reservations.Reserve(t.Context(), c)
	if !errors.Is(err, want) || done != nil || held != (fleet.Reservation{}) {
		t.Errorf("reserve for %s: %+v, %v, error %v; want %v", c.Owner, held, done, err, want)
	}
}

// race lets n claims of all clients meet and returns the reservations. All others must be told who holds the key.
func (w *world) race(t *testing.T, n int) []fleet.Reservation {
	t.Helper()
	var (
		mu    sync.Mutex
		won   []fleet.Reservation
		wg    sync.WaitGroup
		start = make(chan struct{})
	)
	for i := range n {
		wg.Go(func() {
			<-start
			held, done, err := w.client(i).Reserve(context.WithoutCancel(t.Context()), claim("one of many"))
			mu.Lock()
			defer mu.Unlock()
			if err == nil && done == nil {
				won = append(won, held)
			} else if !errors.Is(err, fleet.ErrReserved) {
				t.Errorf("done %v, error %v", done, err)
			}
		})
	}
	close(start)
	wg.Wait()
	return won
}

func (w *world) confirm(t *testing.T, held fleet.Reservation, r fleet.Record) fleet.Record {
	t.Helper()
	stored, err := w.Reservations.Confirm(t.Context(), held, r)
	if err != nil {
		t.Fatalf("confirm: %v", err)
	}
	return stored
}
