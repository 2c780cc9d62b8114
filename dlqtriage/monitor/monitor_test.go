package monitor_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/dlqtriage/monitor"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func TestADeadMessageOfEachPathHasOneEntryWithAllThatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(1, nil)
	for _, tc := range []struct {
		id   string
		how  death
		want map[string]string
	}{
		{"used-up", exhausted, map[string]string{"X-DLQ-Path": "max_deliveries", "X-DLQ-Category": "unclassified", "X-DLQ-Deliveries": "3",
			"X-DLQ-Reason": "maximum deliveries reached: it was delivered 3 times"}},
		{"given-up", terminated("authority_exceeded: spending $4,200\nneeds an approval"), map[string]string{"X-DLQ-Path": "terminated", "X-DLQ-Category": "permanent",
			"X-DLQ-Detail": "authority_exceeded", "X-DLQ-Reason": "authority_exceeded: spending $4,200 ⏎ needs an approval"}},
		{"too-large", terminated("context_window_overflow: 212431 tokens > 180000"), map[string]string{"X-DLQ-Path": "context_overflow",
			"X-DLQ-Category": "conditionally_recoverable", "X-DLQ-Detail": "context_window_overflow"}},
		{"nobody", orphaned, map[string]string{"X-DLQ-Path": "filter_rejected", "X-DLQ-Category": "unclassified"}},
	} {
		seq := w.dies("cto", tc.id, tc.how)
		r := w.buried(tc.id)
		found := w.entries()[fmt.Sprint(seq)]
		if len(found) != 1 {
			t.Fatalf("%s: %d entries, want one", tc.id, len(found))
		}
		m, got := found[0], map[string]string{}
		for name := range tc.want {
			got[name] = m.Header.Get(name)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.id, d)
		}
		if m.Subject != "genbrain.dlq.cto."+tc.want["X-DLQ-Category"] || string(m.Data) != `{"taskId":"`+tc.id+`"}` || m.Header.Get("X-Task-ID") != tc.id {
			t.Errorf("%s: the entry is %s %s with the headers %v", tc.id, m.Subject, m.Data, m.Header)
		}
		if m.Header.Get("Nats-Msg-Id") != fmt.Sprint("dlq:TASKS:", seq) || m.Header.Get("X-DLQ-Msg-Id") != tc.id {
			t.Errorf("%s: the ids are %v", tc.id, m.Header)
		}
		if r.Summary.Category != tc.want["X-DLQ-Category"] {
			t.Errorf("%s: category %q, want %q", tc.id, r.Summary.Category, tc.want["X-DLQ-Category"])
		}
	}
	testkit.Eventually(t, patience, func() error {
		if n := w.left(); n > 0 {
			return fmt.Errorf("%d messages are left among the tasks", n)
		}
		return nil
	})
}

func TestTwoMonitorsWriteEachEntryOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 12
	for i := range n {
		w.dies("cto", fmt.Sprint("task-", i), exhausted)
	}
	w.run(2, nil)
	for i := range n {
		w.buried(fmt.Sprint("task-", i))
	}
	all := w.entries()
	for seq, found := range all {
		if len(found) != 1 {
			t.Errorf("message %s has %d entries", seq, len(found))
		}
	}
	if len(all) != n {
		t.Errorf("%d messages have an entry, want %d", len(all), n)
	}
}

// foreign writes the entry of another monitor, under an id of its own: the broker does not catch a second one.
func (w *world) foreign(seq uint64) {
	m := nats.NewMsg("genbrain.dlq.cto.transient")
	m.Header = nats.Header{"X-DLQ-Stream": {"TASKS"}, "X-DLQ-Seq": {fmt.Sprint(seq)}, "X-DLQ-Reason": {"theirs"}}
	if _, err := w.js.PublishMsg(w.t.Context(), m); err != nil {
		w.t.Error(err)
	}
}

func TestAnEntryOfAnotherMonitorIsFoundHoweverOldItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seq := w.dies("cto", "theirs", exhausted)
	w.foreign(seq)
	other := w.dies("cto", "ours", exhausted)
	w.run(1, nil)
	w.buried("ours")
	r := w.buried("theirs")
	all := w.entries()
	if len(all[fmt.Sprint(seq)]) != 1 || len(all[fmt.Sprint(other)]) != 1 || r.Messages[0].Dead.Reason != "theirs" {
		t.Errorf("entries: %d of theirs, %d of ours", len(all[fmt.Sprint(seq)]), len(all[fmt.Sprint(other)]))
	}
}

