package lifecycle

import (
	"fmt"
	"strings"
	"time"
)

// recovery says what happens next by itself, or that nothing will.
func recovery(m MessageTrace, in TraceInput) Answer {
	say := func(headline, text string) Answer {
		return Answer{Headline: headline, Text: text, Provenance: Inferred}
	}
	switch m.Verdict.State {
	case StateCompleted:
		if m.Verdict.Rule == ruleLetGo {
			return say("Nothing to do", "Its completion is known, and its consumer is past it and awaits no answer: nobody delivers it again.")
		}
		if m.Facts.VanishedAt.Known() && m.lastOwner().End != EndAcked {
			if m.Facts.goneUnexplained() {
				return say("Nothing to do", "Its completion was known before the message was missed in the stream.")
			}
			return say("Nothing to do", "Its completion was known before the message left the stream.")
		}
		return say("Nothing to do", "It is acknowledged.")
	case StateCompleting:
		if m.Verdict.Rule == ruleReported {
			return say("Wait for its acknowledgement", "Its agent reports completion; no record of that was seen, so a redelivery may run it again.")
		}
		if !m.bound.findable {
			return say("Wait for its acknowledgement", "Its completion was recorded, and that record is gone, so a redelivery may run it again.")
		}
		return say("Do not run it again", "Its completion is known: a redelivery will find it and skip the work.")
	case StateDeadLettered:
		if m.Facts.Acting() {
			return asked(*m.Facts.Asked, in.Now)
		}
		return say("It waits for a decision", "The page DLQ says what can be done about it.")
	case StateTriaged:
		return triaged(*m.Facts.Triage, in.Now)
	case StateOutcomeUnknown:
		if m.Verdict.Rule == ruleStranded {
			return say("Look for its effect first", "It is in the stream and nobody delivers it again, unless its consumer is reset or created anew; whether a worker had it is not known: look for its effect before it is published again.")
		}
		return say("Look for its effect first", "Whether the work was done is not known: look it up before anything is run again.")
	case StateRemoved:
		return say("Nothing happens by itself", "It has left the stream, and no worker ever had it.")
	case StateTerminated, StateExhausted:
		return deadWithoutEntry(m, in)
	case StatePublished:
		return waiting(m, in)
	}
	return inHand(m, in)
}

// actionNouns say in a sentence what actions are asked for.
var actionNouns = map[string]string{"retry": "a retry", "reassign": "a reassignment", "quarantine": "its quarantine", "release": "its release"}

// asked speaks of a dead message about which somebody asked for something that has not come yet.
func asked(t TriageFacts, now Micros) Answer {
	action := firstText(actionNouns[t.Action], "an action")
	text := fmt.Sprintf("%s asked for %s; ", firstText(t.Actor, "Somebody"), action)
	switch {
	case t.Until > now:
		text += fmt.Sprintf("it is due at %s.", clock(t.Until))
	case t.Until.Known():
		text += fmt.Sprintf("it is due since %s, and what came of it is not known yet.", Lasting(now.Sub(t.Until)))
	default:
		text += "what came of it is not known yet."
	}
	return Answer{Headline: "Somebody asked for " + action, Text: text, At: t.At, Provenance: Recorded}
}

// besideSharers adds what other tasks with the message's key did to what comes next, unless nothing does.
func besideSharers(a Answer, m MessageTrace, t TaskFacts) Answer {
	sharers := t.Sharers(m.Facts)
	if len(sharers) == 0 || m.Verdict.State == StateCompleted || m.Verdict.State == StateCompleting {
		return a
	}
	first := sharers[0]
	if m.Verdict.State.Recoverable() && first.DoneAt.Known() {
		a.Headline = "Look at the task with its key"
	}
	words := strings.TrimSuffix(first.Words(), ".")
	if more := len(sharers) - 1; more > 0 {
		words += fmt.Sprintf(", and %d more have that key", more)
	}
	return a.and(words)
}

// besideRecord adds that the completion of its idempotency key is recorded, where the record does not complete the message itself: it covers the message. Of a
// record that was deleted before it was read nobody knows what it said.
func besideRecord(a Answer, m MessageTrace) Answer {
	if state := m.Verdict.State; m.bound.unreadAt.Known() && m.bound.toldAt() == 0 && state != StateCompleted && state != StateTriaged {
		return a.and("its idempotency record was deleted or has expired, and was not read before: its work may have been done")
	}
	if s := m.Facts.Stored; !m.bound.coveredAt.Known() || m.bound.recordedAt.Known() || m.bound.reportedAt.Known() || s == nil || s.IdempotencyKey == "" {
		return a
	}
	switch state := m.Verdict.State; {
	case state == StateOutcomeUnknown || state == StateRemoved:
		return a.and("a completion of its key is recorded")
	case state.Open() && !m.bound.findable:
		return a.and("a completion of its key was recorded, and that record is gone, so that a later delivery may run it again")
	case state.Open():
		return a.and("a completion of its key is recorded, so that a later delivery will find it and skip the work")
	}
	return a
}

