package firestorekit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"

	"fleetglass/fleet"
	"fleetglass/fleet/firestorekit"
	"fleetglass/internal/firestoretest"
	"fleetglass/lifecycle"
)

// passing are the errors after which nobody knows whether a commit took effect, or whether it would the next time.
var passing = []codes.Code{codes.Aborted, codes.Unavailable, codes.Internal, codes.DeadlineExceeded, codes.ResourceExhausted}

func claimOf(owner string) fleet.Claim {
	return fleet.Claim{TaskID: "t-1", PayloadHash: "aa", Owner: owner, Lease: time.Minute}
}

func completion(summary string) fleet.Record {
	now := lifecycle.MicrosOf(time.Now().Truncate(time.Millisecond))
	return fleet.Record{TaskID: "t-1", AgentID: "cto", CompletedAt: now, ResultSummary: summary, ExpiresAt: now.Add(72 * time.Hour), PayloadHash: "aa"}
}

// clock is that of a server, which a test moves on top of its own going.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

func TestAFaultOnTheWayOfAReservationChangesNothingOfIt(t *testing.T) {
	t.Parallel()
	for _, code := range passing {
		for name, fault := range map[string]func(*firestoretest.Server){
			"commits fail":            func(s *firestoretest.Server) { s.Fail(firestoretest.Commit, code, 2) },
			"answers are lost":        func(s *firestoretest.Server) { s.Lose(firestoretest.Commit, code, 1) },
			"two answers are lost":    func(s *firestoretest.Server) { s.Lose(firestoretest.Commit, code, 2) },
			"reads fail":              func(s *firestoretest.Server) { s.Fail(firestoretest.BatchGetDocuments, code, 2) },
			"transactions do not run": func(s *firestoretest.Server) { s.Fail(firestoretest.BeginTransaction, code, 2) },
		} {
			t.Run(fmt.Sprintf("%s with %s", name, code), func(t *testing.T) {
				t.Parallel()
				wholeWay(t, fault)
			})
		}
	}
}

// wholeWay reserves, renews, releases, reserves again and confirms, with a fault before each step. Between two steps a rival looks in.
func wholeWay(t *testing.T, fault func(*firestoretest.Server)) {
	server := firestoretest.Start(t, firestoretest.Config{})
	r, rival := reservations(t, server.Client(t)), reservations(t, server.Client(t))
	step := func(name string, do func() error) {
		t.Helper()
		fault(server)
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		server.Heal()
	}
	var held fleet.Reservation
	reserve := func() (err error) {
		var done *fleet.Record
		if held, done, err = r.Reserve(t.Context(), claimOf("first")); done != nil {
			return fmt.Errorf("replied %+v", done)
		}
		return err
	}
	step("reserve", reserve)
	first := held
	step("renew", func() (err error) { held, err = r.Renew(t.Context(), held); return err })
	if _, _, err := rival.Reserve(t.Context(), claimOf("rival")); !errors.Is(err, fleet.ErrReserved) {
		t.Errorf("a rival after the renewal: %v", err)
	}
	step("release", func() error { return r.Release(t.Context(), held) })
	step("reserve again", reserve)
	if held.Token <= first.Token {
		t.Errorf("token %d after %d", held.Token, first.Token)
	}
	want, wrote := completion("done"), fleet.Record{}
	step("confirm", func() (err error) { wrote, err = r.Confirm(t.Context(), held, want); return err })
	if _, done, err := rival.Reserve(t.Context(), claimOf("rival")); err != nil || done == nil || *done != want || wrote != want {
		t.Errorf("confirmed %+v, a rival is told %+v, %v; want %+v", wrote, done, err, want)
	}
}

