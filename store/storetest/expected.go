package storetest

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"fleetglass/lifecycle"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// expected is what a store must answer after it was given a set of events.
type expected struct {
	messages map[lifecycle.MessageKey]lifecycle.MessageRow
	tasks    map[string]lifecycle.TaskRow
	events   map[string][]lifecycle.Event // By task, ordered by time and id.
	tally    lifecycle.Tally
}

type eventKey struct {
	task string
	at   lifecycle.Micros
	id   lifecycle.EventID
}

// expectedOf folds all events as one batch, in memory.
func expectedOf(events []lifecycle.Event) expected {
	w := expected{
		messages: map[lifecycle.MessageKey]lifecycle.MessageRow{}, tasks: map[string]lifecycle.TaskRow{}, events: map[string][]lifecycle.Event{},
	}
	events = slices.Clone(events)
	fold := lifecycle.NewFold()
	fold.Assign(events)
	seen := map[eventKey]bool{}
	for _, e := range events {
		if k := (eventKey{e.TaskID, e.At, e.ID}); !seen[k] {
			seen[k] = true
			fold.Add(e)
			w.events[e.TaskID] = append(w.events[e.TaskID], e)
		}
	}
	changes := fold.Changes()
	for _, m := range changes.Messages {
		w.messages[m.Facts.Key] = m
	}
	for _, t := range changes.Tasks {
		w.tasks[t.Facts.ID] = t
	}
	for _, list := range w.events {
		slices.SortFunc(list, func(a, b lifecycle.Event) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	}
	w.tally = changes.Tally
	return w
}

// check compares every answer of the store with what is expected.
func (w expected) check(t *testing.T, s Store) {
	t.Helper()
	w.checkTasks(t, s)
	w.checkMessages(t, s)
	w.checkEntries(t, s)
	w.checkRollups(t, s)
	w.checkList(t, s, lifecycle.Filter{})
	w.checkList(t, s, lifecycle.Filter{Publishers: []string{"ceo"}})
	w.checkCounts(t, s, lifecycle.Filter{})
}

func (w expected) checkTasks(t *testing.T, s Store) {
	t.Helper()
	for id, want := range w.tasks {
		got, err := s.Task(t.Context(), id)
		if err != nil {
			t.Errorf("task %q: %v", id, err)
			continue
		}
		diff(t, "task "+id, got, lifecycle.TaskRecord{Facts: *want.Facts, Summary: want.Summary, Messages: w.messagesOf(id)})
		events, err := s.Events(t.Context(), id, lifecycle.EventPosition{}, math.MaxInt32)
		if err != nil {
			t.Errorf("events of %q: %v", id, err)
		}
		diff(t, "events of "+id, events, w.events[id])
	}
}

// messagesOf returns the messages of a task in generation order, the newest 200.
func (w expected) messagesOf(id string) []lifecycle.MessageFacts {
	var out []lifecycle.MessageFacts
	for _, m := range w.messages {
		if m.TaskID == id {
			out = append(out, *m.Facts)
		}
	}
	slices.SortFunc(out, func(a, b lifecycle.MessageFacts) int {
		return cmp.Or(cmp.Compare(generation(a), generation(b)), cmp.Compare(a.Key.Stream.Epoch, b.Key.Stream.Epoch), a.Key.Compare(b.Key))
	})
	return out[max(0, len(out)-200):]
}

func generation(m lifecycle.MessageFacts) int {
	if m.Stored == nil {
		return 0
	}
	return m.Stored.Generation
}

func (w expected) checkMessages(t *testing.T, s Store) {
	t.Helper()
	for k, m := range w.messages {
		if got, err := s.TaskOf(t.Context(), k); err != nil || got != m.TaskID {
			t.Errorf("task of %v: got %q, %v; want %q", k, got, err, m.TaskID)
		}
		if _, known := w.tasks[k.String()]; !known {
			if _, err := s.Task(t.Context(), k.String()); !errors.Is(err, lifecycle.ErrNotFound) {
				t.Errorf("task %q, made up for a message whose task is known: got %v, want ErrNotFound", k, err)
			}
		}
	}
	open, err := s.OpenMessages(t.Context(), lifecycle.StreamID{}, 0, math.MaxInt32)
	if err != nil {
		t.Errorf("open messages: %v", err)
	}
	diff(t, "open messages", open, w.openMessages())
}

func (w expected) openMessages() []lifecycle.OpenMessage {
	var out []lifecycle.OpenMessage
	for _, k := range slices.SortedFunc(maps.Keys(w.messages), lifecycle.MessageKey.Compare) {
		if m := w.messages[k]; m.Open {
			out = append(out, lifecycle.OpenMessage{Message: *m.Facts, Task: *w.tasks[m.TaskID].Facts})
		}
	}
	return out
}

func (w expected) checkRollups(t *testing.T, s Store) {
	t.Helper()
	got, err := s.Rollups(t.Context(), lifecycle.Metrics(), 0, math.MaxInt64, true)
	if err != nil {
		t.Fatalf("rollups: %v", err)
	}
	diff(t, "rollups by agent", got, w.tally)
	for cell := range w.tally {
		if !slices.Contains(lifecycle.Metrics(), cell.Metric) {
			t.Errorf("metric %s is not among those that the suite asks for", cell.Metric)
		}
	}
	got, err = s.Rollups(t.Context(), lifecycle.Metrics(), 0, math.MaxInt64, false)
	if err != nil {
		t.Fatalf("rollups: %v", err)
	}
	diff(t, "rollups of all agents", got, overAgents(w.tally))
}

func overAgents(t lifecycle.Tally) lifecycle.Tally {
	out := lifecycle.Tally{}
	for c, n := range t {
		c.Agent = ""
		out[c] += n
	}
	return out
}

// diff reports how got differs from want. Nil and empty are the same, and the numbers of changes count on.
func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(lifecycle.TaskChange{}, "Number")); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func mustAppend(t testing.TB, s lifecycle.Appender, events []lifecycle.Event) lifecycle.Appended {
	t.Helper()
	return mustStore(t, s, lifecycle.Batch{Events: slices.Clone(events)})
}

func mustStore(t testing.TB, s lifecycle.Appender, b lifecycle.Batch) lifecycle.Appended {
	t.Helper()
	done, err := s.Append(t.Context(), b)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return done
}
