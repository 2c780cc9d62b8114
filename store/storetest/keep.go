package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var keepTests = []conformanceTest{
	{"a store answers a ping", func(t *testing.T, s Store) {
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("ping: %v", err)
		}
	}},
	{"a store knows its size", keepSize},
	{"retention deletes what ended before the cutoff", keepRetains},
	{"retention keeps dead letters until somebody has decided about them", keepRetainsUndecided},
	{"retention of lines, gaps and minutes", keepRetainsRest},
	{"rebuild gives equal answers", keepRebuilds},
	{"rebuild of nothing", func(t *testing.T, s Store) {
		if n, err := s.Rebuild(t.Context()); err != nil || n != 0 {
			t.Errorf("rebuild: %d events, %v; want none", n, err)
		}
		expectedOf(nil).check(t, s)
	}},
}

func keepSize(t *testing.T, s Store) {
	before, err := s.Size(t.Context())
	if err != nil || before <= 0 {
		t.Fatalf("size of an empty store: %d, %v", before, err)
	}
	w := newEventScript("TASKS")
	const body = 100_000
	noise := rand.NewChaCha8([32]byte{})
	var payloads []lifecycle.Payload
	for n := range 20 {
		bytes := make([]byte, body)
		_, _ = noise.Read(bytes) // Never fails. Noise cannot be compressed.
		payloads = append(payloads, lifecycle.Payload{Message: w.published(fmt.Sprint("large ", n), "cto", 0), At: w.now, Body: bytes, Size: body})
	}
	mustStore(t, s, lifecycle.Batch{Events: w.events, Payloads: payloads})
	if after, err := s.Size(t.Context()); err != nil || after < before+20*body {
		t.Errorf("size after %d bytes of bodies: %d, before %d, %v", 20*body, after, before, err)
	}
}

func keepRetains(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	w.wait(-10 * 24 * time.Hour)
	oldDone := w.published("old done", "cto", 0)
	w.acked(oldDone, 1)
	oldDead := w.dead("old dead")
	w.triaged(oldDead, 1, lifecycle.OutcomeDiscarded)
	oldOpen := w.published("old open", "cto", 0)
	w.tried("old attempt", "cto", "old attempt")
	w.recorded("old record", "ceo")
	reborn := w.published("old, and new again", "cto", 0)
	w.acked(reborn, 1)
	w.wait(9 * 24 * time.Hour)
	cutoff := w.now
	w.published("old, and new again", "cto", 1)
	fresh := w.published("fresh", "ceo", 0)
	w.acked(fresh, 1)
	var payloads []lifecycle.Payload
	for _, k := range []lifecycle.MessageKey{oldDone, oldOpen, reborn, fresh} {
		payloads = append(payloads, lifecycle.Payload{Message: k, At: w.events[0].At, Body: []byte("x"), Size: 1})
	}
	mustStore(t, s, lifecycle.Batch{Events: w.events, Payloads: payloads})
	n, err := s.Retain(t.Context(), cutoff, w.now)
	if err != nil || n != 4 {
		t.Errorf("retain: %d tasks deleted, %v; want 4", n, err)
	}
	kept := slices.DeleteFunc(slices.Clone(w.events), func(e lifecycle.Event) bool {
		return e.Message == oldDone || e.Message == oldDead || e.TaskID == "old attempt" || e.TaskID == "old record"
	})
	after := expectedOf(kept)
	after.checkTasks(t, s)
	after.checkMessages(t, s)
	after.checkEntries(t, s)
	after.checkList(t, s, lifecycle.Filter{})
	after.checkCounts(t, s, lifecycle.Filter{})
	after.checkCounts(t, s, lifecycle.Filter{Types: []string{"content_creation"}})
	checkGone(t, s, "old done", oldDone)
	if _, err := s.Payload(t.Context(), oldOpen); err != nil {
		t.Errorf("payload of an open message: %v", err)
	}
	history, err := s.Rollups(t.Context(), []lifecycle.Metric{lifecycle.MetricPublished}, 0, math.MaxInt64, false)
	if err != nil {
		t.Fatal(err)
	}
	var published int64
	for _, count := range history {
		published += count
	}
	if published != 6 {
		t.Errorf("published messages in the hourly rollups after retention: %d, want all 6", published)
	}
	if n, err = s.Retain(t.Context(), cutoff, w.now); err != nil || n != 0 {
		t.Errorf("retain again: %d tasks deleted, %v; want none", n, err)
	}
}

func checkGone(t *testing.T, s Store, task string, k lifecycle.MessageKey) {
	t.Helper()
	_, ofTask := s.Task(t.Context(), task)
	_, ofMessage := s.TaskOf(t.Context(), k)
	_, ofPayload := s.Payload(t.Context(), k)
	for what, err := range map[string]error{"task": ofTask, "message": ofMessage, "payload": ofPayload} {
		if !errors.Is(err, lifecycle.ErrNotFound) {
			t.Errorf("%s of a deleted task: got %v, want ErrNotFound", what, err)
		}
	}
	if events, err := s.Events(t.Context(), task, lifecycle.EventPosition{}, 10); err != nil || len(events) != 0 {
		t.Errorf("events of a deleted task: %d, %v; want none", len(events), err)
	}
}

