package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
	"fleetglass/restarts"
)

var restartTests = []conformanceTest{
	{"a restart comes back as it was stored", restartKept},
	{"of two that store the same version of a restart one succeeds", restartConflict},
	{"restarts are listed by time, and those that are not over apart", restartsListed},
	{"old restarts are deleted", restartsRetained},
}

// wentAway is a restart at a time with one victim.
func wentAway(id string, at, ended lifecycle.Micros) restarts.Restart {
	return restarts.Restart{
		ID: id, Version: 1, Cause: restarts.CauseBroker, From: at - 5, To: at, NoticedAt: at + 1, EndedAt: ended, Beyond: 2, Partial: true,
		Victims: []restarts.Victim{{TaskID: hostileText, Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}, Agent: "cto", Attempt: 2, LastSign: at - 9}},
	}
}

func mustSave(t *testing.T, s Store, all ...restarts.Restart) {
	t.Helper()
	for _, r := range all {
		if err := s.SaveRestart(t.Context(), r); err != nil {
			t.Fatalf("save %s: %v", r.ID, err)
		}
	}
}

func restartKept(t *testing.T, s Store) {
	want := wentAway("a", 100, 0)
	mustSave(t, s, want)
	want.Version, want.EndedAt, want.Victims[0].Fate = 2, 130, restarts.FateAnswered
	mustSave(t, s, want, wentAway("after that", 200, 0))
	got, err := s.Restart(t.Context(), "a")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v; stored and read differ (-stored +read):\n%s", err, diff)
	}
	if _, err := s.Restart(t.Context(), "b"); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("a restart that nobody stored: %v, want ErrNotFound", err)
	}
}

func restartConflict(t *testing.T, s Store) {
	first := wentAway("a", 100, 0)
	mustSave(t, s, first)
	if err := s.SaveRestart(t.Context(), first); !errors.Is(err, restarts.ErrConflict) {
		t.Errorf("stored twice as new: %v, want ErrConflict", err)
	}
	second := first
	second.Version, second.Victims = 2, nil
	mustSave(t, s, second)
	first.Version = 2
	if err := s.SaveRestart(t.Context(), first); !errors.Is(err, restarts.ErrConflict) {
		t.Errorf("version 2 stored again: %v, want ErrConflict", err)
	}
	if got, err := s.Restart(t.Context(), "a"); err != nil || len(got.Victims) != 0 {
		t.Errorf("got %+v, %v; want what was stored first as version 2", got, err)
	}
}

func restartsListed(t *testing.T, s Store) {
	mustSave(t, s, wentAway("b", 100, 0), wentAway("a", 100, 150), wentAway("c", 300, 0), wentAway("d", 200, 250))
	for _, list := range []struct {
		open  bool
		limit int
		want  []string
	}{{false, 9, []string{"c", "d", "a", "b"}}, {false, 2, []string{"c", "d"}}, {true, 9, []string{"c", "b"}}, {true, 1, []string{"c"}}} {
		if diff := cmp.Diff(list.want, restartIDs(t, s, list.open, list.limit)); diff != "" {
			t.Errorf("open %t, limit %d (-want +got):\n%s", list.open, list.limit, diff)
		}
	}
}

func restartIDs(t *testing.T, s Store, open bool, limit int) (out []string) {
	t.Helper()
	list, err := s.Restarts(t.Context(), open, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

func restartsRetained(t *testing.T, s Store) {
	mustSave(t, s, wentAway("old", 100, 120), wentAway("open", 110, 0), wentAway("new", 200, 210))
	if n, err := s.RetainRestarts(t.Context(), 200); err != nil || n != 2 {
		t.Errorf("deleted %d, %v; want 2", n, err)
	}
	if diff := cmp.Diff([]string{"new"}, restartIDs(t, s, false, 9)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
