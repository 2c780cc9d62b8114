package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

var outboxTests = []conformanceTest{
	{"effects are claimed in order when they are due", claimInOrder},
	{"an effect whose lease ended is claimed again", claimAgain},
	{"an effect that was handed over is claimed by name, once", claimHandedOver},
	{"an effect that nobody has claimed is claimed by name before it is due", claimUnclaimed},
	{"a settlement commits an event with the outcome", settleWhole},
	{"a settlement by a claim that was taken over is refused", settleFenced},
	{"a settlement on a revision that moved on is refused", settleConflict},
	{"an effect that was given back is due later", returnLater},
	{"effects that follow from a settlement", settleChain},
}

// withEffects decides about n messages, each decision with one effect, due a millisecond after the one before.
func withEffects(t testing.TB, s Store, n int) (w *eventScript, keys []lifecycle.MessageKey) {
	t.Helper()
	w = newEventScript("TASKS")
	for i := range n {
		keys = append(keys, w.dead(fmt.Sprintf("t%02d", i)))
	}
	mustAppend(t, s, w.events)
	begin := w.now
	for i, k := range keys {
		d := decided(fmt.Sprintf("d%02d", n-i), k, w.now+1, 0, true)
		d.Effects[0].Due = begin + lifecycle.Micros(1000*(1+i/2)) // Two of a kind: their ids fall.
		mustDecide(t, s, d)
		w.events = append(w.events, stamped(d, 1)...)
	}
	return w, keys
}

func claimRequest(holder string, now lifecycle.Micros, limit int) decision.ClaimRequest {
	return decision.ClaimRequest{Queue: "publish", Holder: holder, Now: now, Lease: time.Minute, Limit: limit}
}

func mustClaim(t testing.TB, s decision.Outbox, holder string, now lifecycle.Micros, limit int) []decision.Claimed {
	t.Helper()
	out, err := s.Claim(t.Context(), claimRequest(holder, now, limit))
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return out
}

func idsOf(claimed []decision.Claimed) (out []string) {
	for _, c := range claimed {
		out = append(out, c.ID)
	}
	return out
}

func claimInOrder(t *testing.T, s Store) {
	w, _ := withEffects(t, s, 6)
	begin := w.now
	diff(t, "before anything is due", idsOf(mustClaim(t, s, "a", begin, 10)), []string(nil))
	first := mustClaim(t, s, "a", begin+2000, 3)
	diff(t, "due first, ties by id", idsOf(first), []string{"d05/1", "d06/1", "d03/1"})
	if c := first[0]; c.Token != 1 || c.Until != (begin+2000).Add(time.Minute) || string(c.Body) != "body of d05" || c.Action != "d05" {
		t.Errorf("claimed %+v, want token 1, a lease of a minute, and the effect's body", c)
	}
	diff(t, "the rest that is due", idsOf(mustClaim(t, s, "b", begin+2000, 3)), []string{"d04/1"})
	other := claimRequest("c", begin+9000, 10)
	other.Queue = "webhook"
	if got, err := s.Claim(t.Context(), other); err != nil || len(got) != 0 {
		t.Errorf("another queue: %v, %v; want none", idsOf(got), err)
	}
	diff(t, "the others when they are due", idsOf(mustClaim(t, s, "b", begin+9000, 10)), []string{"d01/1", "d02/1"})
	for _, bad := range []decision.ClaimRequest{{}, claimRequest("", 1, 1), claimRequest("a", 0, 1), claimRequest("a", 1, 0)} {
		if _, err := s.Claim(t.Context(), bad); err == nil {
			t.Errorf("claim %+v was accepted", bad)
		}
	}
}

func claimAgain(t *testing.T, s Store) {
	w, _ := withEffects(t, s, 2)
	now := w.now + 5000
	first := mustClaim(t, s, "dies", now, 1)
	diff(t, "within the lease", idsOf(mustClaim(t, s, "b", now.Add(time.Minute-1000), 10)), []string{"d02/1"})
	again := mustClaim(t, s, "b", now.Add(time.Minute), 10)
	diff(t, "when the lease has ended", idsOf(again), idsOf(first))
	if again[0].Token != 2 {
		t.Errorf("token of the second claim: %d, want 2", again[0].Token)
	}
	got, err := s.EffectsOf(t.Context(), again[0].Action)
	if err != nil || len(got) != 1 {
		t.Fatalf("effects: %v, %v", got, err)
	}
	if e := got[0]; e.Status != decision.StatusClaimed || e.Holder != "b" || e.Until != now.Add(2*time.Minute) || e.Token != 2 {
		t.Errorf("effect %+v, want claimed by b for a minute", e)
	}
}

