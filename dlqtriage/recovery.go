package dlqtriage

import (
	"cmp"
	"slices"

	"fleetglass/lifecycle"
)

// Remedy is what recovery decides about work whose worker is gone, or may be (SPEC 3).
type Remedy string

// The remedies.
const (
	RemedyReconcile  Remedy = "reconcile"  // Nothing is run: what is known, or what a look at the effect shows, is noted.
	RemedyResume     Remedy = "resume"     // The work goes on where its last receipt or checkpoint is.
	RemedyRetry      Remedy = "retry"      // The work is run again.
	RemedyQuarantine Remedy = "quarantine" // It is kept apart until somebody knows what happened.
)

// Remedies lists the remedies.
func Remedies() []Remedy {
	return []Remedy{RemedyReconcile, RemedyResume, RemedyRetry, RemedyQuarantine}
}

// Known reports whether r is one of [Remedies].
func (r Remedy) Known() bool { return slices.Contains(Remedies(), r) }

// Meaning is one sentence for people.
func (r Remedy) Meaning() string {
	switch r {
	case RemedyReconcile:
		return "Run nothing: check what was done, and note it."
	case RemedyResume:
		return "Let the work go on where it was."
	case RemedyRetry:
		return "Let the work be done again."
	case RemedyQuarantine:
		return "Keep it apart until somebody knows what happened."
	}
	return ""
}

// Confidence is how good the evidence of a decision is.
type Confidence string

// The degrees of confidence.
const (
	ConfidenceHigh   Confidence = "high"   // Recorded, by a store that survives the worker.
	ConfidenceMedium Confidence = "medium" // The agent, or the policy file, says so.
	ConfidenceLow    Confidence = "low"    // Nothing is known, or lines that would say more may have been missed.
)

// Recovery is a decision with its reasons.
type Recovery struct {
	Remedy     Remedy
	Rule       string   // The row of the table, such as intent_without_receipt.
	Reasons    []string // Sentences for people.
	Evidence   []RecoveryEvidence
	Confidence Confidence
	Changes    []string // What would change the decision: sentences.
	Unknown    bool     // Effects may have happened of which nothing is known: one click must not run it again.
}

// RecoveryEvidence is one thing that a decision rests on.
type RecoveryEvidence struct {
	Text       string // Our own words; names from reports in it are untrusted.
	Provenance lifecycle.Provenance
	At         lifecycle.Micros  // Zero where it has no time.
	Event      lifecycle.EventID // Zero where no single event says it.
	Task       string            // The other task that it is about; empty where it is about the task itself.
}

// Link is where the evidence about a task can be seen. page gives the address of a task's page.
func (e RecoveryEvidence) Link(task string, page func(task string) string) string {
	address := page(cmp.Or(e.Task, task))
	if e.Event == 0 {
		return address
	}
	return address + "#ev-" + e.Event.String()
}

// RecoveryCase is what a decision is made from.
type RecoveryCase struct {
	Type       string // Task type.
	Completion lifecycle.Completeness
	Sharers    []lifecycle.SharedKey // Other tasks with its idempotency key, those that did the work first.
	Intents    []Intent              // Every effect that was announced or confirmed.
	Cut        bool                  // More effects were announced than are kept.
	Checkpoint lifecycle.LastReport
	Blind      bool         // Lines of the task's time may have been missed.
	Policy     RecoveryType // Of the task type.
}

// Intent is an effect that an agent announced, with what the table asks of it.
type Intent struct {
	lifecycle.Effect
	Class       StepClass // As reported, else as the policy says of the task type, else unsafe. Unsafe too where a stranger reports it.
	Open        bool      // No receipt is known.
	Logged      *lifecycle.LoggedEffect
	BeforePoint bool // The checkpoint came after it.
}