func TestAnEntryThatAnotherMonitorWritesAtTheLastMomentPreventsOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seq := w.dies("cto", "race", exhausted)
	w.run(1, func(cfg *monitor.Config) {
		once := sync.OnceFunc(func() { w.foreign(seq) })
		cfg.Step = func(step string) {
			if step == "before publish" { // It has looked, and there was none.
				once()
			}
		}
	})
	w.buried("race")
	testkit.Eventually(t, patience, func() error {
		if n := w.left(); n > 0 {
			return fmt.Errorf("%d messages are left among the tasks", n)
		}
		return nil
	})
	if found := w.entries()[fmt.Sprint(seq)]; len(found) != 1 || found[0].Header.Get("X-DLQ-Reason") != "theirs" {
		t.Errorf("%d entries", len(found))
	}
}

func TestNothingIsDeletedWhileNoEntryIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.js.DeleteStream(t.Context(), "DLQ"); err != nil {
		t.Fatal(err)
	}
	w.dies("cto", "kept", exhausted)
	var tries sync.Map
	w.run(1, func(cfg *monitor.Config) { cfg.Step = func(step string) { tries.Store(step, true) } })
	testkit.Eventually(t, patience, func() error {
		if _, tried := tries.Load("after give back"); !tried {
			return fmt.Errorf("it was not tried")
		}
		return nil
	})
	if n := w.left(); n != 1 {
		t.Errorf("%d messages are left among the tasks, want the one", n)
	}
	if _, err := w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "DLQ", Subjects: []string{"genbrain.dlq.>"}}); err != nil {
		t.Fatal(err)
	}
	w.buried("kept")
}

// leaves publishes a message that leaves its stream. The store does not know it.
func (w *world) leaves() lifecycle.MessageKey {
	w.t.Helper()
	ack, err := w.js.Publish(w.t.Context(), contract.TaskSubject("cto", "code_review"), []byte("{}"))
	if err != nil {
		w.t.Fatal(err)
	}
	tasks, err := w.js.Stream(w.t.Context(), "TASKS")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := tasks.DeleteMsg(w.t.Context(), ack.Sequence); err != nil {
		w.t.Fatal(err)
	}
	return lifecycle.MessageKey{Stream: contract.StreamID("TASKS"), Seq: ack.Sequence}
}

func TestABodyThatNobodyHasIsSaidToBeMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.leaves()
	died := lifecycle.Event{ID: 1, Kind: lifecycle.Terminated, Provenance: lifecycle.Observed, At: lifecycle.MicrosOf(time.Now().Add(-time.Second)), Message: key, Agent: "cto",
		Consumer: "cto-task-worker", Attempt: 1}
	w.append(lifecycle.Batch{Events: []lifecycle.Event{died}})
	w.run(1, nil)
	w.buried(key.String())
	found := w.entries()[fmt.Sprint(key.Seq)]
	if len(found) != 1 || len(found[0].Data) > 0 || !strings.Contains(found[0].Header.Get("X-DLQ-Why-Missing"), "not captured") {
		t.Errorf("%d entries of it, want one that says why its body is missing", len(found))
	}
}

// TestAPublishLineThatIsReadLateIsWaitedFor has a worker terminate a message, and its publish line be read after the line of that.
func TestAPublishLineThatIsReadLateIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var read atomic.Bool
	asked := make(chan struct{}, 100)
	w.run(1, func(cfg *monitor.Config) {
		cfg.PublishesRead = func(string) lifecycle.Micros {
			select {
			case asked <- struct{}{}:
			default:
			}
			if read.Load() {
				return math.MaxInt64
			}
			return 0
		}
	})
	key := w.leaves()
	at := lifecycle.MicrosOf(time.Now().Add(-time.Hour)) // Long ago: Fleetglass was away.
	died := lifecycle.Event{ID: 1, Kind: lifecycle.Terminated, Provenance: lifecycle.Observed, At: at, Message: key, Agent: "cto", Consumer: "cto-task-worker", Attempt: 1}
	w.append(lifecycle.Batch{Events: []lifecycle.Event{died}})
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("nobody asked whether its publish line is read")
	}
	stored := lifecycle.Event{ID: 2, Kind: lifecycle.Published, Provenance: lifecycle.Observed, At: at - 1000, TaskID: "late", Message: key, Agent: "cto"}
	stored.Detail.Subject, stored.Detail.MsgID = contract.TaskSubject("cto", "code_review"), "late"
	w.append(lifecycle.Batch{Events: []lifecycle.Event{stored}, Payloads: []lifecycle.Payload{{
		Message: key, Headers: map[string][]string{"X-Task-ID": {"late"}}, Body: []byte("body"), Size: 4, At: stored.At,
	}}})
	read.Store(true)
	w.buried("late")
	found := w.entries()[fmt.Sprint(key.Seq)]
	if len(found) != 1 || string(found[0].Data) != "body" || found[0].Header.Get("X-Task-ID") != "late" {
		t.Errorf("the entries of it are %+v, want one with its task and body", found)
	}
}