func TestFaultsInARaceLeaveNoSecondWinner(t *testing.T) {
	t.Parallel()
	for _, code := range passing {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			var c clock
			server := firestoretest.Start(t, firestoretest.Config{Now: c.now})
			server.Lose(firestoretest.Commit, code, 5)
			server.Fail(firestoretest.BatchGetDocuments, code, 5)
			first := race(t, server.Client, claimOf("one of many"))
			server.Heal()
			c.pass(time.Minute)
			server.Fail(firestoretest.Commit, code, 3)
			second := race(t, server.Client, claimOf("one of many"))
			if second.Token <= first.Token {
				t.Errorf("token %d after %d", second.Token, first.Token)
			}
			server.Heal()
			server.Lose(firestoretest.Commit, code, 1)
			r := reservations(t, server.Client(t))
			if _, err := r.Confirm(t.Context(), first, completion("late")); !errors.Is(err, fleet.ErrFenced) {
				t.Errorf("the late holder confirmed: %v", err)
			}
			if _, err := r.Confirm(t.Context(), second, completion("done")); err != nil {
				t.Error(err)
			}
		})
	}
}

// race lets twenty claims of five clients meet, and returns the one reservation. Nobody else may believe to have one.
func race(t *testing.T, connect func(testing.TB) *firestore.Client, c fleet.Claim) fleet.Reservation {
	t.Helper()
	var mu sync.Mutex
	var won []fleet.Reservation
	var all sync.WaitGroup
	for range 5 {
		r := reservations(t, connect(t))
		for range 4 {
			all.Go(func() {
				held, done, err := r.Reserve(t.Context(), c)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && done == nil {
					won = append(won, held)
				} else if !errors.Is(err, fleet.ErrReserved) {
					t.Errorf("done %v, error %v", done, err)
				}
			})
		}
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d of 20 reserved", len(won))
	}
	return won[0]
}

