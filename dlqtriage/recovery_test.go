package dlqtriage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// history is a task of one or two messages, and what its agents report, in the order in which it happened.
type history struct {
	events []lifecycle.Event
	at     lifecycle.Micros
}

const recoveryTask = "blog-118"

var recoveryStream = lifecycle.StreamID{Name: "TASKS", Epoch: 1}

func newHistory() *history {
	h := &history{at: 1_000_000_000_000_000}
	h.stored(1)
	return h
}

func (h *history) add(e lifecycle.Event) {
	h.at += 1000
	e.ID, e.At, e.TaskID, e.Agent = lifecycle.NewEventID("recovery", fmt.Sprint(len(h.events))), h.at, recoveryTask, "marketing"
	h.events = append(h.events, e)
}

// stored stores the n-th message of the task and delivers it.
func (h *history) stored(n int) { h.storedAs(n, 1) }

// storedAs stores it as a version of the task: versions have idempotency keys of their own, and are other work.
func (h *history) storedAs(n, version int) {
	key := lifecycle.MessageKey{Stream: recoveryStream, Seq: uint64(n)}
	e := lifecycle.Event{Kind: lifecycle.Published, Provenance: lifecycle.Observed, Message: key}
	e.Detail.MsgID, e.Detail.Type, e.Detail.Generation = fmt.Sprint("m", n), "content_creation", n-1
	e.Detail.IdempotencyKey = fmt.Sprint(recoveryTask, "-", version)
	h.add(e)
	h.add(lifecycle.Event{Kind: lifecycle.Delivered, Provenance: lifecycle.Broker, Message: key, Consumer: "marketing-task-worker", ConsumerSeq: uint64(n), Attempt: 1})
}

// says is a report of an attempt at the n-th message.
func (h *history) says(kind lifecycle.Kind, n, attempt int, step, class string) {
	e := lifecycle.Event{Kind: kind, Provenance: lifecycle.Reported, Attempt: attempt}
	e.Detail.MsgID, e.Detail.StepID, e.Detail.StepClass = fmt.Sprint("m", n), step, class
	h.add(e)
}

func (h *history) record() {
	e := lifecycle.Event{Kind: lifecycle.CompletionRecorded, Provenance: lifecycle.Recorded}
	e.Detail.IdempotencyKey = recoveryTask + "-1"
	h.add(e)
}

func (h *history) erased() {
	e := lifecycle.Event{Kind: lifecycle.RecordDeleted, Provenance: lifecycle.Recorded}
	e.Detail.IdempotencyKey = recoveryTask + "-1"
	h.add(e)
}

// shared tells that another task has the key of the first message: it is done where done is set, and proves it where proved is.
func (h *history) shared(done, proved bool) {
	e := lifecycle.Event{Kind: lifecycle.KeyShared, Provenance: lifecycle.Inferred}
	e.Detail.IdempotencyKey, e.Detail.Owner, e.Detail.Unproved = recoveryTask+"-1", "blog-118-again", !proved
	if done {
		e.Detail.Basis = h.at
	}
	h.add(e)
}

func (h *history) logged(key string) {
	e := lifecycle.Event{Kind: lifecycle.EffectLogged, Provenance: lifecycle.Recorded}
	e.Detail.IdempotencyKey, e.Detail.Status = key, "completed"
	h.add(e)
}

// decide folds the events, in whatever order they are given, and decides about the newest message.
func decide(p *dlqtriage.Policy, events []lifecycle.Event) dlqtriage.Recovery {
	return decideAbout(p, events, -1)
}

// decideAbout decides about the message at a place, in the order of their keys; the newest where it is negative.
func decideAbout(p *dlqtriage.Policy, events []lifecycle.Event, place int) dlqtriage.Recovery {
	f := lifecycle.NewFold()
	events = slices.Clone(events)
	f.Assign(events)
	for _, e := range events {
		f.Add(e)
	}
	c := f.Changes()
	if place < 0 {
		place = len(c.Messages) - 1
	}
	return p.RecoveryOf(*c.Messages[place].Facts, *c.Tasks[0].Facts, false).Decide()
}