// keepRetainsUndecided tells of dead letters that all died before the cutoff. Some wait for somebody who decides, or for what was decided.
func keepRetainsUndecided(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	w.wait(-10 * 24 * time.Hour)
	open, acting, undone, person := w.dead("nobody decided"), w.dead("its retry waits"), w.dead("the decision was taken back"), w.dead("deferred until somebody decides")
	later, over := w.dead("deferred until later"), w.dead("deferred until before")
	decided := map[lifecycle.MessageKey]string{w.dead("discarded"): "discarded", w.dead("quarantined"): "quarantined"}
	w.asked(acting, 1, "retry", "waits")
	w.triaged(undone, 1, lifecycle.OutcomeDiscarded)
	w.triaged(undone, 2, "")
	for k, task := range decided {
		w.triaged(k, 1, lifecycle.Outcome(task))
	}
	cutoff := w.now.Add(time.Hour)
	for k, until := range map[lifecycle.MessageKey]lifecycle.Micros{later: cutoff + 1, over: cutoff - 1, person: 0} {
		w.triaged(k, 1, lifecycle.OutcomeDeferred)
		w.events[len(w.events)-1].Detail.Until = until
	}
	body := lifecycle.Payload{Message: open, At: w.events[0].At, Body: []byte("x"), Size: 1}
	mustStore(t, s, lifecycle.Batch{Events: w.events, Payloads: []lifecycle.Payload{body}})
	if n, err := s.Retain(t.Context(), cutoff, cutoff); err != nil || n != int64(len(decided)) {
		t.Errorf("retain: %d tasks deleted, %v; want %d", n, err, len(decided))
	}
	after := expectedOf(slices.DeleteFunc(slices.Clone(w.events), func(e lifecycle.Event) bool { return decided[e.Message] != "" }))
	after.checkTasks(t, s)
	after.checkEntries(t, s)
	for k, task := range decided {
		checkGone(t, s, task, k)
	}
	if _, err := s.Payload(t.Context(), open); err != nil {
		t.Errorf("payload of a dead letter that nobody decided about: %v", err)
	}
	w.triaged(open, 1, lifecycle.OutcomeDiscarded)
	mustAppend(t, s, w.events[len(w.events)-1:])
	if n, err := s.Retain(t.Context(), cutoff, cutoff); err != nil || n != 1 {
		t.Errorf("retain after a decision: %d tasks deleted, %v; want 1", n, err)
	}
	checkGone(t, s, "nobody decided", open)
}

func keepRetainsRest(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	now := w.now
	cutoff := now.Add(-7 * 24 * time.Hour)
	w.wait(-3 * 24 * time.Hour)
	w.acked(w.published("three days ago", "cto", 0), 1)
	w.wait(2 * 24 * time.Hour)
	w.acked(w.published("yesterday", "cto", 0), 1)
	old := now.Add(-lifecycle.GapsKept)
	newGap := lifecycle.Gap{Source: "a", From: old - 50, To: old + 1} // Before the cutoff: statistics and open tasks need it.
	openGap := lifecycle.Gap{Source: "b", From: old - 60}
	newLine := lifecycle.QuarantinedLine{ID: 1, At: cutoff + 1, Reason: "new"}
	mustStore(t, s, lifecycle.Batch{
		Events:      w.events,
		Gaps:        []lifecycle.Gap{newGap, openGap, {Source: "c", From: old - 9, To: old - 5}},
		Quarantined: []lifecycle.QuarantinedLine{newLine, {ID: 2, At: cutoff - 1, Reason: "old"}},
	})
	if n, err := s.Retain(t.Context(), cutoff, now); err != nil || n != 0 {
		t.Errorf("retain: %d tasks deleted, %v; want none", n, err)
	}
	gaps, err := s.Gaps(t.Context(), 0, math.MaxInt64, 10)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "gaps", gaps, []lifecycle.Gap{newGap, openGap})
	lines, n, err := s.Quarantine(t.Context(), 10)
	if err != nil || n != 1 {
		t.Errorf("quarantined lines: %d, %v; want 1", n, err)
	}
	diff(t, "quarantined lines", lines, []lifecycle.QuarantinedLine{newLine})
	want := lifecycle.Tally{}
	for cell, count := range expectedOf(w.events).tally {
		if !cell.Metric.Minute() || cell.Bucket >= now.Add(-48*time.Hour) {
			want[cell] = count
		}
	}
	got, err := s.Rollups(t.Context(), lifecycle.Metrics(), 0, math.MaxInt64, true)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "rollups", got, want)
}

func keepRebuilds(t *testing.T, s Store) {
	events := everyScenario()
	for batch := range slices.Chunk(backwards(slices.Clone(events)), 5) {
		mustAppend(t, s, batch)
	}
	kept := lifecycle.Batch{
		Payloads:   []lifecycle.Payload{{Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "plain"}, Seq: 1}, Body: []byte("x"), Size: 1, At: 5}},
		Watermarks: map[string]string{"kv": "9"},
	}
	mustStore(t, s, kept)
	n, err := s.Rebuild(t.Context())
	if err != nil || n != int64(len(events)) {
		t.Errorf("rebuild: %d events, %v; want %d", n, err, len(events))
	}
	expectedOf(events).check(t, s)
	if _, err := s.Payload(t.Context(), kept.Payloads[0].Message); err != nil {
		t.Errorf("payload after a rebuild: %v", err)
	}
	if got := mustAppend(t, s, events).New; got != 0 {
		t.Errorf("events known before the rebuild: %d are new again, want 0", got)
	}
	more := newEventScript("after")
	more.acked(more.published("after", "cto", 0), 1)
	mustAppend(t, s, more.events)
	expectedOf(slices.Concat(events, more.events)).check(t, s)
}