// When the outcome never becomes known the caller is told so, and must not execute; what it may have reserved without knowing it holds
// the key until its lease ends, and no longer.
func TestAReservationThatNobodyHeardOfEndsWithItsLease(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*firestoretest.Server){
		"answers are lost":   func(s *firestoretest.Server) { s.Lose(firestoretest.Commit, codes.Canceled, -1) },
		"commits fail":       func(s *firestoretest.Server) { s.Fail(firestoretest.Commit, codes.Unavailable, -1) },
		"commits hang":       func(s *firestoretest.Server) { s.Hang(firestoretest.Commit) },
		"reads hang":         func(s *firestoretest.Server) { s.Hang(firestoretest.BatchGetDocuments) },
		"nothing is allowed": func(s *firestoretest.Server) { s.Fail(firestoretest.Commit, codes.PermissionDenied, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c clock
			server := firestoretest.Start(t, firestoretest.Config{Now: c.now})
			r, err := firestorekit.NewReservations(firestorekit.Config{Client: server.Client(t), Timeout: 300 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			fault(server)
			held, done, err := r.Reserve(t.Context(), claimOf("first"))
			if err == nil || errors.Is(err, fleet.ErrReserved) || errors.Is(err, fleet.ErrKeyConflict) || held != (fleet.Reservation{}) || done != nil {
				t.Errorf("reserved %+v, %v, %v", held, done, err)
			}
			server.Heal()
			rival := reservations(t, server.Client(t))
			second, _, err := rival.Reserve(t.Context(), claimOf("second"))
			if name == "answers are lost" && !errors.Is(err, fleet.ErrReserved) {
				t.Errorf("a rival of what was reserved: %v", err)
			}
			if errors.Is(err, fleet.ErrReserved) { // A commit that hung may have come through in the end.
				c.pass(time.Minute)
				second, _, err = rival.Reserve(t.Context(), claimOf("second"))
			}
			if err != nil || second.Token == 0 {
				t.Errorf("reserved %+v, %v", second, err)
			}
		})
	}
}

func TestAConfirmationOfUnknownOutcomeIsKnownWhenAskedAgain(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*firestoretest.Server){
		"the answer is lost": func(s *firestoretest.Server) { s.Lose(firestoretest.Commit, codes.DeadlineExceeded, -1) },
		"it failed":          func(s *firestoretest.Server) { s.Fail(firestoretest.Commit, codes.PermissionDenied, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := firestoretest.Start(t, firestoretest.Config{})
			r, err := firestorekit.NewReservations(firestorekit.Config{Client: server.Client(t), Timeout: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			held, _, err := r.Reserve(t.Context(), claimOf("first"))
			if err != nil {
				t.Fatal(err)
			}
			server.Hang(firestoretest.BatchGetDocuments)
			if _, err := r.Confirm(t.Context(), held, completion("hanging")); err == nil || errors.Is(err, fleet.ErrFenced) {
				t.Errorf("confirmed while nothing can be read: %v", err)
			}
			server.Heal()
			fault(server)
			_, err = r.Confirm(t.Context(), held, completion("first"))
			if known := err == nil; known != (name == "the answer is lost") { // The second look finds it.
				t.Errorf("confirmed: %v", err)
			}
			server.Heal()
			again, err := r.Confirm(t.Context(), held, completion("again"))
			want := map[bool]string{true: "first", false: "again"}[name == "the answer is lost"]
			if err != nil || again.ResultSummary != want {
				t.Errorf("confirmed again %+v, %v; want %s", again, err, want)
			}
		})
	}
}

// TestWhateverHappensOneEffectIsConfirmed lets everything go wrong at random while many ask for the same effects.
func TestWhateverHappensOneEffectIsConfirmed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			server := firestoretest.Start(t, firestoretest.Config{})
			const keys, askers = 5, 6
			replies := make([]map[fleet.Record]int, keys)
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range askers {
				o, err := fleet.NewOnce(fleet.OnceConfig{Reservations: reservations(t, server.Client(t)), Agent: fmt.Sprint("agent-", i), Poll: 20 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				for key := range keys {
					all.Go(func() {
						r := insist(t, o, fmt.Sprint("t-", key))
						mu.Lock()
						defer mu.Unlock()
						if replies[key] == nil {
							replies[key] = map[fleet.Record]int{}
						}
						replies[key][r]++
					})
				}
			}
			stop := make(chan struct{})
			var trouble sync.WaitGroup
			trouble.Go(func() { disturb(server, seed, stop) })
			all.Wait()
			close(stop)
			trouble.Wait()
			for key, got := range replies {
				if len(got) != 1 {
					t.Errorf("key %d has replies %v", key, got)
				}
			}
		})
	}
}

// insist asks until it is told what was done. The leases are so short that some are lost.
func insist(t *testing.T, o *fleet.Once, task string) fleet.Record {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		r, err := o.Do(ctx, fleet.Claim{TaskID: task, Owner: "asker", Lease: 30 * time.Millisecond}, func(_ context.Context, held fleet.Reservation) (string, error) {
			return fmt.Sprint("token ", held.Token), nil
		})
		if err == nil {
			return r
		}
		if ctx.Err() != nil {
			t.Errorf("%s: %v", task, err)
			return r
		}
	}
}

// disturb makes one thing after the other go wrong, for a moment each.
func disturb(server *firestoretest.Server, seed uint64, stop chan struct{}) {
	random := rand.New(rand.NewPCG(seed, 2))
	methods := []firestoretest.Method{firestoretest.Commit, firestoretest.BatchGetDocuments, firestoretest.BeginTransaction}
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for range 200 {
		code := passing[random.IntN(len(passing))]
		switch random.IntN(4) {
		case 0:
			server.Fail(methods[random.IntN(len(methods))], code, 1+random.IntN(3))
		case 1:
			server.Lose(firestoretest.Commit, code, 1+random.IntN(3))
		case 2:
			server.Hang(methods[random.IntN(len(methods))])
		default:
			server.Heal()
		}
		select {
		case <-stop:
			server.Heal()
			return
		case <-ticker.C:
		}
	}
	server.Heal()
}
