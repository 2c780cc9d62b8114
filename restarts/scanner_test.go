package restarts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// memory is a store of restarts.
type memory map[string]Restart

func (m memory) SaveRestart(_ context.Context, r Restart) error {
	if m[r.ID].Version != r.Version-1 {
		return ErrConflict
	}
	r.Victims = slices.Clone(r.Victims)
	m[r.ID] = r
	return nil
}

func (m memory) Restart(_ context.Context, id string) (Restart, error) { return m[id], nil }

func (m memory) Restarts(_ context.Context, open bool, _ int) (out []Restart, _ error) {
	for _, r := range m {
		if !open || !r.Over() {
			r.Victims = slices.Clone(r.Victims)
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Restart) int { return cmp.Or(cmp.Compare(b.To, a.To), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

func (m memory) RetainRestarts(context.Context, lifecycle.Micros) (int64, error) { return 0, nil }

// fleet is what the scanner sees: leases and facts at one time, in seconds.
type fleet struct {
	now    int
	leases []lifecycle.Lease
	facts  map[uint64]lifecycle.MessageFacts
	asked  int
}

func at(s int) lifecycle.Micros { return lifecycle.Micros(1_700_000_000+s) * 1_000_000 }

func key(seq uint64) lifecycle.MessageKey {
	return lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}
}

// held is a lease that began at a time and runs until another.
func held(seq uint64, agent string, from, until int) lifecycle.Lease {
	return lifecycle.Lease{
		TaskID: fmt.Sprint("t", seq), Message: key(seq), Agent: agent, State: lifecycle.StateDelivered, Attempt: 1, BeganAt: at(from), Basis: at(from), Deadline: at(until),
	}
}

// ranOut is the same after its deadline.
func ranOut(seq uint64, agent string, from, until int) lifecycle.Lease {
	l := held(seq, agent, from, until)
	l.State, l.Stale = lifecycle.StateFailed, lifecycle.StaleLease
	return l
}

func (f *fleet) scanner(t *testing.T, store Store) *Scanner {
	t.Helper()
	s, err := New(Config{
		Store: store, Now: func() time.Time { return at(f.now).Time() },
		Leases: func(context.Context) (Look, error) { return Look{At: at(f.now), Leases: f.leases}, nil },
		Facts: func(_ context.Context, k lifecycle.MessageKey) (lifecycle.MessageFacts, bool, error) {
			f.asked++
			m, found := f.facts[k.Seq]
			return m, found, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func turn(t *testing.T, s *Scanner) {
	t.Helper()
	if err := s.Turn(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// only is the one restart that is stored.
func only(t *testing.T, m memory) Restart {
	t.Helper()
	if len(m) != 1 {
		t.Fatalf("%d restarts are stored, want 1: %+v", len(m), m)
	}
	for _, r := range m {
		return r
	}
	return Restart{}
}

func answered(n, s int) lifecycle.MessageFacts {
	return lifecycle.MessageFacts{Attempts: []lifecycle.AttemptFacts{{N: n, AckAt: at(s), LastAckAt: at(s)}}}
}

func TestWhatWasInHandAtTheStartIsFollowedUntilTheLastIsResolved(t *testing.T) {
	t.Parallel()
	store, f := memory{}, &fleet{now: 100, leases: []lifecycle.Lease{held(1, "cto", 50, 300), held(2, "ceo", 60, 300), held(3, "ceo", 70, 300)}, facts: map[uint64]lifecycle.MessageFacts{}}
	s := f.scanner(t, store)
	if err := s.Begin(t.Context(), Return{ID: "fleetglass-1", Cause: CauseFleetglass, From: at(90), To: at(100)}); err != nil {
		t.Fatal(err)
	}
	r := only(t, store)
	if r.Count() != 3 || len(r.Agents()) != 2 || r.Over() || f.asked != 0 {
		t.Fatalf("%d messages of %v, over %t, %d facts asked; want 3 of 2 agents, followed by the board alone", r.Count(), r.Agents(), r.Over(), f.asked)
	}

	f.now = 130 // One was answered, one sends heartbeats.
	f.leases[1].LastBeat = at(120)
	f.leases = f.leases[1:]
	f.facts[1], f.facts[2] = answered(1, 95), // Before the start, which nobody read by then.
		lifecycle.MessageFacts{Attempts: []lifecycle.AttemptFacts{{N: 1, LastBeat: at(120)}}}
	turn(t, s)
	if r = only(t, store); r.Open() != 1 || r.Over() || r.Victims[0].Fate != FateAnswered || r.Victims[1].Fate != FateAlive {
		t.Fatalf("got %+v; want one answered, one alive, one open", r.Victims)
	}

	f.now, f.leases = 400, nil // The third was delivered again.
	f.facts[3] = lifecycle.MessageFacts{Attempts: []lifecycle.AttemptFacts{{N: 1, SeenAt: at(70)}}, Deliveries: []lifecycle.DeliveryFacts{{CSeq: 3, At: at(70)}, {CSeq: 4, At: at(301)}}}
	turn(t, s)
	if r = only(t, store); !r.Over() || r.Victims[2].Fate != FateDelivered || r.RecoveryTime(at(999)) != 201*time.Second {
		t.Errorf("over %t, %+v, took %s; want the third delivered again, 201 s after the start", r.Over(), r.Victims[2], r.RecoveryTime(at(999)))
	}
}

// full is a store that takes nothing while it is full.
type full struct {
	memory
	isFull bool
}

func (f *full) SaveRestart(ctx context.Context, r Restart) error {
	if f.isFull {
		return lifecycle.ErrUnable
	}
	return f.memory.SaveRestart(ctx, r)
}

func TestWhatWasInHandAtTheStartIsStoredOnceTheStoreTakesIt(t *testing.T) {
	f := &fleet{now: 100, leases: []lifecycle.Lease{held(1, "cto", 50, 110)}}
	store := &full{memory: memory{}, isFull: true}
	s := f.scanner(t, store)
	if err := s.Begin(t.Context(), Return{ID: "fleetglass-1", Cause: CauseFleetglass, To: at(100)}); err != nil {
		t.Fatalf("a full store ends the start: %v", err)
	}
	f.now, f.leases = 105, nil // Its worker went on meanwhile.
	if err := s.Turn(t.Context()); err == nil || len(store.memory) != 0 {
		t.Fatalf("still full: %v, %v", err, store.memory)
	}
	store.isFull = false
	if err := s.Turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := store.memory["fleetglass-1"]; r.Count() != 1 || r.Victims[0].Message != key(1) {
		t.Errorf("stored: %+v", r)
	}
}

func TestNothingInHandIsNoRestart(t *testing.T) {
	t.Parallel()
	store, f := memory{}, &fleet{now: 100, leases: []lifecycle.Lease{ranOut(1, "cto", 10, 40)}}
	if err := f.scanner(t, store).Begin(t.Context(), Return{ID: "fleetglass-1", Cause: CauseFleetglass, To: at(100)}); err != nil {
		t.Fatal(err)
	}
	if len(store) != 0 {
		t.Errorf("stored %+v; want nothing: a lease that had run out is in nobody's hands", store)
	}
}

func TestTheBrokersVictimsAreThoseBeforeItCameBack(t *testing.T) {
	t.Parallel()
	store, f := memory{}, &fleet{now: 100, leases: []lifecycle.Lease{held(1, "cto", 50, 300)}, facts: map[uint64]lifecycle.MessageFacts{1: answered(1, 131)}}
	s := f.scanner(t, store)
	turn(t, s)
	s.Note(Return{ID: "broker-x", Cause: CauseBroker, From: at(110), To: at(130)})
	f.now, f.leases = 131, []lifecycle.Lease{held(2, "cto", 130, 400)}
	turn(t, s)
	if r := only(t, store); r.Count() != 1 || r.Victims[0].Message.Seq != 1 || r.Victims[0].Fate != FateAnswered || r.RecoveryTime(0) != time.Second {
		t.Errorf("got %+v; want message 1, answered a second after", r)
	}
}

// That the broker was away is kept, whether a message was in hand or not, and until it is stored.
func TestTheTimeWithoutABrokerIsKept(t *testing.T) {
	t.Parallel()
	f, fails := &fleet{now: 100}, true
	var got [][2]lifecycle.Micros
	cfg := f.scanner(t, memory{}).cfg
	cfg.Away = func(_ context.Context, from, to lifecycle.Micros) error {
		if fails {
			return errors.New("the disk is full")
		}
		got = append(got, [2]lifecycle.Micros{from, to})
		return nil
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Return{
		{ID: "fleetglass-1", Cause: CauseFleetglass, From: at(10), To: at(20)}, {ID: "broker-1", Cause: CauseBroker, To: at(40)}, {ID: "broker-2", Cause: CauseBroker, From: at(50), To: at(60)},
	} {
		s.Note(e)
	}
	if err := s.Turn(t.Context()); err == nil {
		t.Fatal("what could not be stored was not said")
	}
	fails = false
	turn(t, s)
	turn(t, s)
	if want := [][2]lifecycle.Micros{{at(50), at(60)}}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

func TestSilentAttemptsThatOneMomentExplainsAreOneRestart(t *testing.T) {
	t.Parallel()
	store, f := memory{}, &fleet{now: 200, leases: []lifecycle.Lease{ranOut(1, "cto", 50, 170), ranOut(2, "ceo", 90, 180)}}
	s := f.scanner(t, store)
	turn(t, s)
	if r := only(t, store); r.Cause != CauseWorkers || r.Count() != 2 || r.From != at(90) || r.To != at(170) {
		t.Fatalf("got %+v; want both between 90 and 170 s", r)
	}
	f.now, f.leases = 260, append(f.leases, ranOut(3, "cso", 100, 250), ranOut(4, "cso", 175, 255))
	turn(t, s)
	if r := only(t, store); r.Count() != 3 || r.From != at(100) || r.To != at(170) {
		t.Errorf("got %+v; want the third, too, and not the fourth: its worker lived after 170 s", r)
	}
	turn(t, s)
	if r := only(t, store); r.Version != 2 {
		t.Errorf("stored %d times; want twice: the third look was like the second", r.Version)
	}
}

func TestOneSilentAttemptIsNoRestart(t *testing.T) {
	t.Parallel()
	store, f := memory{}, &fleet{now: 400, leases: []lifecycle.Lease{ranOut(1, "cto", 50, 170), ranOut(2, "ceo", 180, 300)}}
	turn(t, f.scanner(t, store))
	if len(store) != 0 {
		t.Errorf("stored %+v; want nothing: no moment explains both", store)
	}
}

func TestARestartOfTheBrokerExplainsTheSilenceAfterIt(t *testing.T) {
	t.Parallel()
	store, f := memory{}, &fleet{now: 100, leases: []lifecycle.Lease{held(1, "cto", 50, 170), held(2, "ceo", 50, 170)}}
	s := f.scanner(t, store)
	turn(t, s)
	s.Note(Return{ID: "broker-x", Cause: CauseBroker, From: at(110), To: at(130)})
	f.now = 131
	turn(t, s)
	f.now, f.leases = 200, []lifecycle.Lease{ranOut(1, "cto", 50, 170), ranOut(2, "ceo", 50, 170)}
	turn(t, s)
	if r := only(t, store); r.Cause != CauseBroker || r.Over() {
		t.Errorf("got %+v; want the restart of the broker alone, which is not over", r)
	}
}

func TestTwoReplicasKeepOneRestart(t *testing.T) {
	t.Parallel()
	store, f := memory{}, &fleet{now: 200, leases: []lifecycle.Lease{ranOut(1, "cto", 50, 170), ranOut(2, "ceo", 90, 180)}, facts: map[uint64]lifecycle.MessageFacts{1: answered(1, 210), 2: answered(1, 220)}}
	a, b := f.scanner(t, store), f.scanner(t, store)
	turn(t, a)
	turn(t, b)
	f.now, f.leases = 230, nil
	turn(t, b)
	turn(t, a)
	if r := only(t, store); !r.Over() || r.RecoveryTime(0) != 50*time.Second || r.Version != 2 {
		t.Errorf("got %+v; want one restart, over after 50 s, stored twice", r)
	}
}

func TestMoreThanCanBeFollowedAreCounted(t *testing.T) {
	t.Parallel()
	store, f := memory{}, &fleet{now: 100}
	for i := range uint64(MaxVictims + 5) {
		f.leases = append(f.leases, held(i+1, "cto", 50, 300))
	}
	if err := f.scanner(t, store).Begin(t.Context(), Return{ID: "fleetglass-1", Cause: CauseFleetglass, To: at(100)}); err != nil {
		t.Fatal(err)
	}
	if r := only(t, store); len(r.Victims) != MaxVictims || r.Count() != MaxVictims+5 {
		t.Errorf("%d of %d followed, want %d of %d", len(r.Victims), r.Count(), MaxVictims, MaxVictims+5)
	}
}
