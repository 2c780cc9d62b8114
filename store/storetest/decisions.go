package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

var decisionTests = []conformanceTest{
	{"a decision is committed as a whole", decideWhole},
	{"a decision that was made before changes nothing", decideTwice},
	{"a decision on an old revision is a conflict and leaves nothing", decideConflict},
	{"a subject has at most one open action", decideBusy},
	{"a decision that fails in its last part leaves nothing", decideFails},
	{"a decision that lacks something is refused", decideInvalid},
	{"100 parallel decisions with one id are one", decideParallel(func(int) string { return "one" }, 100)},
	{"100 parallel decisions on one revision are one", decideParallel(func(i int) string { return fmt.Sprintf("d%d", i) }, 1)},
	{"decisions and events in random order 1", decideInAnyOrder(1)},
	{"decisions and events in random order 2", decideInAnyOrder(2)},
	{"decisions and events in random order 3", decideInAnyOrder(3)},
	{"decisions about everything", decideAnything},
	{"actions are listed", decideLists},
}

// dead tells of a dead letter and returns its message.
func (w *eventScript) dead(task string) lifecycle.MessageKey {
	k := w.published(task, "cto", 0)
	w.said(lifecycle.MaxDeliveries, k, 3, lifecycle.Detail{})
	w.said(lifecycle.DeadLettered, k, 0, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: "transient", Entry: "DLQ:" + task}})
	return k
}

// decided is a decision about a message with everything that a decision can have. It discards where retry is false.
func decided(id string, k lifecycle.MessageKey, at lifecycle.Micros, revision uint64, retry bool) decision.Decision {
	e := lifecycle.Event{
		ID: decision.EventID(id, 0), At: at, Kind: lifecycle.Triaged, Provenance: lifecycle.Recorded, Source: "decision", Message: k,
	}
	e.Detail.Actor, e.Detail.Reason, e.Detail.Action, e.Detail.Outcome = "ops", "because", "discard", lifecycle.OutcomeDiscarded
	d := decision.Decision{ID: id, Subject: decision.About(k), Expected: revision, At: at}
	d.Action = &decision.Action{ID: id, Subject: d.Subject, Kind: "discard", CreatedAt: at, UpdatedAt: at, Body: []byte(`{"because":"obsolete"}`)}
	d.Audit = []decision.AuditRecord{{ID: id, At: at, Actor: "ops", Action: "discard", Target: string(d.Subject), Outcome: decision.Allowed}}
	if retry {
		e.Kind, e.Detail.Outcome, e.Detail.Action = lifecycle.Decided, "", "retry"
		d.Action.Kind, d.Action.Open, d.Audit[0].Action = "retry", true, "retry"
		d.Effects = []decision.Effect{{ID: id + "/1", Queue: "publish", Action: id, Due: at, Body: []byte("body of " + id)}}
	}
	d.Events = []lifecycle.Event{e}
	return d
}

func mustDecide(t testing.TB, s decision.Decider, d decision.Decision) decision.Made {
	t.Helper()
	made, err := s.Decide(t.Context(), d)
	if err != nil {
		t.Fatalf("decide %s: %v", d.ID, err)
	}
	return made
}

// onlyAudit reads all audit records.
func onlyAudit(t testing.TB, s decision.Auditor) []decision.AuditRecord {
	t.Helper()
	out, next, err := s.Audit(t.Context(), decision.AuditFilter{}, nil, 10_000)
	if err != nil || next != nil {
		t.Fatalf("audit: %v, more: %v", err, next)
	}
	return out
}

// stamped is a change's events as they are stored.
func stamped(d decision.Decision, revision uint64) []lifecycle.Event { return d.Stamped(revision) }