func recoveryPolicy(t testing.TB, recovery string) *dlqtriage.Policy {
	t.Helper()
	p, err := dlqtriage.ParsePolicy([]byte(recovery))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEachRowOfTheRecoveryTable(t *testing.T) {
	t.Parallel()
	const intent, receipt = lifecycle.ReportStepIntent, lifecycle.ReportStepReceipt
	typed := func(text string) string { return "recovery:\n  types:\n    - {type: content_creation, " + text + "}\n" }
	withCase := map[string]bool{}
	for _, c := range []struct {
		name, policy string
		tell         func(h *history)
		rule         string
		want         dlqtriage.Remedy
	}{
		{"a record", "", func(h *history) { h.says(intent, 1, 1, "post", "unsafe"); h.record() }, "completion_recorded", dlqtriage.RemedyReconcile},
		{"a record that was deleted", typed("class: pure, default: retry"), func(h *history) { h.record(); h.erased() }, "completion_record_gone", dlqtriage.RemedyReconcile},
		{"a record that was deleted and written again", "", func(h *history) { h.record(); h.erased(); h.record() }, "completion_recorded", dlqtriage.RemedyReconcile},
		{"a completion of a message that is not named, while a publish line is lost", typed("default: retry"), func(h *history) {
			h.add(lifecycle.Event{Kind: lifecycle.Unbound, Provenance: lifecycle.Inferred})
			h.add(lifecycle.Event{Kind: lifecycle.ReportCompleted, Provenance: lifecycle.Reported})
		}, "completion_unbound", dlqtriage.RemedyReconcile},
		{"a record that was deleted before it could be read", typed("default: retry"), func(h *history) { h.erased() }, "record_deleted_unread", dlqtriage.RemedyReconcile},
		{"a record that was deleted before it could be read, of a step that may be repeated", typed("class: keyed"), func(h *history) { h.erased() }, "repeatable_type", dlqtriage.RemedyRetry},
		{"the agent says that it is done", "", func(h *history) { h.says(lifecycle.ReportCompleted, 1, 1, "", "") }, "completion_reported", dlqtriage.RemedyReconcile},
		{"another task with its key completed it", typed("class: keyed, default: retry"), func(h *history) { h.shared(true, true) }, "completed_by_other_task", dlqtriage.RemedyReconcile},
		{"another task with its key was acknowledged", typed("class: pure"), func(h *history) { h.shared(true, false) }, "acknowledged_by_other_task", dlqtriage.RemedyReconcile},
		{"a record, and another task with its key completed it", "", func(h *history) { h.shared(true, true); h.record() }, "completion_recorded", dlqtriage.RemedyReconcile},
		{"another task with its key is not done", typed("class: keyed"), func(h *history) { h.shared(false, false) }, "repeatable_type", dlqtriage.RemedyRetry},
		{"a receipt of an unsafe step", "", func(h *history) { h.says(intent, 1, 1, "post", "unsafe"); h.says(receipt, 1, 1, "post", "") },
			"every_intent_has_receipt", dlqtriage.RemedyResume},
		{"a message that was sent", "", func(h *history) {
			h.says(lifecycle.ReportOutboundIntent, 1, 1, "mail", "")
			h.says(lifecycle.ReportOutboundSent, 1, 1, "mail", "")
		}, "every_intent_has_receipt", dlqtriage.RemedyResume},
		{"the side-effect log has it", "", func(h *history) {
			h.says(intent, 1, 1, "post", "unsafe")
			h.events[len(h.events)-1].Detail.IdempotencyKey = "post-key"
			h.logged("post-key")
		}, "every_intent_has_receipt", dlqtriage.RemedyResume},
		{"a checkpoint", "", func(h *history) { h.says(lifecycle.ReportCheckpoint, 1, 1, "", "") }, "checkpoint", dlqtriage.RemedyResume},
		{"a checkpoint after an intent", "", func(h *history) {
			h.says(intent, 1, 1, "post", "unsafe")
			h.says(lifecycle.ReportCheckpoint, 1, 1, "", "")
		}, "checkpoint", dlqtriage.RemedyResume},
		{"an unsafe intent after the checkpoint", "", func(h *history) {
			h.says(lifecycle.ReportCheckpoint, 1, 1, "", "")
			h.says(intent, 1, 1, "post", "unsafe")
		}, "open_intent", dlqtriage.RemedyQuarantine},
		{"a checkpointed step after the checkpoint", "", func(h *history) {
			h.says(lifecycle.ReportCheckpoint, 1, 1, "", "")
			h.says(intent, 1, 1, "draft", "checkpointed")
		}, "checkpoint", dlqtriage.RemedyResume},
		{"a type that is pure", typed("class: pure"), func(*history) {}, "repeatable_type", dlqtriage.RemedyRetry},
		{"a type that is keyed", typed("class: keyed"), func(*history) {}, "repeatable_type", dlqtriage.RemedyRetry},
		{"an intent of a keyed step", "", func(h *history) { h.says(intent, 1, 1, "post", "keyed") }, "open_intent_keyed", dlqtriage.RemedyRetry},
		{"an intent of a step that the policy says is keyed", typed("class: keyed"), func(h *history) { h.says(intent, 1, 1, "post", "") },
			"open_intent_keyed", dlqtriage.RemedyRetry},
		{"an intent whose effect can be looked up", "", func(h *history) { h.says(intent, 1, 1, "post", "lookup"); h.says(intent, 1, 1, "draft", "keyed") },
			"open_intent_lookup", dlqtriage.RemedyReconcile},
		{"an unsafe intent", typed("class: keyed, default: retry"), func(h *history) { h.says(intent, 1, 1, "post", "unsafe") }, "open_intent", dlqtriage.RemedyQuarantine},
		{"an intent of an unknown class", "", func(h *history) { h.says(intent, 1, 1, "post", "") }, "open_intent", dlqtriage.RemedyQuarantine},
		{"a class that is no word of the contract", typed("class: keyed"), func(h *history) { h.says(intent, 1, 1, "post", "harmless") }, "open_intent", dlqtriage.RemedyQuarantine},
		{"an unsafe intent beside a keyed one", "", func(h *history) { h.says(intent, 1, 1, "a", "keyed"); h.says(intent, 1, 1, "b", "unsafe") },
			"open_intent", dlqtriage.RemedyQuarantine},
		{"a receipt of the attempt before", "", func(h *history) {
			h.says(intent, 1, 1, "post", "unsafe")
			h.says(receipt, 1, 1, "post", "")
			h.says(intent, 1, 2, "post", "unsafe")
		}, "open_intent", dlqtriage.RemedyQuarantine},
		{"a receipt in the next message", "", func(h *history) {
			h.says(intent, 1, 1, "post", "unsafe")
			h.stored(2)
			h.says(intent, 2, 1, "post", "unsafe")
			h.says(receipt, 2, 1, "post", "")
		}, "every_intent_has_receipt", dlqtriage.RemedyResume},
		{"a receipt in the next version", "", func(h *history) {
			h.says(intent, 1, 1, "post", "unsafe")
			h.says(receipt, 1, 1, "post", "")
			h.storedAs(2, 2)
		}, "nothing_known", dlqtriage.RemedyQuarantine},
		{"an unsafe intent of another version", typed("class: keyed"), func(h *history) {
			h.says(intent, 1, 1, "post", "unsafe")
			h.storedAs(2, 2)
		}, "repeatable_type", dlqtriage.RemedyRetry},
		{"a checkpoint of another version", "", func(h *history) {
			h.says(lifecycle.ReportCheckpoint, 1, 1, "", "")
			h.storedAs(2, 2)
		}, "nothing_known", dlqtriage.RemedyQuarantine},
		{"a receipt that names no message, beside another version", "", func(h *history) {
			h.says(intent, 1, 1, "post", "unsafe")
			h.says(receipt, 1, 1, "post", "")
			for i := range h.events {
				if h.events[i].Provenance == lifecycle.Reported {
					h.events[i].Detail.MsgID = ""
				}
			}
			h.storedAs(2, 2)
		}, "nothing_known", dlqtriage.RemedyQuarantine},
		{"an intent that names no message, beside another version", typed("class: keyed"), func(h *history) {
			h.says(intent, 1, 1, "post", "unsafe")
			h.events[len(h.events)-1].Detail.MsgID = ""
			h.storedAs(2, 2)
		}, "open_intent", dlqtriage.RemedyQuarantine},
		{"two steps without a name, and one receipt", "", func(h *history) {
			h.says(intent, 1, 1, "", "unsafe")
			h.says(intent, 1, 1, "", "unsafe")
			h.says(receipt, 1, 1, "", "")
		}, "open_intent", dlqtriage.RemedyQuarantine},
		{"two steps without a name, and two receipts", "", func(h *history) {
			h.says(intent, 1, 1, "", "unsafe")
			h.says(intent, 1, 1, "", "unsafe")
			h.says(receipt, 1, 1, "", "")
			h.says(receipt, 1, 1, "", "")
		}, "every_intent_has_receipt", dlqtriage.RemedyResume},
		{"a step without a name in each of two attempts, and one receipt", "", func(h *history) {
			h.says(intent, 1, 1, "", "unsafe")
			h.says(intent, 1, 2, "", "unsafe")
			h.says(receipt, 1, 2, "", "")
		}, "open_intent", dlqtriage.RemedyQuarantine},
		{"a default of the type", typed("class: lookup, default: reconcile"), func(*history) {}, "default_of_type", dlqtriage.RemedyReconcile},
		{"a default of all types", "recovery: {types: [{type: '*', default: retry}]}", func(*history) {}, "default_of_type", dlqtriage.RemedyRetry},
		{"nothing", "", func(*history) {}, "nothing_known", dlqtriage.RemedyQuarantine},
	} {
		withCase[c.rule] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHistory()
			c.tell(h)
			got := decide(recoveryPolicy(t, c.policy), h.events)
			if got.Rule != c.rule || got.Remedy != c.want {
				t.Errorf("decided %s by %s, want %s by %s: %v", got.Remedy, got.Rule, c.want, c.rule, got.Evidence)
			}
			if len(got.Reasons) == 0 || len(got.Changes) == 0 || got.Confidence == "" {
				t.Errorf("the decision does not say its reasons, what would change it, or how sure it is: %+v", got)
			}
		})
	}
	for _, rule := range dlqtriage.RecoveryRules() {
		if !withCase[rule] {
			t.Errorf("no case is decided by the row %s", rule)
		}
	}
}

