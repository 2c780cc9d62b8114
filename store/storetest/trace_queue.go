package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var traceQueueTests = []conformanceTest{
	{"an ended task is told once, whatever becomes known of it later", traceToldOnce},
	{"a retry that ends is told, too", traceOfARetry},
	{"an end that did not hold is told when the task ends again", traceUndone},
	{"one holder tells, and who lost its turn notes nothing", traceHolders},
	{"what is deleted is not told", traceRetained},
}

// farFromNow is a time at which everything is due.
func farFromNow() lifecycle.Micros { return lifecycle.MicrosOf(time.Now().Add(time.Hour)) }

// dueTraces is what is due, as text: the task, the generation that ended, and the one that was told.
func dueTraces(t *testing.T, s Store, limit int) (found []lifecycle.DueTrace, text []string) {
	t.Helper()
	found, err := s.DueTraces(t.Context(), farFromNow(), limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		text = append(text, fmt.Sprint(d.TaskID, " ", d.Ended, " ", d.Told))
	}
	return found, text
}

func mustTell(t *testing.T, s Store, undone bool, due ...lifecycle.DueTrace) {
	t.Helper()
	token, claimed, err := s.ClaimTraces(t.Context(), lifecycle.TraceClaim{Holder: "a", Now: 1000, Until: 2000})
	if err != nil || !claimed {
		t.Fatalf("claim: %v, %v", claimed, err)
	}
	var told []lifecycle.ToldTrace
	for _, d := range due {
		told = append(told, lifecycle.ToldTrace{Key: d.Key, Ended: d.Ended, Undone: undone})
	}
	if err := s.TracesTold(t.Context(), token, told); err != nil {
		t.Fatal(err)
	}
}

func traceToldOnce(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	open := w.published("open", "cto", 0)
	w.delivered(open, 1)
	for _, task := range []string{hostileText, "second"} {
		k := w.published(task, "cto", 0)
		w.delivered(k, 1)
		w.said(lifecycle.Acked, k, 1, lifecycle.Detail{})
	}
	mustAppend(t, s, w.events)
	if early, err := s.DueTraces(t.Context(), 1, 10); err != nil || len(early) != 0 {
		t.Errorf("due before their time: %v, %v", early, err)
	}
	one, _ := dueTraces(t, s, 1)
	due, text := dueTraces(t, s, 10)
	diff(t, "ended tasks", text, []string{hostileText + " 0 -1", "second 0 -1"})
	diff(t, "the first of them", one, due[:1])
	mustTell(t, s, false, due[0])
	late := newEventScript("LATE")
	late.now = w.now
	late.recorded(hostileText, "cto")
	late.recorded("second", "cto")
	mustAppend(t, s, append(w.events, late.events...))
	_, text = dueTraces(t, s, 10)
	diff(t, "after the first was told", text, []string{"second 0 -1"})
	if _, err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, text = dueTraces(t, s, 10)
	diff(t, "after all was judged anew", text, []string{"second 0 -1"})
}

func traceOfARetry(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.published("t", "cto", 0)
	w.delivered(k, 1)
	w.said(lifecycle.Terminated, k, 1, lifecycle.Detail{})
	mustAppend(t, s, w.events)
	died, text := dueTraces(t, s, 10)
	diff(t, "after it died", text, []string{"t 0 -1"})
	mustTell(t, s, false, died...)
	k = w.published("t", "cto", 1)
	w.delivered(k, 1)
	mustAppend(t, s, w.events)
	if _, text = dueTraces(t, s, 10); len(text) != 0 {
		t.Errorf("while its retry runs: %v", text)
	}
	w.said(lifecycle.Acked, k, 1, lifecycle.Detail{})
	mustAppend(t, s, w.events)
	due, text := dueTraces(t, s, 10)
	diff(t, "after its retry ended", text, []string{"t 1 0"})
	mustTell(t, s, false, died...) // By somebody who has not seen the retry.
	_, text = dueTraces(t, s, 10)
	diff(t, "after the first end was told again", text, []string{"t 1 0"})
	mustTell(t, s, false, due...)
	if _, text = dueTraces(t, s, 10); len(text) != 0 {
		t.Errorf("after all was told: %v", text)
	}
}

func traceUndone(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.published("t", "cto", 0)
	w.delivered(k, 1)
	w.said(lifecycle.Acked, k, 1, lifecycle.Detail{})
	mustAppend(t, s, w.events)
	due, _ := dueTraces(t, s, 10)
	mustTell(t, s, true, due...)
	if _, text := dueTraces(t, s, 10); len(text) != 0 {
		t.Errorf("after the end was taken back: %v", text)
	}
	w.recorded("t", "cto") // The task is judged again.
	mustAppend(t, s, w.events)
	_, text := dueTraces(t, s, 10)
	diff(t, "after it ended again", text, []string{"t 0 -1"})
}

func traceHolders(t *testing.T, s Store) {
	claim := func(holder string, now lifecycle.Micros, want bool) uint64 {
		t.Helper()
		token, claimed, err := s.ClaimTraces(t.Context(), lifecycle.TraceClaim{Holder: holder, Now: now, Until: now + 100})
		if err != nil || claimed != want {
			t.Fatalf("%s at %d: claimed %v, %v; want %v", holder, now, claimed, err, want)
		}
		return token
	}
	first := claim("a", 1000, true)
	if again := claim("a", 1050, true); again != first {
		t.Errorf("a turn that goes on has token %d, want %d", again, first)
	}
	claim("b", 1149, false)
	second := claim("b", 1150, true)
	if second <= first {
		t.Errorf("the next holder has token %d, the one before had %d", second, first)
	}
	if err := s.TracesTold(t.Context(), first, nil); !errors.Is(err, lifecycle.ErrTakenOver) {
		t.Errorf("told by the one before: %v, want ErrTakenOver", err)
	}
	if err := s.TracesTold(t.Context(), second, nil); err != nil {
		t.Error(err)
	}
}

func traceRetained(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.published("t", "cto", 0)
	w.delivered(k, 1)
	w.said(lifecycle.Acked, k, 1, lifecycle.Detail{})
	mustAppend(t, s, w.events)
	due, _ := dueTraces(t, s, 10)
	if _, err := s.Retain(t.Context(), farFromNow(), farFromNow()); err != nil {
		t.Fatal(err)
	}
	if _, text := dueTraces(t, s, 10); len(text) != 0 {
		t.Errorf("deleted, and due: %v", text)
	}
	mustTell(t, s, false, due...) // By who read it before: nothing is there.
	other := newEventScript("OTHER")
	other.published("u", "cto", 0)
	mustAppend(t, s, other.events)
	if _, text := dueTraces(t, s, 10); len(text) != 0 {
		t.Errorf("due: %v", text)
	}
}
