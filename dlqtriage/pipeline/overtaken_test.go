package pipeline

import (
	"strings"
	"testing"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// learns stores one more event about the message of an entry, or about its task.
func (w *world) learns(entry string, kind lifecycle.Kind, edit func(*lifecycle.Event)) {
	w.t.Helper()
	key, err := dlqtriage.ParseEntryID(entry)
	if err != nil {
		w.t.Fatal(err)
	}
	e := lifecycle.Event{At: lifecycle.MicrosOf(time.Now()), Kind: kind, Provenance: lifecycle.Observed, Source: "test", Message: key}
	if edit != nil {
		edit(&e)
	}
	e.ID = lifecycle.NewEventID("test", string(kind), e.Message.String(), e.TaskID)
	b := lifecycle.Batch{Events: []lifecycle.Event{e}}
	if kind == lifecycle.Published {
		b.Payloads = []lifecycle.Payload{{Message: e.Message, Body: []byte(`{}`), Size: 2, At: e.At}}
	}
	if _, err := w.store.Append(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
}

// exhausted stores a message whose attempts are used up, and returns the id of its entry.
func (w *world) exhausted(task string) string {
	w.t.Helper()
	w.seq++
	entry := dlqtriage.EntryID(lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 100_000 + w.seq})
	w.learns(entry, lifecycle.Published, func(e *lifecycle.Event) {
		e.TaskID, e.Agent = task, "cto"
		e.Detail.MsgID, e.Detail.Subject, e.Detail.Type, e.Detail.IdempotencyKey = task, "genbrain.agents.cto.tasks.review", "review", task+"-1"
	})
	w.learns(entry, lifecycle.MaxDeliveries, func(e *lifecycle.Event) { e.Consumer, e.Attempt = "cto-task-worker", 3 })
	return entry
}

// What becomes known while a retry waits for its time.
var meanwhile = []struct {
	name  string
	comes func(w *world, entry string)
	why   string // Why nothing is published; empty where it is.
	force bool
}{
	{name: "nothing", comes: func(*world, string) {}},
	{name: "a record of its key", why: "Its work is done", comes: recorded},
	{name: "a record of its key, and the retry is forced for another cause", why: "Its work is done", force: true, comes: recorded},
	{name: "an acknowledgement by the worker that was thought dead", why: "Its message is no longer dead: its task is completed.", comes: func(w *world, entry string) {
		w.learns(entry, lifecycle.Acked, func(e *lifecycle.Event) { e.Consumer, e.ConsumerSeq, e.Attempt = "cto-task-worker", 9, 3 })
	}},
	{name: "a step that the worker began", why: "never said that it was done", comes: func(w *world, entry string) {
		w.learns(entry, lifecycle.ReportStepIntent, func(e *lifecycle.Event) {
			e.Message, e.TaskID, e.Agent, e.Provenance = lifecycle.MessageKey{}, "t1", "cto", lifecycle.Reported
			e.Detail.StepID, e.Detail.StepClass, e.Detail.Tool = "s1", "effect", "charge"
		})
	}},
	{name: "a record that was deleted before it was read", why: "was not read before", comes: func(w *world, entry string) {
		w.learns(entry, lifecycle.RecordDeleted, func(e *lifecycle.Event) {
			e.Message, e.TaskID, e.Provenance, e.Detail.IdempotencyKey = lifecycle.MessageKey{}, "t1", lifecycle.Recorded, "t1-1"
		})
	}},
	{name: "a completion of a message that is not named, while a publish line is lost", why: "nothing tells which one", comes: func(w *world, entry string) {
		for _, kind := range []lifecycle.Kind{lifecycle.Unbound, lifecycle.ReportCompleted} {
			w.learns(entry, kind, func(e *lifecycle.Event) {
				e.Message, e.TaskID, e.Agent, e.Provenance = lifecycle.MessageKey{}, "t1", "cto", lifecycle.Reported
			})
		}
	}},
	{name: "an older message of the same work is at work", why: "is not over", comes: older(lifecycle.Heartbeat, "t1-1")},
	{name: "an older message of the same work is acknowledged", why: "work is done", comes: older(lifecycle.Acked, "t1-1")},
	{name: "an older message of other work is at work", comes: older(lifecycle.Heartbeat, "t1-0")},
	{name: "a newer message of the task", why: "The task has a newer message", comes: func(w *world, entry string) {
		w.learns(entry, lifecycle.Published, func(e *lifecycle.Event) {
			e.Message.Seq, e.TaskID, e.Agent = e.Message.Seq+10, "t1", "cto"
			e.Detail.MsgID, e.Detail.Subject, e.Detail.Type = "t1:by-hand", "genbrain.agents.cto.tasks.review", "review"
		})
	}},
}

// older tells of an older message of the same work, and what its worker does.
func older(kind lifecycle.Kind, key string) func(w *world, entry string) {
	return func(w *world, entry string) {
		w.learns(entry, lifecycle.Published, func(e *lifecycle.Event) {
			e.Message.Seq, e.TaskID, e.Agent = e.Message.Seq-10, "t1", "cto"
			e.Detail.MsgID, e.Detail.Subject, e.Detail.Type, e.Detail.IdempotencyKey = "t1:older", "genbrain.agents.cto.tasks.review", "review", key
		})
		w.learns(entry, kind, func(e *lifecycle.Event) {
			e.Message.Seq, e.Consumer, e.ConsumerSeq, e.Attempt = e.Message.Seq-10, "cto-task-worker", 8, 1
		})
	}
}

func recorded(w *world, entry string) {
	w.learns(entry, lifecycle.CompletionRecorded, func(e *lifecycle.Event) {
		e.Message, e.TaskID, e.Agent, e.Provenance, e.Detail.IdempotencyKey = lifecycle.MessageKey{}, "t1", "cto", lifecycle.Recorded, "t1-1"
	})
}

func TestARetryThatIsDueIsLookedAtOnceMore(t *testing.T) {
	t.Parallel()
	for _, tc := range meanwhile {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, broker(t), temporary(t), nil)
			entry := w.exhausted("t1")
			r := retryOf(entry, "k1")
			if tc.force {
				r.Params.Force, r.Params.ForceReason = true, "whatever its class"
			}
			a := w.act(r)
			tc.comes(w, entry)
			w.runs()
			w.overtaken(w.ended(a.ID), tc.why)
		})
	}
}