func decideWhole(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.dead("whole")
	mustAppend(t, s, w.events)
	d := decided("whole-1", k, w.now+1, 0, true)
	made := mustDecide(t, s, d)
	diff(t, "made", made, decision.Made{Revision: 1, Changed: []lifecycle.TaskChange{
		{TaskID: "whole", State: lifecycle.StateDeadLettered, Agent: "cto", At: d.At, Fallen: true},
	}})
	all := slices.Concat(w.events, stamped(d, 1))
	expectedOf(all).check(t, s)
	checkDecision(t, s, d, decision.EffectState{Effect: effectOf(d), Status: decision.StatusWaiting})

	second := decided("whole-2", k, w.now+2, 1, false)
	second.Action.ID = "whole-1" // It ends the action.
	if made := mustDecide(t, s, second); made.Revision != 2 || made.Changed[0].State != lifecycle.StateTriaged {
		t.Errorf("made: got %+v, want revision 2 and a triaged task", made)
	}
	expectedOf(slices.Concat(all, stamped(second, 2))).check(t, s)
	if n := len(onlyAudit(t, s)); n != 2 {
		t.Errorf("audit records: %d, want 2", n)
	}
}

// effectOf is the only effect of a decision, as it is stored.
func effectOf(d decision.Decision) decision.Effect {
	e := d.Effects[0]
	e.Subject = d.Subject
	return e
}

// checkDecision compares what is stored of a decision beside its events.
func checkDecision(t *testing.T, s Store, d decision.Decision, effects ...decision.EffectState) {
	t.Helper()
	action, err := s.Action(t.Context(), d.Action.ID)
	if err != nil {
		t.Error(err)
	}
	diff(t, "action", action, *d.Action)
	got, err := s.EffectsOf(t.Context(), d.Action.ID)
	if err != nil {
		t.Error(err)
	}
	diff(t, "effects", got, effects)
	diff(t, "audit", onlyAudit(t, s), d.Audit)
	if r, err := s.Revision(t.Context(), d.Subject); err != nil || r != d.Expected+1 {
		t.Errorf("revision: got %d, %v; want %d", r, err, d.Expected+1)
	}
}

func decideTwice(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.dead("twice")
	mustAppend(t, s, w.events)
	d := decided("twice", k, w.now+1, 0, true)
	mustDecide(t, s, d)
	diff(t, "made again", mustDecide(t, s, d), decision.Made{Revision: 1, Repeated: true})
	expectedOf(slices.Concat(w.events, stamped(d, 1))).check(t, s)
	checkDecision(t, s, d, decision.EffectState{Effect: effectOf(d), Status: decision.StatusWaiting})
	other := decided("twice", w.dead("other"), w.now+1, 0, false)
	if _, err := s.Decide(t.Context(), other); !errors.Is(err, decision.ErrConflict) {
		t.Errorf("the same id for another subject: got %v, want ErrConflict", err)
	}
}

func decideConflict(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.dead("conflict")
	mustAppend(t, s, w.events)
	d := decided("first", k, w.now+1, 0, true)
	mustDecide(t, s, d)
	for _, revision := range []uint64{0, 2, 1 << 40} {
		late := decided("late", k, w.now+2, revision, true)
		if _, err := s.Decide(t.Context(), late); !errors.Is(err, decision.ErrConflict) {
			t.Errorf("a decision that expects revision %d of 1: got %v, want ErrConflict", revision, err)
		}
	}
	expectedOf(slices.Concat(w.events, stamped(d, 1))).check(t, s)
	checkDecision(t, s, d, decision.EffectState{Effect: effectOf(d), Status: decision.StatusWaiting})
	if _, err := s.Action(t.Context(), "late"); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("action of a refused decision: got %v, want ErrNotFound", err)
	}
}

func decideBusy(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.dead("busy")
	mustAppend(t, s, w.events)
	mustDecide(t, s, decided("open", k, w.now+1, 0, true))
	second := decided("second", k, w.now+2, 1, true)
	if _, err := s.Decide(t.Context(), second); !errors.Is(err, decision.ErrBusy) {
		t.Fatalf("a second open action: got %v, want ErrBusy", err)
	}
	ended := decided("end", k, w.now+3, 1, false)
	ended.Action.ID = "open"
	mustDecide(t, s, ended)
	second.Expected = 2
	mustDecide(t, s, second)
	mustDecide(t, s, decided("elsewhere", w.dead("elsewhere"), w.now+1, 0, true))
}

