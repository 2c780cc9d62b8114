package lifecycle

import (
	"cmp"
	"slices"
	"strings"
)

// What recovery may do depends on which effects an attempt announced and which of them were confirmed (SPEC 3). Agents report both: an intent
// before the effect, a receipt after it.

// IntentFacts is one step of a task that may have an effect, or one outgoing message, as one agent reports it in one message of the task.
type IntentFacts struct {
	MsgID    string     `json:"msg_id,omitempty"` // Of the message; empty where the reports do not say which.
	Agent    string     `json:"agent,omitempty"`  // Who reports it, in the words of the reports.
	Step     string     `json:"step,omitempty"`   // The step's id, else its idempotency key, else tool and input.
	Outbound bool       `json:"out,omitempty"`    // An outgoing message and not a step.
	Tool     string     `json:"tool,omitempty"`
	Class    string     `json:"class,omitempty"` // As reported; of several the most dangerous one. Empty where nobody said.
	Key      string     `json:"key,omitempty"`   // The idempotency key of the effect.
	Intent   LastReport `json:"intent,omitzero"`
	Receipt  LastReport `json:"receipt,omitzero"`

	Intents  []LastReport `json:"intents,omitempty"`  // All announcements, sorted; nil where the latest is the only one.
	Receipts []LastReport `json:"receipts,omitempty"` // All receipts, likewise.
}

// LastReport is the latest report of a kind: that of the highest attempt, then the latest by its agent's clock.
type LastReport struct {
	N  int     `json:"n,omitempty"` // The attempt; zero where the report names none.
	At Micros  `json:"at,omitempty"`
	ID EventID `json:"id,omitempty"`
}

// Known reports whether there was such a report.
func (r LastReport) Known() bool { return r.At.Known() }

// Compare orders reports about one message: by attempt, then by the agent's own clock.
func (r LastReport) Compare(o LastReport) int {
	return cmp.Or(cmp.Compare(r.N, o.N), cmp.Compare(r.At, o.At), cmp.Compare(r.ID, o.ID))
}

func (r *LastReport) join(e Event) {
	if n := (LastReport{N: e.Attempt, At: e.At, ID: e.ID}); n.Compare(*r) > 0 {
		*r = n
	}
}

// joinReport adds a report to the latest of its kind and to all of them.
func joinReport(last *LastReport, all *[]LastReport, e Event) {
	said := reportsOf(*last, *all)
	n := LastReport{N: e.Attempt, At: e.At, ID: e.ID}
	if i, found := slices.BinarySearchFunc(said, n, LastReport.Compare); !found {
		said = slices.Insert(slices.Clip(said), i, n)
	}
	if last.join(e); len(said) > 1 {
		*all = said[:min(len(said), maxSaidKept)]
	}
}

// reportsOf are all reports of a kind, where all is nil if the latest is the only one.
func reportsOf(last LastReport, all []LastReport) []LastReport {
	if all == nil && last.Known() {
		return []LastReport{last}
	}
	return all
}

// Confirmed reports whether a receipt came in the attempt of the latest intent, after it, or in a later attempt. Steps that have no name of their own are kept
// together: each time that one was announced needs a receipt.
func (i IntentFacts) Confirmed() bool {
	if i.Receipt.before(i.Intent) {
		return false
	}
	return i.named() || i.eachConfirmed()
}

// before reports whether the report is of an earlier attempt than another, or of an earlier time of its attempt.
func (r LastReport) before(o LastReport) bool {
	return cmp.Or(cmp.Compare(r.N, o.N), cmp.Compare(r.At, o.At)) < 0
}

// named reports whether the reports say more of the step than its tool.
func (i IntentFacts) named() bool { return i.Key != "" || (i.Step != "" && i.Step != i.Tool) }

// eachConfirmed reports whether as many receipts followed each intent as intents did. Where not all may be kept that is not known.
func (i IntentFacts) eachConfirmed() bool {
	intents, receipts := reportsOf(i.Intent, i.Intents), reportsOf(i.Receipt, i.Receipts)
	for k, said := range intents {
		early, _ := slices.BinarySearchFunc(receipts, said, func(r, said LastReport) int {
			if r.before(said) {
				return -1
			}
			return 1
		})
		if len(receipts)-early < len(intents)-k {
			return false
		}
	}
	return len(intents) < maxSaidKept
}

