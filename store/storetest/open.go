package storetest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"fleetglass/lifecycle"
)

var openTests = []conformanceTest{
	{"open messages of a stream", openOfStream},
	{"messages in a range of sequences", openRange},
	{"sequences of all sizes", openSequences},
	{"tasks of which only publish attempts are known", openUnlisted},
}

func openOfStream(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	for i := range 12 {
		k := w.published(fmt.Sprintf("t%d", i), "cto", 0)
		if i%4 == 0 {
			w.acked(k, 1)
		}
	}
	other := newEventScript("OTHER")
	other.stream.Domain = "hub"
	other.published("elsewhere", "cto", 0)
	events := slices.Concat(w.events, other.events)
	mustAppend(t, s, events)
	all := expectedOf(events).openMessages()
	if got, want := len(all), 10; got != want {
		t.Fatalf("open messages: %d, want %d", got, want)
	}
	for _, c := range []struct {
		stream lifecycle.StreamID
		from   uint64
		limit  int
		want   []lifecycle.OpenMessage
	}{
		{lifecycle.StreamID{}, 0, 100, all},
		{lifecycle.StreamID{}, 5, 4, all[:4]},
		{w.stream, 0, 100, all[:9]},
		{w.stream, 0, 3, all[:3]},
		{w.stream, all[2].Message.Key.Seq, 2, all[2:4]},
		{w.stream, all[2].Message.Key.Seq + 1, 1, all[3:4]},
		{other.stream, 1, 5, all[9:]},
		{lifecycle.StreamID{Name: "OTHER"}, 0, 5, nil}, // Another domain.
	} {
		got, err := s.OpenMessages(t.Context(), c.stream, c.from, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, fmt.Sprintf("open messages of %q from %d, at most %d", c.stream, c.from, c.limit), got, c.want)
	}
}

func openRange(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	for i := range 9 {
		w.acked(w.published(fmt.Sprintf("t%d", i), "cto", 0), 1)
	}
	mustAppend(t, s, w.events)
	all := expectedOf(w.events)
	for _, c := range [][3]uint64{{0, math.MaxUint64, 100}, {1, 9, 100}, {3, 5, 100}, {3, 5, 2}, {9, 9, 1}, {10, 20, 5}, {5, 3, 5}} {
		got, err := s.MessagesIn(t.Context(), w.stream, c[0], c[1], int(c[2]))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, fmt.Sprintf("messages %v", c), got, all.messagesIn(c[0], c[1], int(c[2])))
	}
}

func (w expected) messagesIn(from, to uint64, limit int) []lifecycle.MessageFacts {
	var out []lifecycle.MessageFacts
	for _, k := range slices.SortedFunc(maps.Keys(w.messages), lifecycle.MessageKey.Compare) {
		if k.Seq >= from && k.Seq <= to && len(out) < limit {
			out = append(out, *w.messages[k].Facts)
		}
	}
	return out
}

// openSequences uses sequences that no float and no signed integer holds.
func openSequences(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	for _, seq := range []uint64{1, 1<<53 - 1, 1<<53 + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64 - 1} {
		w.seq = seq
		k := w.published(fmt.Sprintf("t%d", seq), "cto", 0)
		e := w.said(lifecycle.Heartbeat, k, 1, lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseVersion: math.MaxUint64}})
		w.events[len(w.events)-1].ConsumerSeq, w.events[len(w.events)-1].SourceSeq = math.MaxUint64-seq, math.MaxUint64-e.SourceSeq
	}
	mustAppend(t, s, w.events)
	all := expectedOf(w.events)
	all.check(t, s)
	for _, c := range [][2]uint64{{0, math.MaxUint64}, {2, math.MaxInt64 + 1}, {math.MaxInt64 + 1, math.MaxUint64}, {math.MaxUint64, math.MaxUint64}} {
		got, err := s.MessagesIn(t.Context(), w.stream, c[0], c[1], 100)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, fmt.Sprintf("messages %v", c), got, all.messagesIn(c[0], c[1], 100))
		open, err := s.OpenMessages(t.Context(), w.stream, c[0], 100)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(all.messagesIn(c[0], math.MaxUint64, 100)); len(open) != want {
			t.Errorf("open messages from %d: got %d, want %d", c[0], len(open), want)
		}
	}
}

func openUnlisted(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	first := w.tried("first", "cto", "first")
	w.tried("second", "cto", "second")
	again := w.tried("first", "cto", "first")
	w.tried("stored", "cto", "stored")
	w.published("stored", "cto", 0)
	w.recorded("recorded", "cto")
	w.reported(lifecycle.ReportCompleted, "reported", "cto", 1, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "reported"}})
	third := w.tried("third", "cto", "third")
	nameless := w.tried("nameless", "cto", "") // Publishers need not set a message id.
	w.tried("worked on", "cto", "worked on")   // Its message was stored, and every line that says so was lost.
	worked := w.reported(lifecycle.ReportClaimed, "worked on", "cto", 1, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "worked on"}})
	mustAppend(t, s, w.events)
	for _, c := range []struct {
		before lifecycle.Micros
		limit  int
		want   []string
	}{
		{first.At + 1, 10, nil},
		{again.At, 10, []string{"second"}},
		{again.At + 1, 10, []string{"second", "first"}},
		{third.At + 1, 10, []string{"second", "first", "third"}},
		{third.At + 1, 1, []string{"second"}},
		{nameless.At + 1, 10, []string{"second", "first", "third", "nameless"}},
		{worked.At + 1, 10, []string{"second", "first", "third", "nameless", "worked on"}},
	} {
		got, err := s.UnlistedTasks(t.Context(), c.before, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var want []lifecycle.TaskFacts
		for _, id := range c.want {
			want = append(want, *expectedOf(w.events).tasks[id].Facts)
		}
		diff(t, fmt.Sprintf("unlisted before %d, at most %d, oldest first", c.before, c.limit), got, want)
	}
	w.tell(lifecycle.Event{Kind: lifecycle.NotStored, Provenance: lifecycle.Inferred, TaskID: "second"})
	mustAppend(t, s, w.events)
	got, err := s.UnlistedTasks(t.Context(), third.At, 10)
	if err != nil || len(got) != 1 || got[0].ID != "first" {
		t.Errorf("unlisted after one was judged: got %+v, %v; want first", got, err)
	}
}