// Who knew of the completion when he asked for a retry gets it.
func TestARetryInSpiteOfACompletionIsPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	entry := w.exhausted("t1")
	recorded(w, entry)
	r := retryOf(entry, "k1")
	r.Params.Force, r.Params.ForceReason = true, "the record is wrong"
	a := w.act(r)
	w.runs()
	w.overtaken(w.ended(a.ID), "")
}

// A sender that died may have published: what was completed since may be the work of that retry. That the stream would refuse a repetition says nothing then.
func TestARetryThatMayHaveBeenPublishedIsNotCalledUnpublished(t *testing.T) {
	t.Parallel()
	w, a := claimed(t, true, time.Minute)
	recorded(w, a.Entry)
	w.waitsForReading(a)
	w.saw(a, 1)
	if got := w.ended(a.ID); got.Status != dlqtriage.ActionSucceeded || got.Sent == nil || got.Sent.Seq != 1 {
		t.Errorf("action %+v; want that it sent message 1", got.Progress)
	}
}

// overtaken holds an action to be given up for that cause, or to have published where there is none.
func (w *world) overtaken(a dlqtriage.Action, why string) {
	w.t.Helper()
	sent := len(w.sent("t1"))
	if why == "" {
		if sent != 1 || a.Status != dlqtriage.ActionSucceeded {
			w.t.Errorf("%d messages were published, and the action is %+v", sent, a.Progress)
		}
		return
	}
	if sent != 0 || a.Status != dlqtriage.ActionFailed || !strings.Contains(a.Why, why) || !strings.HasSuffix(a.Why, "so nothing was published.") {
		w.t.Errorf("%d messages were published, and the action is %s: %q; want %q", sent, a.Status, a.Why, why)
	}
	if audit := w.audited(a.ID); audit != 2 {
		w.t.Errorf("%d audit records, want that of the decision and that of its end", audit)
	}
}
