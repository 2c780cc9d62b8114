package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"fleetglass/lifecycle"
)

var traceTests = []conformanceTest{
	{"what is not there is not found", traceNotFound},
	{"events come in pages", traceEventPages},
	{"events come back whole", traceEventWhole},
	{"the newest messages of a task that was retried without end", traceManyMessages},
	{"payloads", tracePayloads},
	{"a payload of 20 MB", traceLargePayload},
}

func traceNotFound(t *testing.T, s Store) {
	k := lifecycle.MessageKey{Stream: tasksStream, Seq: 1}
	_, task := s.Task(t.Context(), "none")
	_, taskOf := s.TaskOf(t.Context(), k)
	_, event := s.Event(t.Context(), "none", 1)
	_, payload := s.Payload(t.Context(), k)
	for what, err := range map[string]error{"task": task, "task of a message": taskOf, "event": event, "payload": payload} {
		if !errors.Is(err, lifecycle.ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", what, err)
		}
	}
	events, err := s.Events(t.Context(), "none", lifecycle.EventPosition{}, 10)
	if err != nil || len(events) != 0 {
		t.Errorf("events of an unknown task: got %d, %v; want none", len(events), err)
	}
}

// longTask is one task of 40 attempts and n events, some of them at the same instant.
func longTask(n int) *eventScript {
	w := newEventScript("TASKS")
	k := w.published("long", "devops", 0)
	for i := 1; len(w.events) < n; i++ {
		if attempt := 1 + i*40/n; i%(n/40) == 0 {
			w.delivered(k, attempt)
		} else {
			w.said(lifecycle.Heartbeat, k, attempt, lifecycle.Detail{})
		}
		if i%3 == 0 {
			w.events[len(w.events)-1].At = w.events[len(w.events)-2].At
		}
	}
	return w
}

func traceEventPages(t *testing.T, s Store) {
	w := longTask(5000)
	inBatches(t, s, w.events, 1700)
	want := expectedOf(w.events).events["long"]
	var got []lifecycle.Event
	for after := (lifecycle.EventPosition{}); len(got) <= len(want); {
		page, err := s.Events(t.Context(), "long", after, 600)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = lifecycle.EventPosition{At: page[len(page)-1].At, ID: page[len(page)-1].ID}
	}
	diff(t, "events, page by page", got, want)
	if n := expectedOf(w.events).tasks["long"].Summary.Attempt; n != 40 {
		t.Errorf("attempts of the long task: %d, want 40", n)
	}
}

func traceEventWhole(t *testing.T, s Store) {
	e := everyField("whole")
	mustAppend(t, s, []lifecycle.Event{e})
	got, err := s.Event(t.Context(), "whole", e.ID)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "event with every field set", got, e)
	if _, err := s.Event(t.Context(), "whole", e.ID+1); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("another event: got %v, want ErrNotFound", err)
	}
}

func traceManyMessages(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	for i := range 230 {
		w.published("again", "cto", i)
	}
	mustAppend(t, s, w.events)
	got, err := s.Task(t.Context(), "again")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "the newest 200 messages", got.Messages, expectedOf(w.events).messagesOf("again"))
	if len(got.Messages) != 200 || got.Facts.Messages != 230 {
		t.Errorf("got %d messages of %d, want 200 of 230", len(got.Messages), got.Facts.Messages)
	}
}

func tracePayloads(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	first, second := w.published("p1", "ceo", 0), w.published("p2", "ceo", 0)
	want := lifecycle.Payload{
		Message: first, At: w.events[0].At, Body: []byte{0, 0xff, '<'}, Size: 3,
		Headers: map[string][]string{"X-Task-ID": {"p1"}, "odd \x00\xff": {"", "\xfe", "two"}},
	}
	cut := lifecycle.Payload{Message: second, At: w.events[1].At, Body: []byte("beginning"), Size: math.MaxInt64, Truncated: true}
	for range 2 {
		mustStore(t, s, lifecycle.Batch{Events: w.events, Payloads: []lifecycle.Payload{want, cut}})
	}
	for _, p := range []lifecycle.Payload{want, cut} {
		got, err := s.Payload(t.Context(), p.Message)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, fmt.Sprintf("payload of %v", p.Message), got, p)
	}
}

func traceLargePayload(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	k := w.published("large", "ceo", 0)
	body := bytes.Repeat([]byte("0123456789abcdef\x00\xff\xfe\n"), 1<<20)
	mustStore(t, s, lifecycle.Batch{Events: w.events, Payloads: []lifecycle.Payload{{Message: k, At: w.now, Body: body, Size: int64(len(body))}}})
	got, err := s.Payload(t.Context(), k)
	if err != nil || !bytes.Equal(got.Body, body) {
		t.Errorf("a body of %d bytes came back with %d bytes, %v", len(body), len(got.Body), err)
	}
	if got.Size != int64(len(body)) {
		t.Errorf("size: got %d, want %d", got.Size, len(body))
	}
}
