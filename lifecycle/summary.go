package lifecycle

import (
	"strings"
	"time"
)

// TaskSummary is a task as lists show it: the state of its newest message and what is worth a column.
type TaskSummary struct {
	TaskID      string
	Listed      bool // False while only publish attempts, records or reports are known, which may be ahead of the stored message.
	State       State
	Rule        string // The row of the table of verdicts that holds.
	Agent       string
	Type        string
	Title       string // A short human name found in the payload. Untrusted.
	Message     MessageKey
	Consumer    string
	Generation  int // Of the newest message: 0 is the first.
	Attempt     int // Current or last attempt of the newest message; zero when none is known.
	Messages    int
	PublishedAt Micros // Of the newest message.
	LastEventAt Micros
	LastEvent   Kind // What happened then: to the newest message, or to the task itself.
	StateSince  Micros
	EndedAt     Micros        // When the state stopped being open; zero while it is open.
	Waiting     time.Duration // Of the newest message: stored but in nobody's hands, as far as is known.
	Running     time.Duration // Of the newest message: in a worker's hands, as far as is known; without the attempt that goes on.
	HeldSince   Micros        // When the attempt that goes on began, as far as is known; zero where none does.
	Duplicates  int           // Publishes caught by the stream.
	Category    string        // Of the dead-letter entry.
	Reason      string        // Why it failed or died, in the words of whoever said so; empty where nobody did. Untrusted.
	Used        ModelTotal    // What agents reported to have used of language models, over all attempts.
	Outcome     Outcome       // What somebody decided about the newest message; empty unless the state is triaged.
	Died        State         // The state in which the newest message died; empty unless the state is triaged.
	Anomalies   []AnomalyCode
}

// MayBeHeld reports whether there may be a lease on the newest message ([LeaseOf]): somebody has it, or had it until a deadline that
// passed without an answer.
func (s TaskSummary) MayBeHeld() bool {
	return s.State.InFlight() || s.State == StateFailed || s.Rule == rulePresumedDead
}

// Summarize judges a task by its newest message. head is nil when no stored message is known.
func Summarize(t TaskFacts, head *MessageFacts) TaskSummary {
	s, _ := judgeTask(&t, head)
	return s
}

// judgeTask judges a task by its newest message and finds its duplicates.
func judgeTask(t *TaskFacts, head *MessageFacts) (TaskSummary, []Case) {
	cases := Ledger(t)
	owner, _ := t.owner()
	s := TaskSummary{
		TaskID: t.ID, Agent: t.Agent, Type: t.Type, Messages: t.Messages, LastEventAt: t.LastAt, LastEvent: t.LastKind, Duplicates: t.CaughtByStream(), Used: t.ModelTotal(),
		State: StateOutcomeUnknown, Rule: "nothing proved", StateSince: t.FirstAt, Listed: t.NotStoredAt.Known() || owner != "" || head != nil,
	}
	if head == nil {
		s.Anomalies = anomalies(t, cases, nil, nil, s.State)
		return s, cases
	}
	ev := evidenceOf(head, t)
	attempts := ev.attempts()
	s.take(t, &ev, ev.judge(), attempts)
	s.Anomalies = anomalies(t, cases, &ev, attempts, s.State)
	return s, cases
}

// take fills in what the newest message says.
func (s *TaskSummary) take(t *TaskFacts, ev *evidence, v Verdict, attempts []Attempt) {
	head := ev.m
	s.State, s.Rule, s.StateSince = v.State, v.Rule, v.Since
	s.Message, s.Consumer, s.Generation, s.Attempt = head.Key, head.Consumer, head.Generation(), ev.n
	s.Agent = firstText(head.Agent, t.Agent)
	s.LastEventAt, s.LastEvent = latestEvent(s.LastEventAt, s.LastEvent, head.LastAt, head.LastKind)
	if head.Stored != nil {
		s.PublishedAt, s.Title = head.Stored.At, head.Stored.Title
		s.Type = firstText(head.Stored.Type, t.Type)
	}
	if d := ev.entry(); d != nil {
		s.Category = d.Category
	}
	s.Outcome, s.Died, s.Reason = v.Outcome, v.Death.State, ev.cause(v)
	if !v.State.Open() {
		s.EndedAt = firstKnown(v.Death.Since, v.Since)
	}
	mt := MessageTrace{Facts: *head, Verdict: v, Attempts: attempts}
	mt.addUp(0)
	s.Waiting, s.Running = mt.Waiting, mt.Running
	s.HeldSince = mt.heldSince()
}

func firstText(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

func compareText(a, b string) int { return strings.Compare(a, b) }