func (i IntentFacts) compare(o IntentFacts) int {
	return cmp.Or(cmp.Compare(i.MsgID, o.MsgID), cmp.Compare(i.Step, o.Step), compareBool(i.Outbound, o.Outbound), cmp.Compare(i.Agent, o.Agent))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Effect is an effect of which agents reported, with what counts of it.
type Effect struct {
	IntentFacts      // Without the receipts of a stranger, and without the task's own idempotency key, which is no name of a step.
	Stranger    bool // Nothing shows that its agent had the message. What it announces may have happened; what it confirms proves nothing.
}

// ReportedEffects lists the effects that agents announced or confirmed. A receipt makes it safe to run the work again, so it counts only from an agent that may
// have had the message (SITUATIONS, "Evidence cannot be forged").
func (t *TaskFacts) ReportedEffects() []Effect {
	var out []Effect
	for _, i := range t.Intents {
		e := Effect{IntentFacts: i, Stranger: !t.MayHaveHad(i.Agent, i.MsgID)}
		if t.ownKey(i.Key) {
			e.Key = ""
			if i.Step == i.Key {
				e.Step = i.Tool
			}
		}
		if e.Stranger {
			e.Receipt, e.Receipts = LastReport{}, nil
		}
		if e.Intent.Known() || e.Receipt.Known() {
			out = append(out, e)
		}
	}
	return out
}

// ownKey reports whether an idempotency key is that of one of the task's messages.
func (t *TaskFacts) ownKey(key string) bool {
	return key != "" && slices.ContainsFunc(t.Copies, func(c DeliveryCopy) bool { return c.IdemKey == key })
}

// announced are the reports by which agents that may have had the message announced effects of it, or of a message that they did not name.
func (t *TaskFacts) announced(m *MessageFacts) (out []LastReport) {
	for _, i := range t.Intents {
		if m.Stored != nil && (i.MsgID == m.Stored.MsgID || i.MsgID == "") && t.MayHaveHad(i.Agent, i.MsgID) {
			out = append(out, reportsOf(i.Intent, i.Intents)...)
		}
	}
	return out
}

// MayHaveHad reports whether an agent may have had the message with that id: where no message has it, one of the task's messages.
func (t *TaskFacts) MayHaveHad(agent, msgID string) bool {
	had := func(c DeliveryCopy) bool { return c.mayBeOf(agent) }
	named := func(c DeliveryCopy) bool { return c.MsgID == msgID }
	if msgID != "" && slices.ContainsFunc(t.Copies, named) {
		return slices.ContainsFunc(t.Copies, func(c DeliveryCopy) bool { return named(c) && had(c) })
	}
	return len(t.Copies) == 0 || slices.ContainsFunc(t.Copies, had)
}

// OfWork reports whether a report that names the message with that id, or none, may be about the work of m, and whether it surely is. A message with another idempotency
// key is another version of the task: that is other work. What names no message that is known may be about any of the task.
func (t *TaskFacts) OfWork(m *MessageFacts, msgID string) (may, surely bool) {
	other := func(c DeliveryCopy) bool {
		return m.Stored != nil && m.Stored.IdempotencyKey != "" && c.IdemKey != "" && c.IdemKey != m.Stored.IdempotencyKey
	}
	about := slices.DeleteFunc(slices.Clone(t.Copies), func(c DeliveryCopy) bool { return msgID == "" || c.MsgID != msgID })
	if len(about) == 0 {
		about = t.Copies
	}
	surely = !slices.ContainsFunc(about, other)
	return surely || slices.ContainsFunc(about, func(c DeliveryCopy) bool { return !other(c) }), surely
}

// CheckpointFacts is the latest checkpoint that an agent reports of a message.
type CheckpointFacts struct {
	MsgID string     `json:"msg_id,omitempty"`
	Agent string     `json:"agent,omitempty"`
	Last  LastReport `json:"last"`
}

func (c CheckpointFacts) compare(o CheckpointFacts) int {
	return cmp.Or(cmp.Compare(c.MsgID, o.MsgID), cmp.Compare(c.Agent, o.Agent))
}

// LoggedEffect is an entry of the side-effect log that says that an effect took place.
type LoggedEffect struct {
	Key string  `json:"key,omitempty"` // The idempotency key of the effect.
	At  Micros  `json:"at,omitempty"`
	ID  EventID `json:"id,omitempty"`
}

const (
	maxIntentsKept     = 256
	maxCheckpointsKept = 64
	maxSaidKept        = 16 // Reports of a kind about one effect.
)

// joinIntent notes what a report says about effects.
func (t *TaskFacts) joinIntent(e Event) {
	switch e.Kind {
	case ReportStepIntent, ReportOutboundIntent:
		t.editIntent(e, func(i *IntentFacts) { joinReport(&i.Intent, &i.Intents, e) })
	case ReportStepReceipt, ReportOutboundSent:
		t.editIntent(e, func(i *IntentFacts) { joinReport(&i.Receipt, &i.Receipts, e) })
	case ReportCheckpoint:
		t.joinCheckpoint(e)
	case EffectLogged:
		t.joinEffect(e)
	}
}

func (t *TaskFacts) editIntent(e Event, edit func(*IntentFacts)) {
	d := e.Detail
	probe := IntentFacts{MsgID: d.MsgID, Agent: e.Agent, Step: stepName(d), Outbound: e.Kind == ReportOutboundIntent || e.Kind == ReportOutboundSent}
	at, found := slices.BinarySearchFunc(t.Intents, probe, IntentFacts.compare)
	if !found {
		t.Intents = slices.Insert(t.Intents, at, probe)
	}
	i := &t.Intents[at]
	i.Tool, i.Key, i.Class = leastText(i.Tool, d.Tool), leastText(i.Key, d.IdempotencyKey), worseClass(i.Class, d.StepClass)
	edit(i)
	if len(t.Intents) > maxIntentsKept {
		t.Intents, t.IntentsCut = t.Intents[:maxIntentsKept], true
	}
}

// stepName names a step of a task, the same in its intent and in its receipt.
func stepName(d Detail) string {
	return firstText(d.StepID, d.IdempotencyKey, strings.Trim(d.Tool+" "+d.InputHash, " "))
}

// classDanger orders the step classes of SPEC 3 by what a repetition may do. What is no class of it counts as unsafe.
var classDanger = map[string]int{"": 0, "pure": 1, "keyed": 2, "checkpointed": 3, "lookup": 4}

const mostDanger = 5

func worseClass(a, b string) string {
	danger := func(class string) int {
		if n, known := classDanger[class]; known {
			return n
		}
		return mostDanger
	}
	switch c := cmp.Compare(danger(a), danger(b)); {
	case c > 0:
		return a
	case c < 0:
		return b
	}
	return leastText(a, b)
}

func (t *TaskFacts) joinCheckpoint(e Event) {
	probe := CheckpointFacts{MsgID: e.Detail.MsgID, Agent: e.Agent}
	at, found := slices.BinarySearchFunc(t.Checkpoints, probe, CheckpointFacts.compare)
	if !found {
		t.Checkpoints = slices.Insert(t.Checkpoints, at, probe)
	}
	t.Checkpoints[at].Last.join(e)
	t.Checkpoints = t.Checkpoints[:min(len(t.Checkpoints), maxCheckpointsKept)]
}

// joinEffect notes an entry of the side-effect log, unless it says that the effect has not taken place yet.
func (t *TaskFacts) joinEffect(e Event) {
	if e.Detail.IdempotencyKey == "" || !EffectTookPlace(e.Detail.Status) {
		return
	}
	l := LoggedEffect{Key: e.Detail.IdempotencyKey, At: e.At, ID: e.ID}
	at, found := slices.BinarySearchFunc(t.Effects, l.Key, func(x LoggedEffect, key string) int { return cmp.Compare(x.Key, key) })
	switch {
	case !found:
		t.Effects = slices.Insert(t.Effects, at, l)
		t.Effects = t.Effects[:min(len(t.Effects), maxIntentsKept)]
	case cmp.Or(cmp.Compare(l.At, t.Effects[at].At), cmp.Compare(l.ID, t.Effects[at].ID)) < 0:
		t.Effects[at] = l
	}
}

// doneStatuses are what entries of side-effect logs write of an effect that took place.
var doneStatuses = []string{"", "complete", "completed", "confirmed", "done", "sent", "succeeded", "success"}

// EffectTookPlace reports whether an entry of a side-effect log with this status says that its effect took place.
func EffectTookPlace(status string) bool {
	return slices.Contains(doneStatuses, strings.ToLower(status))
}

// Completeness is what is known of the completion of a message's work. Times that are zero are not known.
type Completeness struct {
	RecordedAt Micros // An idempotency record completes this message.
	CoveredAt  Micros // A record of its idempotency key completes another message.
	Findable   bool   // One of these records is still there, so that the next worker finds it.
	UnreadAt   Micros // A record of its idempotency key was deleted, or had expired, and was never read: the work may have been done.
	ReportedAt Micros // The agent that has the message says so, and no record was seen.
	UnboundAt  Micros // That agent reports a completion that may be of this message, and nothing tells of which one.
	Conflict   bool   // Somebody who never held the message says that it is completed.
}

// CompletenessOf says what is known of the completion of a message.
func CompletenessOf(m *MessageFacts, t *TaskFacts) Completeness {
	b := t.boundTo(m)
	return Completeness{
		RecordedAt: b.recordedAt, CoveredAt: b.coveredAt, Findable: b.findable, UnreadAt: b.unreadAt, ReportedAt: b.reportedAt, UnboundAt: b.unboundAt,
		Conflict: b.conflict,
	}
}

// MessageOrder is the place of the message with that id among the messages of the task, in the order in which they were stored; negative
// where no stored message has that id.
func (t *TaskFacts) MessageOrder(msgID string) int {
	if msgID == "" {
		return -1
	}
	return slices.IndexFunc(t.Copies, func(c DeliveryCopy) bool { return c.MsgID == msgID })
}