// RecoveryOf collects what is known of the effects of a message's work: of those of its task that are not another version's. blind says that lines of its time may have
// been missed.
func (p *Policy) RecoveryOf(m lifecycle.MessageFacts, t lifecycle.TaskFacts, blind bool) RecoveryCase {
	c := RecoveryCase{Completion: lifecycle.CompletenessOf(&m, &t), Sharers: t.Sharers(m), Cut: t.IntentsCut, Blind: blind, Type: t.Type}
	if m.Stored != nil {
		c.Type = m.Stored.Type
	}
	c.Policy = p.Recovery.forType(c.Type)
	point := newestCheckpoint(&t, &m)
	c.Checkpoint = point.Last
	own, doubtful := effectsOf(&t, &m)
	for _, e := range own {
		c.Intents = append(c.Intents, c.intentOf(e, &t, own, point))
	}
	for _, e := range doubtful { // That another version's effect is confirmed says nothing of this one.
		if i := c.intentOf(e, &t, nil, point); i.Open {
			c.Intents = append(c.Intents, i)
		}
	}
	return c
}

// effectsOf are the effects of the work of a message, and those of which nothing tells whether they are.
func effectsOf(t *lifecycle.TaskFacts, m *lifecycle.MessageFacts) (own, doubtful []lifecycle.Effect) {
	for _, e := range t.ReportedEffects() {
		switch may, surely := t.OfWork(m, e.MsgID); {
		case surely:
			own = append(own, e)
		case may:
			doubtful = append(doubtful, e)
		}
	}
	return own, doubtful
}

func (c *RecoveryCase) intentOf(e lifecycle.Effect, t *lifecycle.TaskFacts, all []lifecycle.Effect, point lifecycle.CheckpointFacts) Intent {
	if e.Stranger {
		return Intent{Effect: e, Class: StepUnsafe, Open: true}
	}
	i := Intent{Effect: e, Class: c.classOf(e.Class), Logged: loggedEffect(t, e.Key)}
	i.Open = e.Intent.Known() && !e.Confirmed() && i.Logged == nil && !confirmedLater(t, e, all)
	i.BeforePoint = point.Last.Known() && orderOf(t, e.MsgID, e.Intent, point.MsgID, point.Last) <= 0
	return i
}

// classOf is the class of a step. A word of a report that is no class says nothing good.
func (c *RecoveryCase) classOf(reported string) StepClass {
	switch {
	case StepClass(reported).Known():
		return StepClass(reported)
	case reported == "" && c.Policy.Class != "":
		return c.Policy.Class
	}
	return StepUnsafe
}

// newestCheckpoint is the checkpoint of the newest message of the work of m that has one, by an agent that may have had it. One whose report names no message counts
// where no other does, and the task has no other version.
func newestCheckpoint(t *lifecycle.TaskFacts, m *lifecycle.MessageFacts) (newest lifecycle.CheckpointFacts) {
	for _, c := range t.Checkpoints {
		if _, surely := t.OfWork(m, c.MsgID); !surely || !t.MayHaveHad(c.Agent, c.MsgID) {
			continue
		}
		order := cmp.Compare(t.MessageOrder(c.MsgID), t.MessageOrder(newest.MsgID))
		if !newest.Last.Known() || cmp.Or(order, c.Last.Compare(newest.Last)) > 0 {
			newest = c
		}
	}
	return newest
}

// loggedEffect is the entry of the side-effect log with the key of a step; nil where there is none.
func loggedEffect(t *lifecycle.TaskFacts, key string) *lifecycle.LoggedEffect {
	for i := range t.Effects {
		if key != "" && t.Effects[i].Key == key {
			return &t.Effects[i]
		}
	}
	return nil
}

// confirmedLater reports whether the same step was confirmed in a later message of the task: its effect is there, whoever made it.
func confirmedLater(t *lifecycle.TaskFacts, e lifecycle.Effect, all []lifecycle.Effect) bool {
	return slices.ContainsFunc(all, func(o lifecycle.Effect) bool {
		later := o.MsgID != e.MsgID && t.MessageOrder(e.MsgID) >= 0 && t.MessageOrder(o.MsgID) > t.MessageOrder(e.MsgID)
		return later && o.Step == e.Step && o.Step != "" && o.Outbound == e.Outbound && o.Confirmed()
	})
}

// orderOf compares two reports of a task. A report of a message whose place is not known comes last: what is in doubt is not covered.
func orderOf(t *lifecycle.TaskFacts, msg string, a lifecycle.LastReport, other string, b lifecycle.LastReport) int {
	if msg == other {
		return a.Compare(b)
	}
	if at, otherAt := t.MessageOrder(msg), t.MessageOrder(other); at >= 0 && at < otherAt {
		return -1
	}
	return 1
}
