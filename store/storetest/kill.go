package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// Victim says how a store is opened that dies at a step.
type Victim struct {
	// Create makes new data and returns where it is. It is called in the test's own process.
	Create func(t testing.TB) (address string)
	// Open opens the store. It calls step, which may not return, before and after everything that the store asks of its database.
	Open func(ctx context.Context, address string, step func()) (Store, error)
}

// The environment of a process that is to die.
const (
	dieAtVariable   = "STORETEST_DIE_AT"
	addressVariable = "STORETEST_ADDRESS"
)

// leastSteps is how many steps a decision, a claim and a settlement have at the very least: begin, write and commit of each, before and after.
const leastSteps = 18

// Kill tests that a process that dies by SIGKILL, at any step from the beginning of a decision to the end of the settlement of its effect,
// leaves all or nothing of each transaction, and that the next process ends what it began, with every effect done once. The test that
// calls it must do nothing else: the test's binary is started again, to run this test alone, once for every step.
func Kill(t *testing.T, v Victim) {
	t.Helper()
	if isVictim() {
		v.live(t)
		return
	}
	address := v.Create(t)
	s, err := v.Open(t.Context(), address, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	w := newEventScript("TASKS")
	for n := 1; ; n++ {
		prepare := len(w.events)
		task := victimTask(n)
		k := w.dead(task)
		mustAppend(t, s, w.events[prepare:])
		if died := v.run(t, address, n); !died {
			if n <= leastSteps {
				t.Errorf("a decision, a claim and a settlement have %d steps, want more than %d", n-1, leastSteps)
			}
			t.Logf("%d steps", n-1)
			break
		}
		w.events = append(w.events, finish(t, s, task, k)...)
	}
	expectedOf(w.events[:len(w.events)-3]).checkTasks(t, s) // All but the one that lived.
}

func victimTask(n int) string { return fmt.Sprintf("t%03d", n) }

// run starts the process that dies at step n and reports whether it did.
func (v Victim) run(t *testing.T, address string, n int) (died bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	c.Env = append(os.Environ(), dieAtVariable+"="+strconv.Itoa(n), addressVariable+"="+address)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && !exit.Exited():
		return true // By a signal.
	}
	t.Fatalf("step %d: %v\n%s", n, err, out)
	return false
}

// victim opens the store in the process that is to die. The steps count from when begin is called; n is the one at which it dies.
func (v Victim) victim(t *testing.T) (s Store, n int, begin func()) {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(dieAtVariable))
	if err != nil {
		t.Fatal(err)
	}
	var steps atomic.Int64
	steps.Store(math.MinInt64) // It does not count yet.
	s, err = v.Open(t.Context(), os.Getenv(addressVariable), func() {
		if steps.Add(1) == int64(n) {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, n, func() { steps.Store(0) }
}

// isVictim reports whether this is the process that is to die.
func isVictim() bool { return os.Getenv(dieAtVariable) != "" }

// live decides, claims and settles, and dies at a step.
func (v Victim) live(t *testing.T) {
	s, n, begin := v.victim(t)
	defer func() { _ = s.Close() }()
	k, err := keyOfTask(t.Context(), s, victimTask(n))
	if err != nil {
		t.Fatal(err)
	}
	begin()
	d := victimDecision(victimTask(n), k)
	mustDecide(t, s, d)
	c := mustClaim(t, s, "victim", d.At, 1)[0]
	if _, err := s.Settle(t.Context(), settled(c, k, d.At+1)); err != nil {
		t.Fatal(err)
	}
}

func keyOfTask(ctx context.Context, s Store, task string) (lifecycle.MessageKey, error) {
	r, err := s.Task(ctx, task)
	return r.Summary.Message, err
}

// victimDecision is the same in both processes.
func victimDecision(task string, k lifecycle.MessageKey) decision.Decision {
	return decided("decide "+task, k, 1_700_000_000_000_000, 0, true)
}

// finish looks at what the dead process left, and does as the next one would: it decides the same again, claims what was left, and
// settles it. It returns the events of the decision and its effect as they must be stored.
func finish(t *testing.T, s Store, task string, k lifecycle.MessageKey) []lifecycle.Event {
	t.Helper()
	d := victimDecision(task, k)
	checkAllOrNothing(t, s, task, d)
	mustDecide(t, s, d)
	settleRest(t, s, d, k)
	effects, err := s.EffectsOf(t.Context(), d.Action.ID)
	if err != nil || len(effects) != 1 || effects[0].Status != decision.StatusDone {
		t.Errorf("%s: effects %+v, %v; want one that is done", task, effects, err)
	}
	if r, err := s.Revision(t.Context(), d.Subject); err != nil || r != 2 {
		t.Errorf("%s: revision %d, %v; want 2", task, r, err)
	}
	c := decision.Claimed{Effect: decision.Effect{ID: d.Effects[0].ID, Subject: d.Subject, Action: d.Action.ID}}
	return slices.Concat(d.Stamped(1), settled(c, k, d.At+1).Stamped(2))
}

// settleRest claims and settles until the effect of the decision is settled. A server may need a moment to find that the dead process is
// gone; until then the rows that it held are left out of claims.
func settleRest(t *testing.T, s Store, d decision.Decision, k lifecycle.MessageKey) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		for _, c := range mustClaim(t, s, "next", d.At.Add(time.Hour), 10) {
			if _, err := s.Settle(t.Context(), settled(c, k, d.At+1)); err != nil || c.Subject != d.Subject {
				t.Errorf("settle %s of %s: %v", c.ID, c.Subject, err)
			}
		}
		effects, err := s.EffectsOf(t.Context(), d.Action.ID)
		if err != nil || len(effects) == 1 && effects[0].Status.Settled() {
			return
		}
	}
}

// checkAllOrNothing holds what is stored of a decision to its revision: events, action, effect and audit records are those of it, and
// nothing else.
func checkAllOrNothing(t *testing.T, s Store, task string, d decision.Decision) {
	t.Helper()
	revision, err := s.Revision(t.Context(), d.Subject)
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(t.Context(), task, lifecycle.EventPosition{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Action(t.Context(), d.Action.ID)
	effects, otherErr := s.EffectsOf(t.Context(), d.Action.ID)
	if otherErr != nil {
		t.Fatal(otherErr)
	}
	audit := 0
	for _, r := range onlyAudit(t, s) {
		if r.ID == d.ID || r.ID == d.Effects[0].ID {
			audit++
		}
	}
	got := fmt.Sprint(len(events)-3, err == nil, len(effects), audit)
	want := []string{"0 false 0 0", "1 true 1 1", "2 true 1 2"}[min(revision, 2)]
	if got != want {
		t.Errorf("%s died at revision %d: events, action, effects, audit records are %s, want %s", task, revision, got, want)
	}
	if settled := len(effects) == 1 && effects[0].Status.Settled(); settled != (revision == 2) {
		t.Errorf("%s died at revision %d: effect settled: %t", task, revision, settled)
	}
}