func decideFails(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k, other := w.dead("fails"), w.dead("works")
	mustAppend(t, s, w.events)
	d := decided("works", other, w.now+1, 0, true)
	mustDecide(t, s, d)
	bad := decided("fails", k, w.now+1, 0, true)
	bad.Effects = append(bad.Effects, d.Effects[0]) // Its id is taken.
	if _, err := s.Decide(t.Context(), bad); err == nil {
		t.Fatal("an effect whose id is taken was accepted")
	}
	expectedOf(slices.Concat(w.events, stamped(d, 1))).check(t, s)
	checkDecision(t, s, d, decision.EffectState{Effect: effectOf(d), Status: decision.StatusWaiting})
	if r, err := s.Revision(t.Context(), bad.Subject); err != nil || r != 0 {
		t.Errorf("revision after a decision that failed: %d, %v; want 0", r, err)
	}
}

func decideInvalid(t *testing.T, s Store) {
	k := lifecycle.MessageKey{Stream: tasksStream, Seq: 1}
	for what, spoil := range map[string]func(*decision.Decision){
		"no id":                    func(d *decision.Decision) { d.ID = "" },
		"a long id":                func(d *decision.Decision) { d.ID = strings.Repeat("x", 501) },
		"no subject":               func(d *decision.Decision) { d.Subject = "" },
		"no time":                  func(d *decision.Decision) { d.At = 0 },
		"no audit record":          func(d *decision.Decision) { d.Audit = nil },
		"an audit record of no id": func(d *decision.Decision) { d.Audit[0].ID = "" },
		"an event of another one":  func(d *decision.Decision) { d.Events[0].Message.Seq = 2 },
		"an effect of no queue":    func(d *decision.Decision) { d.Effects[0].Queue = "" },
		"an action of another one": func(d *decision.Decision) { d.Action.Subject = "other" },
	} {
		d := decided("bad", k, 5, 0, true)
		spoil(&d)
		if _, err := s.Decide(t.Context(), d); err == nil {
			t.Errorf("a decision with %s was accepted", what)
		}
	}
	if n := len(onlyAudit(t, s)); n != 0 {
		t.Errorf("audit records of refused decisions: %d", n)
	}
}

// decideParallel gives 100 decisions at once, of which one is made; succeed is how many callers hear that it was.
func decideParallel(id func(int) string, succeed int) func(*testing.T, Store) {
	return func(t *testing.T, s Store) {
		w := newEventScript("TASKS")
		k := w.dead("parallel")
		mustAppend(t, s, w.events)
		var firsts, heard atomic.Int64
		var winner atomic.Value
		var work sync.WaitGroup
		for i := range 100 {
			work.Go(func() {
				made, err := s.Decide(t.Context(), decided(id(i), k, w.now+1, 0, true))
				switch {
				case err == nil && !made.Repeated:
					firsts.Add(1)
					winner.Store(id(i))
					fallthrough
				case err == nil:
					heard.Add(1)
				case !errors.Is(err, decision.ErrConflict):
					t.Errorf("decide: %v", err)
				}
			})
		}
		work.Wait()
		if firsts.Load() != 1 || heard.Load() != int64(succeed) {
			t.Fatalf("%d decisions were made and %d callers heard so, want 1 and %d", firsts.Load(), heard.Load(), succeed)
		}
		d := decided(winner.Load().(string), k, w.now+1, 0, true)
		expectedOf(slices.Concat(w.events, stamped(d, 1))).check(t, s)
		checkDecision(t, s, d, decision.EffectState{Effect: effectOf(d), Status: decision.StatusWaiting})
	}
}

// decideInAnyOrder gives the decisions about many messages, those about one message in their order and some of them twice, mixed with the
// messages' own events in any order, any partition, and some of them twice.
func decideInAnyOrder(seed uint64) func(*testing.T, Store) {
	return func(t *testing.T, s Store) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := newEventScript("TASKS")
		var turns [][]decision.Decision // The decisions about each message.
		all := []lifecycle.Event{}
		for i := range 12 {
			k := w.dead(fmt.Sprintf("t%d", i))
			ds := decisionsAbout(r, fmt.Sprintf("d%d", i), k, w.now)
			turns = append(turns, ds)
			for n, d := range ds {
				all = append(all, stamped(d, uint64(n+1))...)
			}
		}
		all = append(all, w.events...)
		batches := partition(r, w.events)
		for len(batches) > 0 || len(turns) > 0 {
			if i := r.IntN(1 + 2*len(turns)); i > 0 {
				i = (i - 1) / 2
				mustDecide(t, s, turns[i][0])
				if r.IntN(4) > 0 {
					turns[i] = turns[i][1:]
				}
				turns = slices.DeleteFunc(turns, func(ds []decision.Decision) bool { return len(ds) == 0 })
			} else if len(batches) > 0 {
				mustAppend(t, s, batches[0])
				batches = batches[1:]
			}
		}
		expectedOf(all).check(t, s)
		appendInAnyOrder(t, r, s, all)
	}
}