func TestTheRowsOfTheRecoveryTableStandInTheirOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"completion_recorded", "completion_record_gone", "completion_reported", "completed_by_other_task", "acknowledged_by_other_task", "every_intent_has_receipt", "checkpoint", "repeatable_type", "open_intent_keyed", "open_intent_lookup", "open_intent",
		"record_deleted_unread", "completion_unbound", "default_of_type", "nothing_known",
	}
	if got := dlqtriage.RecoveryRules(); !slices.Equal(got, want) {
		t.Errorf("the table has the rows %v, want %v", got, want)
	}
}

func TestADecisionNamesTheOtherTaskWithTheKey(t *testing.T) {
	t.Parallel()
	page := func(task string) string { return "/tasks/" + task }
	for _, c := range []struct{ done, proved bool }{{false, false}, {true, false}, {true, true}} {
		h := newHistory()
		h.shared(c.done, c.proved)
		got := decide(recoveryPolicy(t, "recovery: {types: [{type: '*', class: keyed}]}"), h.events)
		if !strings.Contains(strings.Join(got.Reasons, " "), "same idempotency key") {
			t.Errorf("%+v: the reasons are %q", c, got.Reasons)
		}
		if got.Unknown != c.done {
			t.Errorf("%+v: that effects are unknown is %t", c, got.Unknown)
		}
		if e := got.Evidence[0]; !strings.Contains(e.Text, "blog-118-again") || e.Link(recoveryTask, page) != "/tasks/blog-118-again" {
			t.Errorf("%+v: the first evidence is %+v", c, e)
		}
		if text := got.Markdown(recoveryTask, page); !strings.Contains(text, "[task](/tasks/blog-118-again)") {
			t.Errorf("%+v: the report says %s", c, text)
		}
	}
}

