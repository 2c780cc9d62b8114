package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
)

var appendTests = []conformanceTest{
	{"an empty batch changes nothing", appendNothing},
	{"a batch stored twice changes nothing the second time", appendTwice},
	{"a batch says which tasks changed", appendSaysWhatChanged},
	{"a placeholder task disappears when the publish line comes", appendMovesPlaceholder},
	{"a message goes to the task that its stream says", appendMovesToWhatTheStreamSays},
	{"reports and records may come before the message", appendReportsFirst},
	{"duplicate publishes are counted", appendCountsDuplicates},
	{"records and what they cost in time are counted", appendCountsProtection},
	{"new streams are met while others read", appendNewStreams},
	{"a cancelled append stores nothing", appendCancelled},
	{"a closed store says so", appendClosed},
}

func appendNothing(t *testing.T, s Store) {
	done := mustStore(t, s, lifecycle.Batch{})
	diff(t, "appended", done, lifecycle.Appended{})
	expectedOf(nil).check(t, s)
}

func appendTwice(t *testing.T, s Store) {
	events := everyScenario()
	if got := mustAppend(t, s, events).New; got != len(events) {
		t.Errorf("new events: got %d, want %d", got, len(events))
	}
	again := mustAppend(t, s, events)
	diff(t, "appended the second time", again, lifecycle.Appended{})
	if got := mustAppend(t, s, slices.Concat(events[:7], events[:7])).New; got != 0 {
		t.Errorf("new events of a batch with known events, each twice: got %d, want 0", got)
	}
	expectedOf(events).check(t, s)
}

func appendSaysWhatChanged(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.published("b", "cto", 0)
	w.published("a", "ceo", 0)
	published := len(w.events)
	diff(t, "changed by publishing", mustAppend(t, s, w.events), lifecycle.Appended{New: 2, Changed: []lifecycle.TaskChange{
		{TaskID: "a", State: lifecycle.StatePublished, Agent: "ceo", At: w.events[1].At},
		{TaskID: "b", State: lifecycle.StatePublished, Agent: "cto", At: w.events[0].At},
	}})
	acked := w.acked(k, 1)
	before := lifecycle.NextChange()
	done := mustAppend(t, s, w.events[published-1:])
	diff(t, "changed by an ack", done, lifecycle.Appended{New: 1, Changed: []lifecycle.TaskChange{
		{TaskID: "b", State: lifecycle.StateCompleted, Agent: "cto", At: acked.At},
	}})
	if n := done.Changed[0].Number; n <= before {
		t.Errorf("the change has number %d, and one before it %d", n, before)
	}
}

func appendMovesPlaceholder(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.published("late", "cto", 0)
	w.delivered(k, 1)
	w.said(lifecycle.Heartbeat, k, 1, lifecycle.Detail{})
	w.acked(k, 1)
	mustAppend(t, s, w.events[1:])
	expectedOf(w.events[1:]).check(t, s)
	if _, err := s.Task(t.Context(), k.String()); err != nil {
		t.Errorf("task %q while the publish line is not known: %v", k, err)
	}
	mustAppend(t, s, w.events[:1])
	expectedOf(w.events).check(t, s)
	if got, err := s.Events(t.Context(), k.String(), lifecycle.EventPosition{}, 10); err != nil || len(got) != 0 {
		t.Errorf("events of the placeholder: got %d, %v; want none", len(got), err)
	}
	if got := mustAppend(t, s, w.events).New; got != 0 {
		t.Errorf("events that moved: %d are new again, want 0", got)
	}
}

// appendMovesToWhatTheStreamSays has a publish line that somebody sent before the message was stored.
func appendMovesToWhatTheStreamSays(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.published("forged", "cto", 0)
	w.delivered(k, 1)
	w.published("other", "cto", 0)
	read := w.events[0]
	read.ID, read.Kind, read.SourceSeq, read.TaskID, read.Detail.MsgID = lifecycle.NewEventID("read"), lifecycle.Repaired, 0, "genuine", "genuine"
	w.events = append(w.events, read)
	for i := range w.events {
		mustAppend(t, s, w.events[i:i+1])
	}
	expectedOf(w.events).check(t, s)
	genuine, err := s.Task(t.Context(), "genuine")
	if err != nil || len(genuine.Messages) != 1 || genuine.Messages[0].Key != k {
		t.Errorf("the task that the stream names: %d messages, %v", len(genuine.Messages), err)
	}
	if _, err := s.Task(t.Context(), "forged"); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("the task that the forged line names: %v, want none", err)
	}
}

func appendReportsFirst(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	w.published("early", "cso", 0)
	w.reported(lifecycle.ReportClaimed, "early", "cso", 1, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "early"}})
	w.recorded("early", "cso")
	ahead := w.events[1:]
	mustAppend(t, s, ahead)
	expectedOf(ahead).check(t, s)
	page, err := s.ListTasks(t.Context(), lifecycle.Filter{}, lifecycle.Page{Limit: 10})
	if err != nil || len(page.Tasks) != 0 {
		t.Errorf("list before the message: got %d tasks, %v; want none", len(page.Tasks), err)
	}
	mustAppend(t, s, w.events[:1])
	expectedOf(w.events).check(t, s)
}