// besideDone adds to what comes next for a message, open or of unknown outcome, that another one of the same work is completed, and no record is known by which a worker
// would find that.
func besideDone(a Answer, m MessageTrace, all []MessageTrace) Answer {
	open := m.Verdict.State.Open()
	if !open && m.Verdict.State != StateOutcomeUnknown || m.bound.coveredAt.Known() || m.bound.recordedAt.Known() {
		return a
	}
	for _, other := range all {
		switch done := fmt.Sprintf("%s is the same work and is completed", other.Facts.Key); {
		case other.Verdict.State != StateCompleted || !other.Facts.SameWork(m.Facts):
		case open:
			return a.and(done + ", so it may be done twice")
		default:
			return a.and(done)
		}
	}
	return a
}

// SameWork reports whether two messages of a task have one idempotency key, or are one message that came back.
func (m MessageFacts) SameWork(o MessageFacts) bool {
	s, t := m.Stored, o.Stored
	if m.Key == o.Key || s == nil || t == nil {
		return false
	}
	return m.Key.cameBack(s.At, o.Key, t.At) || (s.IdempotencyKey != "" && s.IdempotencyKey == t.IdempotencyKey)
}

// besideOthers adds that another message of the task is still to be worked on, where the one by which it is shown is over.
func besideOthers(a Answer, m MessageTrace, all []MessageTrace) Answer {
	if m.Verdict.State.Open() {
		return a
	}
	for _, other := range all {
		if other.Facts.Key == m.Facts.Key || !other.Verdict.State.Open() {
			continue
		}
		if m.Verdict.State == StateCompleted || m.Verdict.State == StateRemoved {
			a.Headline = "Another message of it waits"
		}
		return a.and(fmt.Sprintf("%s, another message of this task, is %s", other.Facts.Key, other.Verdict.State))
	}
	return a
}

// deadWithoutEntry speaks of a dead message of which no dead-letter entry was seen. There is none only where the dead-letter queue was read up to after the death.
func deadWithoutEntry(m MessageTrace, in TraceInput) Answer {
	why := "No attempt is left"
	if m.Verdict.State == StateTerminated {
		why = "Its worker gave it up for good"
	}
	if m.bound.recordedAt.Known() || m.bound.reportedAt.Known() || m.bound.coveredAt.Known() {
		return Answer{Headline: "Do not run it again", Text: why + ", but completion is known: the work is done.", At: m.Verdict.Since, Provenance: Inferred}
	}
	if m.Facts.Acting() {
		return asked(*m.Facts.Asked, in.Now)
	}
	if m.Facts.goneUnexplained() {
		return Answer{Headline: "Look for its effect first", At: m.Facts.VanishedAt, Provenance: Inferred,
			Text: why + ", and it left the stream since: by hand, or by a late acknowledgement that was not seen."}
	}
	silent := in.silentTaker(m) != ""
	if silent && m.Verdict.State == StateExhausted {
		why = "One consumer has used up its attempts"
	}
	a := Answer{Headline: "Somebody must decide", At: m.Verdict.Since, Provenance: Inferred}
	if silent {
		a.Headline = "Another consumer may deliver it"
	}
	switch {
	case in.EntriesRead <= m.Verdict.Since:
		a.Text = why + "; whether it has a dead-letter entry is not known, because the queue was not read up to then."
	case silent:
		a.Text = why + ", and no dead-letter entry was seen."
	default:
		a.Text = why + ", and no dead-letter entry was seen: nothing happens to it by itself."
	}
	return a
}

// triaged says what was decided, by whom, and what follows.
func triaged(t TriageFacts, now Micros) Answer {
	meaning := strings.TrimSuffix(t.Outcome.Meaning(), ".")
	text := fmt.Sprintf("%s decided: %s; %s%s", firstText(t.Actor, "Somebody"), t.Outcome, strings.ToLower(meaning[:1]), meaning[1:])
	switch due := t.Outcome == OutcomeDeferred && t.Until.Known(); {
	case due && t.Until <= now:
		text += ", and is due since " + Lasting(now.Sub(t.Until))
	case due:
		text += ", and is due at " + clock(t.Until)
	}
	return Answer{Headline: fmt.Sprintf("Somebody decided: %s", t.Outcome), Text: text + ".", At: t.At, Provenance: Recorded}
}