func claimHandedOver(t *testing.T, s Store) {
	w, keys := withEffects(t, s, 2)
	now := w.now + 5000
	relayed := mustClaim(t, s, "relay", now, 1)[0]
	take := func(after uint64, now lifecycle.Micros) []decision.Claimed {
		t.Helper()
		r := claimRequest("sender", now, 1)
		r.Effect, r.After = relayed.ID, after
		out, err := s.Claim(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := take(1, now+1)
	if len(got) != 1 || got[0].ID != relayed.ID || got[0].Token != 2 || got[0].Until != (now+1).Add(time.Minute) || string(got[0].Body) != string(relayed.Body) {
		t.Fatalf("claimed %+v, want %s with token 2", got, relayed.ID)
	}
	if err := s.Return(t.Context(), decision.Return{Effect: relayed.ID, Token: 1, Due: now}); !errors.Is(err, decision.ErrTakenOver) {
		t.Errorf("the relay gives back what it handed over: %v, want %v", err, decision.ErrTakenOver)
	}
	diff(t, "handed over a second time, while it is held", idsOf(take(1, now+2)), []string(nil))
	diff(t, "the lease has ended", idsOf(take(1, now.Add(2*time.Minute))), []string{relayed.ID})
	if err := s.Return(t.Context(), decision.Return{Effect: relayed.ID, Token: 3, Due: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	diff(t, "it was given back for later", idsOf(take(1, now.Add(3*time.Minute))), []string(nil))
	last := take(3, now.Add(3*time.Minute))
	diff(t, "handed over by who gave it back", idsOf(last), []string{relayed.ID})
	other := claimRequest("sender", now, 1)
	other.Queue, other.Effect, other.After = "webhook", relayed.ID, 4
	if got, err := s.Claim(t.Context(), other); err != nil || len(got) != 0 {
		t.Errorf("from another queue: %v, %v; want none", idsOf(got), err)
	}
	if _, err := s.Settle(t.Context(), settled(last[0], keys[1], now.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	diff(t, "it is settled", idsOf(take(4, now.Add(9*time.Hour))), []string(nil))
	bad := claimRequest("sender", now, 1)
	bad.Effect = relayed.ID
	if _, err := s.Claim(t.Context(), bad); err == nil {
		t.Error("a claim by name was accepted that does not say who handed over")
	}
}

func claimUnclaimed(t *testing.T, s Store) {
	w, _ := withEffects(t, s, 2)
	early := w.now - 1_000_000
	r := claimRequest("cancels", early, 1)
	r.Effect, r.Unclaimed = "d01/1", true
	got, err := s.Claim(t.Context(), r)
	if err != nil || len(got) != 1 || got[0].ID != r.Effect || got[0].Token != 1 || got[0].Until != early.Add(time.Minute) || len(got[0].Body) == 0 {
		t.Fatalf("claimed %+v, %v; want %s", got, err, r.Effect)
	}
	for what, now := range map[string]lifecycle.Micros{"while it is held": early, "after the lease": early.Add(time.Hour)} {
		r.Now = now
		if again, err := s.Claim(t.Context(), r); err != nil || len(again) != 0 {
			t.Errorf("claimed as unclaimed a second time, %s: %v, %v", what, idsOf(again), err)
		}
	}
	r.After = 1
	if _, err := s.Claim(t.Context(), r); err == nil {
		t.Error("a claim was accepted of what nobody has claimed and somebody handed over")
	}
}

// settled is what a relay says of an effect that is done, with all that a settlement can have.
func settled(c decision.Claimed, k lifecycle.MessageKey, at lifecycle.Micros) decision.Settlement {
	e := lifecycle.Event{ID: decision.EventID(c.ID, 0), At: at, Kind: lifecycle.Triaged, Provenance: lifecycle.Recorded, Source: "decision", Message: k}
	e.Detail.Outcome, e.Detail.Actor = lifecycle.OutcomeRetried, "ops"
	d := decision.Settlement{Effect: c.ID, Token: c.Token, Status: decision.StatusDone, Result: []byte(`{"seq":7}`), At: at}
	d.Events = []lifecycle.Event{e}
	d.Action = &decision.Action{ID: c.Action, Subject: c.Subject, Kind: "retry", CreatedAt: at, UpdatedAt: at}
	d.Audit = []decision.AuditRecord{{ID: c.ID, At: at, Actor: "relay", Action: "publish", Outcome: decision.Allowed}}
	return d
}

func settleWhole(t *testing.T, s Store) {
	w, keys := withEffects(t, s, 1)
	c := mustClaim(t, s, "a", w.now+5000, 1)[0]
	d := settled(c, keys[0], w.now+6000)
	made, err := s.Settle(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "made", made, decision.Made{Revision: 2, Changed: []lifecycle.TaskChange{
		{TaskID: "t00", State: lifecycle.StateTriaged, Agent: "cto", At: d.At, Fallen: true},
	}})
	w.events = append(w.events, d.Stamped(2)...)
	expectedOf(w.events).check(t, s)
	got, err := s.EffectsOf(t.Context(), c.Action)
	if err != nil {
		t.Fatal(err)
	}
	if one, err := s.Effect(t.Context(), c.ID); err != nil || len(got) != 1 || !reflect.DeepEqual(one, got[0]) {
		t.Errorf("read by its id: %+v, %v; want %+v", one, err, got)
	}
	if _, err := s.Effect(t.Context(), "nobody's"); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("an effect that there is not: %v", err)
	}
	diff(t, "effect", got, []decision.EffectState{{
		Effect: c.Effect, Status: decision.StatusDone, Holder: "a", Token: 1, SettledAt: d.At, Result: d.Result,
	}})
	if a, err := s.Action(t.Context(), c.Action); err != nil || a.Open {
		t.Errorf("action %+v, %v; want it ended", a, err)
	}
	again, err := s.Settle(t.Context(), d)
	diff(t, "the same settlement again", again, decision.Made{Revision: 2, Repeated: true})
	if err != nil {
		t.Error(err)
	}
	expectedOf(w.events).check(t, s)
	if late := mustClaim(t, s, "b", w.now.Add(time.Hour), 10); len(late) != 0 {
		t.Errorf("settled effects were claimed: %v", idsOf(late))
	}
	if n := len(onlyAudit(t, s)); n != 2 {
		t.Errorf("audit records: %d, want 2", n)
	}
}

func settleFenced(t *testing.T, s Store) {
	w, keys := withEffects(t, s, 1)
	slow := mustClaim(t, s, "slow", w.now+5000, 1)[0]
	fast := mustClaim(t, s, "fast", w.now.Add(time.Hour), 1)[0]
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	_, err := s.Settle(t.Context(), settled(slow, keys[0], w.now+6000))
	check("settle after the effect was taken over", err, decision.ErrTakenOver)
	check("return after the effect was taken over", s.Return(t.Context(), decision.Return{Effect: slow.ID, Token: slow.Token, Due: 1}), decision.ErrTakenOver)
	if _, err := s.Settle(t.Context(), settled(fast, keys[0], w.now+7000)); err != nil {
		t.Fatal(err)
	}
	_, err = s.Settle(t.Context(), settled(slow, keys[0], w.now+6000))
	check("settle after somebody else settled", err, decision.ErrTakenOver)
	check("return after it was settled", s.Return(t.Context(), decision.Return{Effect: fast.ID, Token: fast.Token, Due: 1}), decision.ErrTakenOver)
	unknown := settled(fast, keys[0], w.now)
	unknown.Effect = "none"
	_, err = s.Settle(t.Context(), unknown)
	check("settle an unknown effect", err, lifecycle.ErrNotFound)
	w.events = append(w.events, settled(fast, keys[0], w.now+7000).Stamped(2)...)
	expectedOf(w.events).check(t, s)
}

func settleConflict(t *testing.T, s Store) {
	w, keys := withEffects(t, s, 1)
	c := mustClaim(t, s, "a", w.now+5000, 1)[0]
	d := settled(c, keys[0], w.now+6000)
	for _, revision := range []uint64{0, 2} {
		d.Expected = &revision
		if _, err := s.Settle(t.Context(), d); !errors.Is(err, decision.ErrConflict) {
			t.Errorf("settle on revision %d of 1: got %v, want ErrConflict", revision, err)
		}
	}
	expectedOf(w.events).check(t, s)
	one := uint64(1)
	d.Expected = &one
	if made, err := s.Settle(t.Context(), d); err != nil || made.Revision != 2 {
		t.Errorf("settle on the revision at hand: %+v, %v", made, err)
	}
}

func returnLater(t *testing.T, s Store) {
	w, _ := withEffects(t, s, 1)
	c := mustClaim(t, s, "a", w.now+5000, 1)[0]
	later := w.now.Add(time.Hour)
	if err := s.Return(t.Context(), decision.Return{Effect: c.ID, Token: c.Token, Due: later, Why: []byte("the broker is away")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Return(t.Context(), decision.Return{Effect: c.ID, Token: c.Token, Due: later}); !errors.Is(err, decision.ErrTakenOver) {
		t.Errorf("given back twice: got %v, want ErrTakenOver", err)
	}
	diff(t, "before it is due again", idsOf(mustClaim(t, s, "a", later-1, 1)), []string(nil))
	got, err := s.EffectsOf(t.Context(), c.Action)
	if err != nil || len(got) != 1 || got[0].Status != decision.StatusWaiting || got[0].Due != later || string(got[0].Result) != "the broker is away" {
		t.Errorf("effect %+v, %v; want it waiting until %d", got, err, later)
	}
	if again := mustClaim(t, s, "b", later, 1); len(again) != 1 || again[0].Token != 2 {
		t.Errorf("claimed again: %+v, want the effect with token 2", again)
	}
}

// settleChain settles an effect with another one that follows from it: a copy, then a deletion.
func settleChain(t *testing.T, s Store) {
	w, keys := withEffects(t, s, 1)
	copied := mustClaim(t, s, "a", w.now+5000, 1)[0]
	d := settled(copied, keys[0], w.now+6000)
	d.Events, d.Action.Open = nil, true
	d.Effects = []decision.Effect{{ID: "delete", Queue: "publish", Action: copied.Action, Due: w.now + 6000}}
	if _, err := s.Settle(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	next := mustClaim(t, s, "a", w.now+6000, 5)
	diff(t, "what follows", idsOf(next), []string{"delete"})
	if next[0].Subject != copied.Subject {
		t.Errorf("subject %q, want %q", next[0].Subject, copied.Subject)
	}
	last := settled(next[0], keys[0], w.now+7000)
	last.Status = decision.StatusFailed
	if _, err := s.Settle(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	got, err := s.EffectsOf(t.Context(), copied.Action)
	if err != nil || len(got) != 2 || got[0].Status != decision.StatusDone || got[1].Status != decision.StatusFailed {
		t.Errorf("effects %+v, %v; want one done and one failed", got, err)
	}
}

// Share tests what two handles on the same data, such as two replicas, do to each other. Each call of create must make new data and return
// a function that opens a store on it.
func Share(t *testing.T, create func(t testing.TB) (open func() Store)) {
	t.Helper()
	t.Run("two handles settle every effect once", func(t *testing.T) {
		t.Parallel()
		open := create(t)
		a, b := open(), open()
		raceForEffects(t, a, b)
	})
	t.Run("two handles give each place once", func(t *testing.T) {
		t.Parallel()
		open := create(t)
		raceForPlaces(t, open(), open(), open)
	})
}

// raceForEffects lets four relays on each handle claim, die, and settle, until nothing is left.
func raceForEffects(t *testing.T, a, b Store) {
	const effects = 40
	w, keys := withEffects(t, a, effects)
	now := w.now + 1_000_000
	var mu sync.Mutex
	done := map[string]int{}
	clock := now
	var work sync.WaitGroup
	for i := range 8 {
		s := []Store{a, b}[i%2]
		work.Go(func() {
			for turn := 0; ; turn++ {
				mu.Lock()
				clock = clock.Add(10 * time.Second) // Leases of the dead end.
				at, left := clock, effects-len(done)
				mu.Unlock()
				if left == 0 || turn > 400 {
					return
				}
				claimed, err := s.Claim(t.Context(), claimRequest(fmt.Sprint(i), at, 3))
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				for n, c := range claimed {
					if (turn+n+i)%3 == 0 {
						continue // It dies with this one in its hands.
					}
					_, err := s.Settle(t.Context(), settled(c, keyOf(keys, c.Subject), w.now+6000))
					mu.Lock()
					if err == nil {
						done[c.ID]++
					} else if !errors.Is(err, decision.ErrTakenOver) {
						t.Errorf("settle: %v", err)
					}
					mu.Unlock()
				}
			}
		})
	}
	work.Wait()
	if len(done) != effects {
		t.Fatalf("%d effects are settled, want %d", len(done), effects)
	}
	for id, n := range done {
		if n != 1 {
			t.Errorf("effect %s was settled %d times", id, n)
		}
	}
	for _, k := range keys {
		if r, err := b.Revision(t.Context(), decision.About(k)); err != nil || r != 2 {
			t.Errorf("revision of %v: %d, %v; want 2", k, r, err)
		}
	}
}

func keyOf(keys []lifecycle.MessageKey, s decision.Subject) lifecycle.MessageKey {
	return keys[slices.IndexFunc(keys, func(k lifecycle.MessageKey) bool { return decision.About(k) == s })]
}
