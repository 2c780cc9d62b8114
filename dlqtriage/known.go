package dlqtriage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// Known is all that is known of an entry when somebody decides about it.
type Known struct {
	Entry    Entry
	Revision uint64 // Of its subject, as it was before the rest was read.
	Record   lifecycle.TaskRecord
	Payload  lifecycle.Payload
	Case     Case // What its plan is made from.
}

// TaskReader reads what is known of a task. It is part of lifecycle.TraceReader.
type TaskReader interface {
	Task(ctx context.Context, id string) (lifecycle.TaskRecord, error)
	Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error)
}

// Revisions tells how far the decisions about a subject are. It is part of decision.Decider.
type Revisions interface {
	Revision(ctx context.Context, s decision.Subject) (uint64, error)
}

// Examiner reads what is known of entries.
type Examiner struct {
	Entries   EntryReader // Required.
	Tasks     TaskReader  // Required.
	Decisions Revisions   // Required.
	Looks     Looks       // Optional; without it nobody looks at what dies.
}

// Examine reads an entry with what is known of its task. It errors with lifecycle.ErrNotFound where there is no such entry.
func (x Examiner) Examine(ctx context.Context, id string) (k Known, err error) {
	key, err := ParseEntryID(id)
	if err != nil {
		return k, fmt.Errorf("%w: %w", lifecycle.ErrNotFound, err)
	}
	// The revision comes first: what is decided meanwhile is then found out when it is decided on it.
	if k.Revision, err = x.Decisions.Revision(ctx, decision.About(key)); err != nil {
		return k, err
	}
	if k.Entry, err = x.Entries.Entry(ctx, id); err != nil {
		return k, fmt.Errorf("read entry: %w", err)
	}
	if k.Record, err = x.Tasks.Task(ctx, k.Entry.TaskID); err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
		return k, fmt.Errorf("read task: %w", err)
	}
	if k.Payload, err = Original(ctx, x.Tasks, k.Entry); err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
		return k, fmt.Errorf("read payload: %w", err)
	}
	missing := err != nil || k.Payload.Truncated
	k.Case = CaseOf(k.Entry, x.Looks)
	k.Case.PayloadMissing = missing
	k.readRecord()
	k.Case.readPayload(k.Payload.Body)
	k.Case.Past, err = x.past(ctx, k.Entry)
	return k, err
}

// readRecord takes into the case what the record of its task says.
func (k *Known) readRecord() {
	k.Case.Completed, k.Case.Superseded = k.completed(), k.superseded()
	k.Case.Sharers, k.Case.EffectsUnknown = k.sharers(), k.effectsUnknown()
}

// maxPast is how many entries of one task are looked at for what was tried before.
const maxPast = 100

// past is what was tried for the task before: each message of it that died and was followed by another one had the plan of its class.
func (x Examiner) past(ctx context.Context, e Entry) ([]PastRetry, error) {
	if e.Generation == 0 {
		return nil, nil
	}
	all, err := x.Entries.EntriesOf(ctx, e.TaskID, maxPast)
	if err != nil {
		return nil, fmt.Errorf("read entries of the task: %w", err)
	}
	var out []PastRetry
	for _, before := range all {
		if before.Generation < e.Generation {
			out = append(out, PastRetry{Class: before.Class})
		}
	}
	return out, nil
}

// CaseOf is what an entry alone says of its case. looks tells whether somebody looks at what dies.
func CaseOf(e Entry, looks Looks) Case {
	return Case{
		Class: e.Class, Agent: e.Agent, Type: e.Type, Reason: e.Reason, Generation: e.Generation, Status: e.Status, Unread: looks.Awaits(e),
		Untaken: e.Path == PathFilterRejected,
	}
}

// readPayload takes what the payload says of model and budget.
func (c *Case) readPayload(body []byte) {
	var task struct {
		Model  string  `json:"model"`
		Budget float64 `json:"token_budget"`
	}
	if json.Unmarshal(body, &task) == nil {
		c.Model, c.TokenBudget = task.Model, int64(task.Budget)
	}
}