// TestNoHistoryWithAnUnconfirmedUnsafeIntentIsRetried makes up histories in the order in which they could happen, and looks at the events
// alone, without facts, for what must not be run again. The program gets them in any order.
func TestNoHistoryWithAnUnconfirmedUnsafeIntentIsRetried(t *testing.T) {
	t.Parallel()
	policies := []*dlqtriage.Policy{
		dlqtriage.DefaultPolicy(), recoveryPolicy(t, "recovery: {types: [{type: '*', class: keyed, default: retry}]}"),
		recoveryPolicy(t, "recovery: {types: [{type: content_creation, class: pure}]}"), recoveryPolicy(t, "recovery: {types: [{type: '*', default: retry}]}"),
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(policies).Draw(t, "policy")
		h := randomHistory(t)
		got := decide(p, rapid.Permutation(h.events).Draw(t, "order"))
		if step := unconfirmed(h.events); step != "" && got.Remedy == dlqtriage.RemedyRetry {
			t.Fatalf("step %s is unsafe and not confirmed, and the decision is %s by %s", step, got.Remedy, got.Rule)
		}
		if step := unconfirmedSinceCheckpoint(h.events); step != "" && got.Remedy == dlqtriage.RemedyResume {
			t.Fatalf("step %s is unsafe and not confirmed since the last checkpoint, and the decision is %s by %s", step, got.Remedy, got.Rule)
		}
	})
}

