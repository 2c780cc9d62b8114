package lifecycle

import "cmp"

// Outcome is what somebody decided about a message that died (SPEC 2: the outcomes of the state triaged).
type Outcome string

// The outcomes of a decision.
const (
	OutcomeRetried     Outcome = "retried"     // It was published again, as a new message that links back.
	OutcomeReassigned  Outcome = "reassigned"  // It was published again for another agent.
	OutcomeDeferred    Outcome = "deferred"    // It waits for a time, or for a person.
	OutcomeDiscarded   Outcome = "discarded"   // Nothing is to be done about it.
	OutcomeQuarantined Outcome = "quarantined" // It is kept apart: nobody may run it again.
)

// Outcomes lists all outcomes.
func Outcomes() []Outcome {
	return []Outcome{OutcomeRetried, OutcomeReassigned, OutcomeDeferred, OutcomeDiscarded, OutcomeQuarantined}
}

// Valid reports whether o is one of [Outcomes].
func (o Outcome) Valid() bool { return outcomeMeaning[o] != "" }

// Meaning is one sentence for people.
func (o Outcome) Meaning() string { return outcomeMeaning[o] }

var outcomeMeaning = map[Outcome]string{
	OutcomeRetried:     "It was published again, as a new message that links back.",
	OutcomeReassigned:  "It was published again for another agent.",
	OutcomeDeferred:    "It waits for a time, or for a person.",
	OutcomeDiscarded:   "Nothing is to be done about it.",
	OutcomeQuarantined: "It is kept apart: nobody may run it again.",
}

// Triage is what events about decisions carry: decided, triaged, reopened; and classified, with revision and actor.
type Triage struct {
	Revision uint64  `json:"revision,omitempty"`  // Of the message, issued by the store: it orders the decisions about one message.
	Outcome  Outcome `json:"outcome,omitempty"`   // triaged: what came of the decision.
	Action   string  `json:"action,omitempty"`    // What was asked for, such as retry or defer.
	Actor    string  `json:"actor,omitempty"`     // Who decided: a person, a program, or the policy.
	Until    Micros  `json:"until,omitempty"`     // triaged with the outcome deferred: until when; zero for until a person decides. decided: when it is due; zero for at once.
	ActionID string  `json:"action_id,omitempty"` // The action's id, under which the store keeps it.
	Via      string  `json:"via,omitempty"`       // How the actor came in, as audit records say it: page, api, mcp or auto.
	OfN      int     `json:"of_n,omitempty"`      // Of a message in flight: the attempt that it was decided about.

	OfConsumer string `json:"of_consumer,omitempty"` // Whose attempt that is; empty where the event is older than this field.
}

// TriageFacts is the latest decision about a message. It is a register: the decision with the highest revision counts, in whatever order
// the decisions become known.
type TriageFacts struct {
	Revision uint64  `json:"rev"`
	Outcome  Outcome `json:"outcome,omitempty"` // Empty when the message was reopened.
	Action   string  `json:"action,omitempty"`
	Actor    string  `json:"actor,omitempty"`
	Reason   string  `json:"why,omitempty"`
	At       Micros  `json:"at"`
	Until    Micros  `json:"until,omitempty"` // Until when it is deferred, or when what was asked for is due; zero where no time was said.
	ActionID string  `json:"action_id,omitempty"`
	Via      string  `json:"via,omitempty"`
	N        int     `json:"n,omitempty"`        // The attempt that was decided about; zero where the message was not in flight.
	Consumer string  `json:"consumer,omitempty"` // Whose attempt that is, where that was said.
}

// joinTriage keeps three decisions, each the one with the highest revision: that about the dead message, that about what a worker had, and the action that was asked
// for. The second says nothing of the first: another consumer's attempts may have left the dead letter. The store never issues a revision twice; the other fields
// only make the order total.
func (m *MessageFacts) joinTriage(e Event) {
	d := e.Detail
	t := TriageFacts{Revision: d.Revision, Action: d.Action, Actor: d.Actor, Reason: d.Reason, At: e.At, ActionID: d.ActionID, Via: d.Via, N: d.OfN, Consumer: d.OfConsumer}
	switch e.Kind {
	case Triaged:
		t.Outcome, t.Until = d.Outcome, d.Until
	case Decided:
		t.Until = d.Until
	}
	register := &m.Triage
	switch {
	case e.Kind == Decided:
		register = &m.Asked
	case e.Kind == Released, e.Kind == Resolved, e.Kind == Reopened && d.OfN > 0:
		register = &m.Handled
	}
	if *register == nil || compareTriage(t, **register) > 0 {
		*register = &t
	}
}

// What somebody asks for about a message in flight, as [Triage.Action] names it.
const (
	ActionRelease   = "release"
	ActionReconcile = "reconcile"
)

// Revision is the highest revision of the decisions about the message.
func (m *MessageFacts) Revision() (highest uint64) {
	for _, t := range []*TriageFacts{m.Triage, m.Handled, m.Asked} {
		if t != nil {
			highest = max(highest, t.Revision)
		}
	}
	if m.Classified != nil {
		highest = max(highest, m.Classified.Revision)
	}
	return highest
}

// resolvedIn is the decision that marked the message as resolved while the attempt was in hand; nil where there is none, or a later
// attempt or another consumer has it now.
func (m *MessageFacts) resolvedIn(n int) *TriageFacts {
	t := m.Handled
	if t == nil || t.Action != ActionReconcile || t.N != n || m.RecreatedAt > t.At || (t.Consumer != "" && t.Consumer != m.Consumer) {
		return nil
	}
	return t
}

// releasedIn is the decision by which somebody handed the attempt back; nil where there is none.
func (m *MessageFacts) releasedIn(n int) *TriageFacts {
	t := m.Handled
	if t == nil || t.Action != ActionRelease || t.N != n || m.RecreatedAt > t.At || (t.Consumer != "" && t.Consumer != m.Consumer) {
		return nil
	}
	return t
}

// Acting reports whether somebody asked for an action of which nothing is known to have come yet.
func (m *MessageFacts) Acting() bool {
	ended := func(t *TriageFacts) bool { return t != nil && t.Revision >= m.Asked.Revision }
	return m.Asked != nil && !ended(m.Triage) && !ended(m.Handled)
}

func compareTriage(a, b TriageFacts) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.At, b.At), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Action, b.Action),
		cmp.Compare(a.Actor, b.Actor), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Until, b.Until), cmp.Compare(a.ActionID, b.ActionID), cmp.Compare(a.Via, b.Via),
		cmp.Compare(a.N, b.N), cmp.Compare(a.Consumer, b.Consumer))
}

// Death is what was proved of a message before somebody decided about it.
type Death struct {
	State State
	Rule  string
	Since Micros
}

// decided is the row of the table of verdicts that [Verdict.triaged] applies. It is judged last, because a decision says nothing about a
// message that lives: one that was deferred and is delivered again is in its worker's hands.
var decided = Rule{Name: "decided", State: StateTriaged,
	Why: "Somebody decided about the message, and the first row below that holds says that it is dead."}

// triaged is the verdict with the decision about the message taken into account.
func (v Verdict) triaged(t *TriageFacts) Verdict {
	if t == nil || t.Outcome == "" || !v.State.Dead() {
		return v
	}
	return Verdict{State: StateTriaged, Rule: decided.Name, Since: t.At, Outcome: t.Outcome, Death: Death{State: v.State, Rule: v.Rule, Since: v.Since}}
}
