package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// Answers are the three questions that a trace answers in words (SPEC 2).
type Answers struct {
	Ownership   Answer // Where did ownership last transfer?
	LastReceipt Answer // What is the last durable receipt?
	Recovery    Answer // What did recovery decide, or what comes next?
}

// Answer is a sentence with its time and how it is known.
type Answer struct {
	Text       string
	At         Micros // Zero when the answer has no time.
	Provenance Provenance
}

func answer(t Trace) Answers {
	if len(t.Messages) == 0 {
		return answersWithoutMessage(t)
	}
	head := t.shown()
	return Answers{Ownership: ownership(head), LastReceipt: lastReceipt(t, head), Recovery: recovery(t, head)}
}

func answersWithoutMessage(t Trace) Answers {
	nothing := Answer{Text: "No stored message of this task was observed, so nobody is known to have owned it.", Provenance: Inferred}
	next := Answer{Text: "Nothing can be recommended while no stored message is known.", Provenance: Inferred}
	receipt := Answer{Text: "None: no stored message, completion record or receipt was observed.", Provenance: Inferred}
	if c := t.Facts.Completion; c != nil {
		receipt = Answer{Text: "A completion is recorded, although no stored message was observed.", At: c.At, Provenance: Recorded}
	}
	switch blind := slices.ContainsFunc(t.Gaps, func(g Gap) bool { return !g.Repaired }); {
	case t.Facts.NotStoredAt.Known() && blind:
		next.Text = "A publish was attempted, and lines were lost around it: whether it was stored is not known. Look for its effect before publishing it again."
	case t.Facts.NotStoredAt.Known():
		next.Text = "A publish was attempted and nothing was stored: publish it again, or find out why the stream refused it."
	}
	return Answers{Ownership: nothing, LastReceipt: receipt, Recovery: next}
}

// shown is the message by which the task is shown; the newest one where that message was not read.
func (t *Trace) shown() MessageTrace {
	k := t.Facts.shown()
	for _, m := range t.Messages {
		if m.Facts.Key == k {
			return m
		}
	}
	return t.Messages[len(t.Messages)-1]
}

// ownership says where the message last changed hands.
func ownership(m MessageTrace) Answer {
	holder := firstText(m.Facts.Consumer, "a worker")
	if d := m.Facts.Dead; d != nil && (m.Verdict.State == StateDeadLettered || m.Verdict.State == StateTriaged) {
		return Answer{Text: "The dead-letter queue took it over.", At: d.At, Provenance: Recorded}
	}
	if len(m.Attempts) == 0 {
		return ownershipBeforeDelivery(m)
	}
	a := lastOwner(m.Attempts)
	number := attemptOf(a.N, m.Consumer)
	switch {
	case m.Verdict.State == StateOutcomeUnknown:
		return Answer{Text: fmt.Sprintf("%s had %s; then the message left the stream without an answer.", holder, number), At: m.Facts.VanishedAt, Provenance: Broker}
	case a.End == EndAcked:
		return Answer{Text: fmt.Sprintf("%s ended its ownership by acknowledging %s.", holder, number), At: a.EndedAt, Provenance: Observed}
	case a.End == EndNaked:
		return Answer{Text: fmt.Sprintf("%s handed it back to the stream: %s ended by nak.", holder, number), At: a.EndedAt, Provenance: Observed}
	case a.End == EndTerminated:
		return Answer{Text: fmt.Sprintf("%s gave it up for good: %s was terminated.", holder, number), At: a.EndedAt, Provenance: Observed}
	case a.End == EndTimedOut:
		return Answer{Text: fmt.Sprintf("The lease of %s on %s lapsed without an answer; ownership fell back to the stream.", holder, number), At: a.EndedAt, Provenance: Inferred}
	}
	text := fmt.Sprintf("%s took %s and still has it.", holder, number)
	if m.Lease != nil && m.Lease.Owner != "" {
		text = fmt.Sprintf("%s took %s for %s (fencing token %d) and still has it.", holder, number, m.Lease.Owner, m.Lease.LeaseVersion)
	}
	p := Inferred
	if a.BeganExact {
		p = Broker
	}
	return Answer{Text: text, At: a.BeganAt, Provenance: p}
}

// lastOwner is the attempt that decided: the one that was acknowledged, else the last; the zero attempt when there is none.
func lastOwner(attempts []Attempt) Attempt {
	if len(attempts) == 0 {
		return Attempt{}
	}
	for _, a := range attempts {
		if a.End == EndAcked {
			return a
		}
	}
	return attempts[len(attempts)-1]
}

func ownershipBeforeDelivery(m MessageTrace) Answer {
	stored := m.Facts.Stored
	switch {
	case stored == nil:
		return Answer{Text: "The publish line was not captured and no delivery is known.", At: m.Facts.FirstAt, Provenance: Inferred}
	case m.Facts.OrphanedAt > m.Facts.AdoptedAt:
		return Answer{Text: "The stream has had it since it was published, and no consumer's filter matches its subject.", At: stored.At, Provenance: Broker}
	case m.Verdict.State == StateRemoved:
		return Answer{Text: removedText(m.Facts.Removal) + " No worker ever had it.", At: m.Facts.VanishedAt, Provenance: Broker}
	case m.Verdict.State == StateOutcomeUnknown:
		return Answer{Text: "The stream had it; it left without a delivery being seen.", At: m.Facts.VanishedAt, Provenance: Broker}
	}
	return Answer{Text: "The stream has had it since it was published; no delivery is known.", At: stored.At, Provenance: Observed}
}