// TestWhatAnotherAgentReportsMakesNothingSafer adds reports of an agent that never had a message: the decision stays, or somebody looks at it.
func TestWhatAnotherAgentReportsMakesNothingSafer(t *testing.T) {
	t.Parallel()
	policies := []*dlqtriage.Policy{dlqtriage.DefaultPolicy(), recoveryPolicy(t, "recovery: {types: [{type: '*', class: keyed, default: retry}]}")}
	kinds := []lifecycle.Kind{
		lifecycle.ReportStepIntent, lifecycle.ReportStepReceipt, lifecycle.ReportOutboundIntent, lifecycle.ReportOutboundSent, lifecycle.ReportCheckpoint,
		lifecycle.ReportCompleted,
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(policies).Draw(t, "policy")
		h := randomHistory(t)
		alone := decide(p, h.events)
		for range rapid.IntRange(1, 6).Draw(t, "forged") {
			h.says(rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(0, 3).Draw(t, "message"), rapid.IntRange(0, 9).Draw(t, "attempt"),
				rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "step"), rapid.SampledFrom([]string{"", "pure", "keyed", "unsafe"}).Draw(t, "class"))
			forged := &h.events[len(h.events)-1]
			forged.Agent = "cto"
			if rapid.Bool().Draw(t, "names no message") {
				forged.Detail.MsgID = ""
			}
		}
		got := decide(p, rapid.Permutation(h.events).Draw(t, "order"))
		if got.Remedy != alone.Remedy && got.Remedy != dlqtriage.RemedyQuarantine {
			t.Fatalf("without the other agent %s by %s, with it %s by %s", alone.Remedy, alone.Rule, got.Remedy, got.Rule)
		}
	})
}