// waiting speaks of a message that nobody has: what its consumers do decides what comes next.
func waiting(m MessageTrace, in TraceInput) Answer {
	say := func(headline, text string) Answer { return Answer{Headline: headline, Text: text, Provenance: Broker} }
	takers := in.takersOf(m.Facts)
	if len(m.Others) > 0 { // Those have it, or had it.
		takers = takers.only(m.Facts.Consumer)
	}
	takers = takers.before(m.Facts)
	switch {
	case m.Facts.Stored != nil && m.Facts.Stored.Schedule != "" && len(takers.present) == 0:
		return Answer{Headline: "It is scheduled", Text: m.Facts.Stored.fires(in.Now), Provenance: Observed}
	case takers.gone != "" && len(takers.present) == 0:
		return say("Its consumer is gone", fmt.Sprintf("Consumer %s does not exist now: nobody delivers it until a consumer exists.", takers.gone))
	case m.Facts.OrphanedAt > m.Facts.AdoptedAt:
		return say("No consumer takes it", "Nothing will happen until a consumer's filter matches the subject.")
	case in.stray(m.Facts) != "" && len(takers.present) == 0 && !takers.watch:
		return say("Whether a worker has it is not known", fmt.Sprintf("%s takes other subjects now and may have been given it before; else nothing happens until a consumer's filter matches the subject.", in.stray(m.Facts)))
	case takers.watch && len(takers.present) == 0:
		return say("It cannot be judged", "Its stream keeps messages after an answer, and no consumer that takes it is named as a worker's (--worker-consumers).")
	case takers.all(func(c ConsumerState) bool { return c.pausedAt(in.Now) }):
		return say("Its consumer is paused", fmt.Sprintf("Nothing is delivered until %s.", takers.present[0].resumes()))
	case takers.all(func(c ConsumerState) bool { return c.past(m.Facts) }):
		return say("Not known yet", fmt.Sprintf("Consumer %s is past it; whether a worker has it is not known yet.", takers.present[0].Name))
	case takers.all(ConsumerState.unheard):
		return say("No worker is subscribed", fmt.Sprintf("The broker sends it once a worker subscribes to what consumer %s delivers.", takers.present[0].Name))
	case takers.all(ConsumerState.busy):
		return say("Its worker is busy", in.behind(takers.present[0]))
	case len(takers.present) > 0:
		return say("It waits for a worker", fmt.Sprintf("The broker delivers it to the next free worker of %s.", takers.present[0].Name))
	}
	return Answer{Headline: "It waits for a worker", Text: "Which consumer takes it is not known yet.", Provenance: Inferred}
}

// fires says when the broker publishes a schedule to its target, as its header says it.
func (s *StoredFacts) fires(now Micros) string {
	to := "The broker publishes it to " + firstText(s.Target, "its target")
	at, err := time.Parse(time.RFC3339, strings.TrimPrefix(s.Schedule, "@at "))
	switch {
	case err != nil:
		return fmt.Sprintf("%s again and again (%s).", to, s.Schedule)
	case MicrosOf(at) <= now:
		return fmt.Sprintf("%s: it is due since %s.", to, Lasting(now.Sub(MicrosOf(at))))
	}
	return fmt.Sprintf("%s at %s.", to, clock(MicrosOf(at)))
}

// resumes says when a paused consumer goes on.
func (c ConsumerState) resumes() string {
	if !c.PausedUntil.Known() {
		return fmt.Sprintf("consumer %s resumes", c.Name)
	}
	return fmt.Sprintf("consumer %s resumes, at %s unless somebody changes that", c.Name, clock(c.PausedUntil))
}

// behind says which task a busy consumer works on, where that is known.
func (in TraceInput) behind(c ConsumerState) string {
	for _, l := range in.Leases {
		if l.Consumer == c.Name && l.Message.Stream == c.Stream {
			return fmt.Sprintf("Consumer %s holds all that it may (%d); it waits behind task %s.", c.Name, c.MaxAckPending, l.TaskID)
		}
	}
	return fmt.Sprintf("Consumer %s holds all that it may (%d); it waits until one of them is answered.", c.Name, c.MaxAckPending)
}