func appendCountsDuplicates(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	w.tried("dup", "ceo", "dup")
	w.published("dup", "ceo", 0)
	w.tried("dup", "ceo", "dup")
	w.tried("dup", "ceo", "dup")
	for i := range w.events {
		mustAppend(t, s, w.events[:i+1])
	}
	got, err := s.Task(t.Context(), "dup")
	if err != nil || got.Summary.Duplicates != 2 {
		t.Errorf("three publishes of one message: %d duplicates, %v; want 2", got.Summary.Duplicates, err)
	}
	tally, err := s.Rollups(t.Context(), []lifecycle.Metric{lifecycle.MetricDuplicates}, 0, math.MaxInt64, false)
	if err != nil {
		t.Fatal(err)
	}
	hour := w.events[0].At.Truncate(3600e9)
	diff(t, "duplicates", tally, lifecycle.Tally{{Metric: lifecycle.MetricDuplicates, Bucket: hour, Label: string(lifecycle.LayerStream)}: 2})
	expectedOf(w.events).check(t, s)
}

func appendCountsProtection(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	w.published("waits", "cso", 0)
	waited := func(kind lifecycle.Kind, n int, d time.Duration) {
		w.reported(kind, "waits", "cso", n, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "waits"}, OutcomeReport: lifecycle.OutcomeReport{RecordsWait: d}})
	}
	waited(lifecycle.ReportCompleted, 1, 3*time.Millisecond)
	w.recorded("waits", "cso")
	waited(lifecycle.ReportCompleted, 1, 5*time.Millisecond) // The longest counts, once.
	waited(lifecycle.ReportDuplicateCaught, 2, 400*time.Microsecond)
	w.recorded("waits", "cso")
	for i := range w.events {
		mustAppend(t, s, w.events[:i+1])
	}
	for _, bounds := range [][]lifecycle.Micros{protectedMonths(w), {w.events[0].At.Truncate(time.Hour), w.now.Add(time.Hour).Truncate(time.Hour)}} {
		cells, err := s.Rollups(t.Context(), duplicates.Metrics(bounds), bounds[0], bounds[len(bounds)-1], false)
		if err != nil {
			t.Fatal(err)
		}
		if row := duplicates.Sum(duplicates.Rows(cells, bounds)); row.Recorded != 2 {
			t.Errorf("two records were stored, counted %d", row.Recorded)
		}
		got := duplicates.RecordWaits(cells)
		if got.Sample != 2 || got.P50 < 400*time.Microsecond || got.P50 > time.Millisecond || got.P95 < 5*time.Millisecond || got.P95 > 6*time.Millisecond {
			t.Errorf("deliveries waited 0.4 and 5 ms, got %+v", got)
		}
	}
	expectedOf(w.events).check(t, s)
}

// protectedMonths are the months of a script, and the beginning of the one after.
func protectedMonths(w *eventScript) []lifecycle.Micros {
	begin := duplicates.PeriodMonth.Start(w.events[0].At.Time())
	bounds := []lifecycle.Micros{lifecycle.MicrosOf(begin)}
	for at := begin; !at.After(w.now.Time()); {
		at = duplicates.PeriodMonth.Shift(at, 1)
		bounds = append(bounds, lifecycle.MicrosOf(at))
	}
	return bounds
}

// appendNewStreams appends messages of ever new streams beside readers who ask for all streams: what a reader learnt late must not
// make the store forget a stream, and with it whose message an event is.
func appendNewStreams(t *testing.T, s Store) {
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.OpenMessages(t.Context(), lifecycle.StreamID{}, 0, 1); err != nil {
					t.Errorf("open messages: %v", err)
					return
				}
			}
		})
	}
	var events []lifecycle.Event
	for i := range 150 {
		w := newEventScript(fmt.Sprintf("TASKS-%d", i))
		w.acked(w.published(fmt.Sprintf("task-%d", i), "cto", 0), 1)
		mustAppend(t, s, w.events)
		events = append(events, w.events...)
	}
	close(done)
	readers.Wait()
	expectedOf(events).check(t, s)
}

func appendCancelled(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	w.published("never", "ceo", 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(ctx, lifecycle.Batch{Events: w.events}); !errors.Is(err, context.Canceled) {
		t.Errorf("append with a cancelled context: got %v, want context.Canceled", err)
	}
	if _, err := s.ListTasks(ctx, lifecycle.Filter{}, lifecycle.Page{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("list with a cancelled context: got %v, want context.Canceled", err)
	}
	expectedOf(nil).check(t, s)
}

func appendClosed(t *testing.T, s Store) {
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	w := newEventScript("TASKS")
	w.published("late", "ceo", 0)
	if _, err := s.Append(t.Context(), lifecycle.Batch{Events: w.events}); !errors.Is(err, lifecycle.ErrClosed) {
		t.Errorf("append to a closed store: got %v, want ErrClosed", err)
	}
	if _, err := s.Task(t.Context(), "late"); !errors.Is(err, lifecycle.ErrClosed) {
		t.Errorf("read from a closed store: got %v, want ErrClosed", err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, lifecycle.ErrClosed) {
		t.Errorf("ping a closed store: got %v, want ErrClosed", err)
	}
}