func randomHistory(t *rapid.T) *history {
	h := newHistory()
	message, attempt := 1, 1
	for range rapid.IntRange(0, 14).Draw(t, "reports") {
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			attempt++
		case 1:
			message, attempt = message+1, 1
			h.stored(message)
		case 2:
			h.says(lifecycle.ReportCheckpoint, message, attempt, "", "")
		case 3:
			h.says(lifecycle.ReportHeartbeat, message, attempt, "", "")
		case 4, 5, 6:
			h.says(lifecycle.ReportStepReceipt, message, attempt, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "step"), "")
		default:
			step := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "step")
			h.says(lifecycle.ReportStepIntent, message, attempt, step, rapid.SampledFrom([]string{"unsafe", "unsafe", "keyed", "pure", "lookup", "checkpointed", "odd"}).Draw(t, "class"))
		}
	}
	return h
}

// unconfirmed names a step with an unsafe intent that no receipt follows.
func unconfirmed(events []lifecycle.Event) string {
	for i, e := range events {
		if e.Kind != lifecycle.ReportStepIntent || e.Detail.StepClass != "unsafe" {
			continue
		}
		confirmed := slices.ContainsFunc(events[i:], func(r lifecycle.Event) bool {
			return r.Kind == lifecycle.ReportStepReceipt && r.Detail.StepID == e.Detail.StepID
		})
		if !confirmed {
			return e.Detail.StepID
		}
	}
	return ""
}

func unconfirmedSinceCheckpoint(events []lifecycle.Event) string {
	last := 0
	for i, e := range events {
		if e.Kind == lifecycle.ReportCheckpoint {
			last = i
		}
	}
	return unconfirmed(events[last:])
}

// TestWhatAVersionIsKnownToHaveDoneSaysNothingOfAnother decides about the first of two versions: the second did what the first announced.
func TestWhatAVersionIsKnownToHaveDoneSaysNothingOfAnother(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.says(lifecycle.ReportStepIntent, 1, 1, "post", "unsafe")
	h.storedAs(2, 2)
	h.says(lifecycle.ReportStepIntent, 2, 1, "post", "unsafe")
	h.says(lifecycle.ReportStepReceipt, 2, 1, "post", "")
	h.says(lifecycle.ReportCheckpoint, 2, 1, "", "")
	if got := decideAbout(dlqtriage.DefaultPolicy(), h.events, 0); got.Rule != "open_intent" {
		t.Errorf("decided %s by %s: %v", got.Remedy, got.Rule, got.Evidence)
	}
}

func TestAPolicyFileSaysWhatIsWrongWithItsRecovery(t *testing.T) {
	t.Parallel()
	_, err := dlqtriage.ParsePolicy([]byte(`recovery:
  types:
    - {type: deploy, class: dangerous}
    - {class: keyed}
    - {type: mail, class: unsafe, default: retry}
    - {type: "*", default: panic}
    - {type: never, class: pure}
    - {type: x, klass: pure}
`))
	if err == nil || !strings.Contains(err.Error(), "line 8") {
		t.Errorf("an unknown setting gives %v", err)
	}
	_, err = dlqtriage.ParsePolicy([]byte(`recovery:
  types:
    - {type: deploy, class: dangerous}
    - {class: keyed}
    - {type: mail, class: unsafe, default: retry}
    - {type: "*", default: panic}
    - {type: never, class: pure}
`))
	for _, want := range []string{
		`line 3: type "deploy": "dangerous" is not one of`, "line 4: recovery.types: entry 2 names no type", `line 5: type "mail": what is unsafe cannot be retried`,
		`line 6: type "*": "panic" is not one of`, `line 7: recovery.types: "never" is never reached`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not among the complaints:\n%v", want, err)
		}
	}
}