// lastReceipt is the strongest durable evidence, newest first: what would survive if every process died now.
func lastReceipt(t Trace, m MessageTrace) Answer {
	best := Answer{Text: "None: the publish line was not captured.", Provenance: Inferred}
	consider := func(at Micros, p Provenance, text string) {
		if at.Known() && at >= best.At {
			best = Answer{Text: text, At: at, Provenance: p}
		}
	}
	if s := m.Facts.Stored; s != nil {
		consider(s.At, Observed, fmt.Sprintf("Stored as %s; nothing later is durable.", m.Facts.Key))
	}
	for _, r := range m.bound.reports {
		consider(r.CheckpointAt, Reported, "A checkpoint: the agent reports that work up to it can be resumed.")
		consider(r.ReceiptAt, Reported, "A step receipt: the agent reports that the effect is confirmed.")
		consider(r.CompletedAt, Reported, "Completion: the agent reports a recoverable result.")
		consider(r.SentAt, Reported, "Sent: the agent reports that the outside accepted the outgoing message.")
	}
	consider(m.bound.recordedAt, Recorded, "A completion record in the idempotency store.")
	for _, a := range m.Attempts {
		if a.End == EndAcked {
			text := "The acknowledgement of " + attemptOf(a.N, m.Consumer) + "."
			if a.Confirmed {
				text = "The acknowledgement of " + attemptOf(a.N, m.Consumer) + ", confirmed by the broker."
			}
			consider(a.AckAt, Observed, text)
		}
	}
	if d := m.Facts.Dead; d != nil {
		consider(d.At, Recorded, "The dead-letter entry.")
	}
	return best
}

// recovery says what happens next by itself, or that nothing will.
func recovery(t Trace, m MessageTrace) Answer {
	say := func(text string, at Micros) Answer { return Answer{Text: text, At: at, Provenance: Inferred} }
	switch m.Verdict.State {
	case StateCompleted:
		if m.Facts.VanishedAt.Known() && lastOwner(m.Attempts).End != EndAcked {
			return say("Nothing to do: completion is recorded and the message has left the stream.", 0)
		}
		return say("Nothing to do: it is acknowledged.", 0)
	case StateCompleting:
		return say("Completion is recorded. A redelivery will find the record and skip the work; nothing must be run again.", 0)
	case StateDeadLettered:
		return say("It waits in the dead-letter queue for a decision.", 0)
	case StateTriaged:
		return triaged(*m.Facts.Triage)
	case StateOutcomeUnknown:
		return say("Unknown effects: look up whether the work was done before anything is run again.", 0)
	case StateRemoved:
		return say("Nothing: it has left the stream, and no worker ever had it.", 0)
	case StateTerminated:
		text := "Its worker gave it up for good and no dead-letter entry exists: nobody will touch it until somebody decides."
		if m.workDone() {
			text = "Its worker gave it up for good, but completion is recorded: the work is done, nothing must be run again."
		}
		return say(text, m.Verdict.Since)
	case StateExhausted:
		text := "No attempt is left and no dead-letter entry exists: nobody will touch it until somebody decides."
		if m.workDone() {
			text = "No attempt is left, but completion is recorded: the work is done, nothing must be run again."
		}
		return say(text, m.Verdict.Since)
	case StatePublished:
		if m.Facts.OrphanedAt > m.Facts.AdoptedAt {
			return say("Nothing will happen until a consumer's filter matches the subject.", 0)
		}
		return say("The broker delivers it with the worker's next pull.", 0)
	}
	return recoveryInHand(m, say)
}

// triaged says what was decided, by whom, and what follows.
func triaged(t TriageFacts) Answer {
	text := fmt.Sprintf("%s decided: %s. %s", firstText(t.Actor, "Somebody"), t.Outcome, t.Outcome.Meaning())
	if t.Outcome == OutcomeDeferred && t.Until.Known() {
		text += " It is due at " + clock(t.Until) + "."
	}
	return Answer{Text: text, At: t.At, Provenance: Recorded}
}

// workDone reports whether the work of the message's key is known to be done: by this message or by another one of its key.
func (m *MessageTrace) workDone() bool {
	return m.bound.recordedAt.Known() || m.bound.reportedAt.Known() || m.bound.coveredAt.Known()
}

// removedText says what took a message out of its stream.
func removedText(r Removal) string {
	if !r.Known() {
		return "It was removed from the stream."
	}
	return "It was removed from the stream " + r.Words() + "."
}

func recoveryInHand(m MessageTrace, say func(string, Micros) Answer) Answer {
	next := NextStep{}
	if m.Lease != nil {
		next = m.Lease.Next
	} else if l, _ := LeaseOf(OpenMessage{Message: m.Facts}, m.Consumer, Typical{}, 0); l.Next.What != "" {
		next = l.Next
	}
	switch next.What {
	case "redelivery":
		return say("Without an answer the broker delivers it again.", next.At)
	case "exhaustion":
		return say("This is the last attempt: without an answer it is exhausted.", next.At)
	}
	return say("The consumer's configuration is not known, so the next step cannot be told.", 0)
}

func attemptOf(n int, c *ConsumerState) string {
	if c != nil && c.MaxDeliver > 0 {
		return fmt.Sprintf("attempt %d of %d", n, c.MaxDeliver)
	}
	return fmt.Sprintf("attempt %d", n)
}

// clock is how instants read in sentences and reports.
func clock(m Micros) string { return m.Time().Format("2006-01-02 15:04:05.000 UTC") }

// span is how durations read in sentences and reports.
func span(d time.Duration) string { return d.Round(time.Millisecond).String() }