// appendInAnyOrder gives the events, decisions among them, to the store once more: as they are stored they join like all others.
func appendInAnyOrder(t *testing.T, r *rand.Rand, s Store, all []lifecycle.Event) {
	t.Helper()
	for _, batch := range partition(r, all) {
		if done := mustAppend(t, s, batch); done.New != 0 {
			t.Fatalf("%d events that are stored are new", done.New)
		}
	}
	expectedOf(all).check(t, s)
}

// decisionsAbout are one to four decisions about a message, each with a clock of its own.
func decisionsAbout(r *rand.Rand, id string, k lifecycle.MessageKey, now lifecycle.Micros) []decision.Decision {
	var out []decision.Decision
	for n := range 1 + r.IntN(4) {
		d := decided(fmt.Sprintf("%s-%d", id, n), k, now+lifecycle.Micros(r.IntN(1000)), uint64(n), false)
		d.Events[0].Detail.Outcome = lifecycle.Outcomes()[r.IntN(5)]
		if r.IntN(3) == 0 {
			d.Events[0].Kind, d.Events[0].Detail.Outcome = lifecycle.Reopened, ""
		}
		out = append(out, d)
	}
	return out
}

// decideAnything decides about what is no message, with texts of any bytes, and without anything but an audit record.
func decideAnything(t *testing.T, s Store) {
	d := decided(hostileText, lifecycle.MessageKey{Stream: tasksStream, Seq: 1}, 5, 0, true)
	d.Events, d.Subject, d.Action.Subject = nil, "alert "+hostileText, "alert "+hostileText
	d.Action.Kind, d.Action.Operation, d.Action.Body, d.Effects[0].Queue = hostileText, hostileText, []byte(hostileText), hostileText
	r := &d.Audit[0]
	for _, text := range []*string{&r.Actor, &r.Role, &r.TokenID, &r.Via, &r.Action, &r.Target, &r.Reason, &r.RequestID} {
		*text = hostileText
	}
	r.Before, r.After = []byte(hostileText), []byte(`{"after":1}`)
	mustDecide(t, s, d)
	checkDecision(t, s, d, decision.EffectState{Effect: effectOf(d), Status: decision.StatusWaiting})
	bare := decision.Decision{ID: "bare", Subject: "alert 1", At: 6}
	bare.Audit = []decision.AuditRecord{{ID: "bare", At: 6, Action: "acknowledge", Outcome: decision.Allowed}}
	if made := mustDecide(t, s, bare); made.Revision != 1 || len(made.Changed) != 0 {
		t.Errorf("a decision without events: %+v, want revision 1 and no task", made)
	}
}

func decideLists(t *testing.T, s Store) {
	k := lifecycle.MessageKey{Stream: tasksStream, Seq: 1}
	for n := range 5 {
		d := decided(fmt.Sprintf("a%d", n), k, lifecycle.Micros(10+n/2), uint64(n), false)
		if n != 2 {
			d.Action.Operation = "bulk"
		}
		mustDecide(t, s, d)
	}
	ids := func(actions []decision.Action, err error) (out []string) {
		if err != nil {
			t.Error(err)
		}
		for _, a := range actions {
			out = append(out, a.ID)
		}
		return out
	}
	ctx := t.Context()
	diff(t, "on the subject, newest first", ids(s.ActionsOn(ctx, decision.About(k), 4)), []string{"a4", "a3", "a2", "a1"})
	diff(t, "on another subject", ids(s.ActionsOn(ctx, "other", 4)), []string(nil))
	diff(t, "of the operation", ids(s.ActionsOf(ctx, "bulk", "", 3)), []string{"a0", "a1", "a3"})
	diff(t, "of the operation, behind a1", ids(s.ActionsOf(ctx, "bulk", "a1", 3)), []string{"a3", "a4"})
	diff(t, "of no operation", ids(s.ActionsOf(ctx, "", "", 3)), []string(nil))
}
