package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

var retainDecisionTests = []conformanceTest{
	{"operations are listed newest first, without the actions that are part of them", listOperations},
	{"an operation is kept while a part of it waits", retainOperation},
	{"what was decided and settled is deleted after a time, and what is open is kept", retainDecided},
}

func retainDecided(t *testing.T, s Store) {
	const ended = 510 // More than are deleted at once.
	w, keys := withEffects(t, s, 3)
	old := w.now.Add(time.Minute)
	for _, c := range mustClaim(t, s, "a", old, 2) {
		if _, err := s.Settle(t.Context(), settled(c, keys[3-numberOf(t, c.ID)], old)); err != nil {
			t.Fatal(err)
		}
	}
	about := decision.Subject("operation")
	for i := range ended {
		id := fmt.Sprintf("o%03d", i)
		mustDecide(t, s, decision.Decision{ID: id, Subject: about, Expected: uint64(i), At: old, Change: decision.Change{
			Audit: []decision.AuditRecord{{ID: id, At: old, Outcome: decision.Allowed}},
		}})
	}
	young := old.Add(time.Hour)
	mustDecide(t, s, decided("young", lifecycle.MessageKey{Stream: keys[0].Stream, Seq: 99}, young, 0, false))

	const wanted = 2 + 2 + 3 + ended // Effects, actions, decisions.
	if n, err := s.RetainDecisions(t.Context(), old+1); err != nil || n != wanted {
		t.Errorf("deleted %d rows, %v; want %d", n, err, wanted)
	}
	for id, kept := range map[string]bool{"d03": false, "d02": false, "d01": true, "young": true} {
		if _, err := s.Action(t.Context(), id); errors.Is(err, lifecycle.ErrNotFound) == kept {
			t.Errorf("action %s: %v; want it kept: %t", id, err, kept)
		}
	}
	if effects, err := s.EffectsOf(t.Context(), "d01"); err != nil || len(effects) != 1 {
		t.Errorf("effects of the open action: %v, %v; want one", effects, err)
	}
	if r, err := s.Revision(t.Context(), about); err != nil || r != ended {
		t.Errorf("revision %d, %v; want %d", r, err, ended)
	}
	if n, err := s.RetainDecisions(t.Context(), old+1); err != nil || n != 0 {
		t.Errorf("deleted %d rows again, %v", n, err)
	}
}

func retainOperation(t *testing.T, s Store) {
	put := func(id, operation string, revision uint64, open bool) {
		d := decision.Decision{ID: fmt.Sprint(id, revision), Subject: decision.Subject(id), Expected: revision, At: 100}
		d.Action = &decision.Action{ID: id, Subject: d.Subject, Kind: "retry", Operation: operation, Open: open, CreatedAt: 100, UpdatedAt: 100}
		d.Audit = []decision.AuditRecord{{ID: d.ID, At: 100, Outcome: decision.Allowed}}
		mustDecide(t, s, d)
	}
	put("operation", "", 0, false)
	put("waits", "operation", 0, true)
	put("ended", "operation", 0, false)
	retain := func(kept ...string) {
		t.Helper()
		if _, err := s.RetainDecisions(t.Context(), 101); err != nil {
			t.Errorf("retain: %v", err)
		}
		for _, id := range []string{"operation", "waits", "ended"} {
			if _, err := s.Action(t.Context(), id); errors.Is(err, lifecycle.ErrNotFound) == slices.Contains(kept, id) {
				t.Errorf("action %s: %v; want %v to be kept", id, err, kept)
			}
		}
	}
	retain("operation", "waits", "ended")
	put("waits", "operation", 1, false)
	retain()
}

func listOperations(t *testing.T, s Store) {
	var want []string
	for i := range 7 {
		id, at := fmt.Sprintf("o%d", i), lifecycle.Micros(100+i/2)
		d := decision.Decision{ID: id, Subject: decision.Subject(id), At: at}
		d.Action = &decision.Action{ID: id, Subject: d.Subject, Kind: "retry", CreatedAt: at, UpdatedAt: at}
		d.Audit = []decision.AuditRecord{{ID: id, At: at, Outcome: decision.Allowed}}
		if i == 3 {
			d.Action.Operation = "o1"
		} else {
			want = append([]string{id}, want...)
		}
		mustDecide(t, s, d)
	}
	var got []string
	for before := (*decision.ActionPlace)(nil); ; {
		page, err := s.Operations(t.Context(), before, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page {
			got = append(got, a.ID)
			before = &decision.ActionPlace{CreatedAt: a.CreatedAt, ID: a.ID}
		}
		if len(page) < 2 {
			break
		}
	}
	diff(t, "operations", got, want)

	back, err := s.Operations(t.Context(), &decision.ActionPlace{CreatedAt: 100, ID: "o0", Newer: true}, 3)
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, a := range back {
		got = append(got, a.ID)
	}
	diff(t, "operations read towards newer ones", got, want[len(want)-4:len(want)-1])
}

// numberOf is the number in the id of an effect of [withEffects].
func numberOf(t *testing.T, effect string) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(effect, "d%d/1", &n); err != nil {
		t.Fatal(err)
	}
	return n
}