func TestAMessageOfWhichTheSequenceIsAnotherOneNowIsNotDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seq := w.dies("cto", "was", exhausted)
	old := lifecycle.MessageKey{Stream: contract.StreamID("TASKS"), Seq: seq}
	if err := w.js.DeleteStream(t.Context(), "TASKS"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TASKS", Subjects: []string{contract.TaskSubjects()}, Retention: jetstream.WorkQueuePolicy}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.js.Publish(t.Context(), contract.TaskSubject("cto", "code_review"), []byte("another")); err != nil {
		t.Fatal(err)
	}
	vanished := lifecycle.Event{ID: 5, Kind: lifecycle.Vanished, At: lifecycle.MicrosOf(time.Now()), Message: old, Provenance: lifecycle.Inferred}
	vanished.Detail.Removal = lifecycle.RemovedWithStream
	if _, err := w.store.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{vanished}}); err != nil {
		t.Fatal(err)
	}
	w.run(1, nil)
	w.buried("was")
	if found := w.entries()[fmt.Sprint(seq)]; len(found) != 1 || string(found[0].Data) != `{"taskId":"was"}` || w.left() != 1 {
		t.Errorf("%d entries, %d messages are left; want the body as captured and the other message untouched", len(found), w.left())
	}
}

func TestHeadersThatSpeakToTheBrokerAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dies("cto", "plain", exhausted)
	w.run(1, nil)
	w.buried("plain")
	for _, found := range w.entries() {
		for name, values := range found[0].Header { // The broker adds some to what is read, which say where it was read.
			if strings.HasPrefix(name, "Nats-") && (len(values) != 1 || strings.Contains(values[0], "TASKS") != (name == "Nats-Msg-Id")) {
				t.Errorf("the entry has the header %s: %v", name, values)
			}
		}
	}
}

// TestAMessageThatTheQueueDoesNotTakeWholeKeepsItsBodyWhereItIs holds for a message that is as large as the broker takes, and so larger with the
// headers of its entry: it has an entry that says so, and stays in its stream.
func TestAMessageThatTheQueueDoesNotTakeWholeKeepsItsBodyWhereItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large := `{"film":"` + strings.Repeat("frame ", int(w.js.Conn().MaxPayload()-200)/6) + `"}`
	seq, err := diesWith(t.Context(), w.js, w.store, "cto", "film", large, exhausted)
	if err != nil {
		t.Fatal(err)
	}
	small := w.dies("cto", "word", exhausted)
	w.run(1, nil)
	w.buried("film")
	w.buried("word")
	found := w.entries()
	if entries := found[fmt.Sprint(seq)]; len(entries) != 1 || len(entries[0].Data) > 0 || !strings.Contains(entries[0].Header.Get("X-DLQ-Why-Missing"), "larger than the queue takes") {
		t.Fatalf("%d entries, %v", len(entries), entries)
	}
	if entries := found[fmt.Sprint(small)]; len(entries) != 1 || len(entries[0].Data) == 0 {
		t.Errorf("the next message has the entries %v", entries)
	}
	tasks, err := w.js.Stream(t.Context(), "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		if n := w.left(); n != 1 {
			return fmt.Errorf("%d messages are left among the tasks, want the large one", n)
		}
		return nil
	})
	if raw, err := tasks.GetMsg(t.Context(), seq); err != nil || string(raw.Data) != large {
		t.Errorf("the large message is not in its stream any more: %v", err)
	}
}