// inHand speaks of a message that a worker has, or that is due again after a failed attempt.
func inHand(m MessageTrace, in TraceInput) Answer {
	if m.Lease != nil && m.Lease.Resolved != nil {
		return markedResolved(*m.Lease.Resolved)
	}
	next := m.next()
	say := func(headline, text string) Answer {
		return Answer{Headline: headline, Text: text, At: next.At, Provenance: Inferred}
	}
	past, back := next.At.Known() && next.At <= in.Now, m.Verdict.State == StateFailed // Back in the stream: nobody has it.
	c := m.Consumer
	if other, why := in.anotherTaker(m), c.givesNoMore(next, in.Now); other != "" && why != "" {
		return say("Another consumer may deliver it", fmt.Sprintf("%s; %s.", why, takesToo(other)))
	}
	switch {
	case m.Lease != nil && m.Lease.Unread:
		return say("Not known yet", fmt.Sprintf("Its deadline passed %s ago, and an answer in time or a longer ack wait may not have been seen.", Lasting(in.Now.Sub(m.Lease.Deadline))))
	case c != nil && c.Gone:
		return say("Its consumer is gone", fmt.Sprintf("Consumer %s does not exist now: nobody delivers it until a consumer exists, and an answer has no effect now.", c.Name))
	case c == nil || next.What == "":
		return say("Not known", "The consumer's configuration is not known, so the next step cannot be told.")
	case next.What == "exhaustion" && past:
		return say(dueSince(m, next, in.Now), "Its last attempt had no answer in time.")
	case next.What == "exhaustion" && back:
		return say("No attempt is left", "The broker gives it up when its turn comes again.")
	case next.What == "exhaustion":
		return say("This is the last attempt", "Without an answer it is exhausted.")
	case c.pausedAt(in.Now) && back:
		return say("Its consumer is paused", fmt.Sprintf("Nothing is delivered until %s.", c.resumes()))
	case c.pausedAt(in.Now):
		return say("Its consumer is paused", fmt.Sprintf("Without an answer it waits until %s.", c.resumes()))
	case past && c.unheard():
		return say(dueSince(m, next, in.Now), fmt.Sprintf("No worker is subscribed: the broker sends it once one subscribes to what consumer %s delivers.", c.Name))
	case past && c.MaxAckPending != 1:
		return say(dueSince(m, next, in.Now), "It goes to the next free worker, if none has it already.")
	case past:
		return say(dueSince(m, next, in.Now), "It goes to the next free worker.")
	case back:
		return say("It was handed back", "The broker delivers it again when its delay has passed.")
	}
	if l := m.Lease; l != nil && l.Sender > 0 && l.Sender < l.Attempt {
		return say("An older attempt keeps its lease", fmt.Sprintf("The worker of attempt %d, which lost it, sends heartbeats; without them and an answer the broker delivers it again.", l.Sender))
	}
	return say("A worker has it", "Without an answer the broker delivers it again.")
}

// givesNoMore says why a consumer does not give a message that it delivered to another worker as things are; empty where it does. c may be nil.
func (c *ConsumerState) givesNoMore(next NextStep, now Micros) string {
	switch {
	case c == nil:
		return ""
	case c.Gone:
		return fmt.Sprintf("Consumer %s does not exist now, and an answer to it has no effect", c.Name)
	case next.What == "exhaustion":
		return fmt.Sprintf("Consumer %s allows no further attempt", c.Name)
	case c.pausedAt(now):
		return fmt.Sprintf("Consumer %s is paused", c.Name)
	case c.unheard():
		return fmt.Sprintf("Nobody is subscribed to what consumer %s delivers", c.Name)
	}
	return ""
}

// dueSince is how long a message has been due that no answer came for in time.
func dueSince(m MessageTrace, next NextStep, now Micros) string {
	since := "Due since " + Lasting(now.Sub(next.At))
	if m.Lease != nil && m.Lease.AtLatest {
		return since + ", or longer"
	}
	return since
}

// markedResolved says who marked the message as resolved. That is no completion: the broker goes on as before.
func markedResolved(t TriageFacts) Answer {
	return Answer{Headline: "Somebody marked it as resolved", At: t.At, Provenance: Recorded,
		Text: fmt.Sprintf("%s marked attempt %d as resolved, which is no completion: without an answer the broker goes on as before.", firstText(t.Actor, "Somebody"), t.N)}
}

// next is the next step of the lease, also where nobody holds the message.
func (m *MessageTrace) next() NextStep {
	if m.Lease != nil {
		return m.Lease.Next
	}
	l, _ := LeaseOf(OpenMessage{Message: m.Facts}, m.Consumer, Typical{}, Moment{})
	return l.Next
}