// completed reports whether a completion of the work is known beside the death of its message. What was done under another idempotency key is other work.
func (k *Known) completed() bool {
	own, ends := lifecycle.JudgeEndings(k.died(), k.Record.Facts)
	_, elsewhere := k.sameWork(func(m lifecycle.MessageFacts, s lifecycle.State) bool { return s == lifecycle.StateCompleted })
	return elsewhere || ends.ToldAt.Known() || own.State == lifecycle.StateCompleted
}

// sameWork finds another message of the same work that is not dead and is as asked for.
func (k *Known) sameWork(is func(lifecycle.MessageFacts, lifecycle.State) bool) (lifecycle.MessageKey, bool) {
	died := k.died()
	for _, m := range k.Record.Messages {
		if !m.SameWork(died) || !is(m, lifecycle.Judge(m, k.Record.Facts).State) {
			continue
		}
		if _, dead := lifecycle.JudgeDead(m, k.Record.Facts); !dead {
			return m.Key, true
		}
	}
	return lifecycle.MessageKey{}, false
}

// died is what is known of the message that died.
func (k *Known) died() lifecycle.MessageFacts {
	for _, m := range k.Record.Messages {
		if m.Key == k.Entry.Key {
			return m
		}
	}
	return lifecycle.MessageFacts{Key: k.Entry.Key}
}

// sharers are the other tasks with the idempotency key of the message that died.
func (k *Known) sharers() []lifecycle.SharedKey { return k.Record.Facts.Sharers(k.died()) }

// superseded reports whether the task has a message that is newer than the one that died.
func (k *Known) superseded() bool {
	return slices.ContainsFunc(k.Record.Messages, k.newer)
}

func (k *Known) newer(m lifecycle.MessageFacts) bool {
	return m.Key != k.Entry.Key && (m.Generation() > k.Entry.Generation || (m.Generation() == k.Entry.Generation && m.Key.Compare(k.Entry.Key) > 0))
}

// effectsUnknown names an older message of the same work that is not over, or an effect of the work that was announced and that nobody who may know confirmed; empty where
// there is none. A step that is pure, or that has a strong key, may be repeated (SPEC 3). The policy is not asked: what nobody said of a step is not taken for harmless.
func (k *Known) effectsUnknown() string {
	if m, open := k.sameWork(func(m lifecycle.MessageFacts, s lifecycle.State) bool { return s.Open() && !k.newer(m) }); open {
		return fmt.Sprintf("%s, an older message of the same work, is not over: a retry would do the work twice.", m)
	}
	c := new(Policy).RecoveryOf(k.died(), k.Record.Facts, false)
	if i := slices.IndexFunc(c.Intents, func(i Intent) bool { return i.Open && !i.Class.repeatable() }); i >= 0 {
		return c.Intents[i].doubt()
	}
	if c.Completion.UnboundAt.Known() {
		return "Its agent reports that a message of the task is completed, and nothing tells which one: look for its effect first."
	}
	if c.Completion.UnreadAt.Known() {
		return "Its idempotency record was deleted or has expired, and was not read before: look for its effect first."
	}
	if c.Cut {
		return "More effects were announced than are kept, so not all of them can be looked at: look for them first."
	}
	return ""
}

// doubt says that the effect was announced, and by whom, and that it is not known to have happened.
func (i Intent) doubt() string {
	who := "The agent"
	if i.Stranger {
		who = fmt.Sprintf("Agent %q, which is not known to have had the message,", i.Agent)
	}
	if i.Outbound {
		return who + " was about to send something and never said that it was sent: look first."
	}
	return fmt.Sprintf("%s began step %q (%s) and never said that it was done: look its effect up first.", who, i.Step, cmp.Or(i.Tool, "no tool named"))
}
