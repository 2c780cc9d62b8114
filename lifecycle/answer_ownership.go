package lifecycle

import (
	"fmt"
	"slices"
)

// ownership says where the message last changed hands.
func ownership(m MessageTrace) Answer {
	if d := m.Facts.Dead; d != nil && m.Verdict.HasEntry() {
		return Answer{Headline: "The dead-letter queue took it over", Text: "An entry of it was stored in the dead-letter queue.", At: d.At, Provenance: Recorded}
	}
	if m.Verdict.Rule == ruleStranded || m.Verdict.Rule == ruleLetGo {
		return Answer{Headline: "Nobody: its consumer is past it", At: m.Facts.StrandedAt, Provenance: Broker,
			Text: fmt.Sprintf("The stream still has it; %s is past it and awaits no answer to it.", firstText(m.Facts.Consumer, "its consumer"))}
	}
	if len(m.Attempts) == 0 {
		return ownershipBeforeDelivery(m)
	}
	a := m.lastOwner()
	holder, number := firstText(m.Facts.Consumer, "a worker"), m.named(a)
	switch {
	case a.End == EndAcked && !a.AckAt.Known():
		return Answer{Headline: "Nobody: its worker acknowledged it", Text: fmt.Sprintf("The broker accepted the acknowledgement of %s by %s; the worker's own line was not seen.", number, holder),
			At: a.EndedAt, Provenance: Broker}
	case a.End == EndAcked:
		return Answer{Headline: "Nobody: its worker acknowledged it", Text: fmt.Sprintf("%s ended its ownership by acknowledging %s.", holder, number),
			At: a.EndedAt, Provenance: Observed}
	case a.End == EndTerminated:
		return Answer{Headline: "Nobody: its worker gave it up", Text: fmt.Sprintf("%s gave it up for good: %s was terminated.", holder, number),
			At: a.EndedAt, Provenance: Observed}
	case m.Facts.VanishedAt.Known():
		return ownershipLost(m, a, holder, number)
	case a.End == EndNacked:
		who := holder + " handed it back"
		if by := m.Facts.releasedIn(a.N); by != nil {
			who = firstText(by.Actor, "Somebody") + " handed it back through Fleetglass"
		}
		return Answer{Headline: "The stream has it again", Text: fmt.Sprintf("%s: %s ended by nak.", who, number), At: a.EndedAt, Provenance: Observed}
	case a.NakOf > 0:
		return Answer{Headline: "The stream has it again", Text: fmt.Sprintf("%s had %s: %s.", holder, number, a.Reason), At: a.EndedAt, Provenance: Inferred}
	case a.End == EndTimedOut && !a.LeaseRanOut:
		return Answer{Headline: "The stream has it again", Text: fmt.Sprintf("%s had %s, and the broker took it back without an answer.", holder, number), At: a.EndedAt, Provenance: Inferred}
	case a.End == EndTimedOut:
		return Answer{Headline: "The stream has it again", Text: fmt.Sprintf("The lease of %s on %s lapsed without an answer.", holder, number),
			At: a.EndedAt, Provenance: Inferred}
	}
	return ownershipInHand(m, a, holder, number)
}

func ownershipInHand(m MessageTrace, a Attempt, holder, number string) Answer {
	out := Answer{Headline: "A worker has " + number, Text: fmt.Sprintf("%s took %s and still has it.", holder, number), At: a.BeganAt, Provenance: Inferred}
	if m.Lease != nil && m.Lease.Owner != "" {
		out.Text = fmt.Sprintf("%s took %s for %s (fencing token %d) and still has it.", holder, number, m.Lease.Owner, m.Lease.LeaseVersion)
	}
	if a.BeganExact {
		out.Provenance = Broker
	}
	claim, open := m.Facts.OpenClaim()
	switch {
	case open && claim.N == a.N && m.Facts.AnswersFormer(claim) == a.Former:
		out.Headline = "Answered, without proof of an effect"
		out.Text = fmt.Sprintf("%s answered %s, and the broker's state does not prove that this had effect.", holder, number)
		out.At, out.Provenance = claim.At, Observed
	case m.Consumer != nil && m.Consumer.Gone && m.answered(a):
		out.Headline = "Answered, without effect"
		out.Text = fmt.Sprintf("%s took %s, and does not exist now: an answer that was seen had no effect.", holder, number)
	case m.Consumer != nil && m.Consumer.Gone:
		out.Headline = "A worker had " + number
		out.Text = fmt.Sprintf("%s took %s, and does not exist now.", holder, number)
	}
	return out
}

// answered reports whether an answer of the attempt's worker was seen that would have ended the message.
func (m *MessageTrace) answered(a Attempt) bool {
	return a.AckAt.Known() || slices.ContainsFunc(m.Facts.Claims, func(c Claim) bool {
		return c.Ends() && c.N == a.N && m.Facts.AnswersFormer(c) == a.Former && m.Facts.ByHolder(c)
	})
}

// ownershipLost speaks of a message that left the stream, after it was in a worker's hands, without an answer that ended it.
func ownershipLost(m MessageTrace, a Attempt, holder, number string) Answer {
	before := fmt.Sprintf("%s had %s", holder, number)
	switch {
	case a.End == EndNacked:
		before = fmt.Sprintf("%s had handed %s back", holder, number)
	case a.LeaseRanOut:
		before = fmt.Sprintf("The lease of %s on %s had lapsed", holder, number)
	case a.End == EndTimedOut:
		before += ", and the broker had taken it back"
	}
	out := Answer{Headline: "Nobody: it left the stream", Text: before + "; then the message left the stream, and no answer was seen.", At: m.Facts.VanishedAt, Provenance: m.Facts.Removal.Provenance()}
	switch by := m.Facts.Removal; {
	case m.Facts.answerSaid():
		out.Headline, out.Text = "Nobody: it was answered or removed", before+"; the broker told of an answer, and later that it was deleted unanswered, and which is true is not known."
	case by.Known() && a.End == EndRemoved:
		out.Headline, out.Text = "Nobody: it was removed while a worker had it", fmt.Sprintf("%s when the message was removed %s.", before, by.Words())
	case by.Known():
		out.Headline, out.Text = "Nobody: it was removed", fmt.Sprintf("%s; then the message was removed %s.", before, by.Words())
	}
	return out
}

// lastOwner is the attempt that decided: the one whose acknowledgement or termination ended the message, else the last; the zero attempt when there is none. Of several
// such answers the first had effect, whichever attempt gave it. Where the consumer was created anew, and its workers answered too, their first answer decides. An open
// message was given again after that.
func (m *MessageTrace) lastOwner() (owner Attempt) {
	gaveUp := m.Verdict.State == StateTerminated || m.Verdict.Death.State == StateTerminated
	for _, a := range m.Attempts {
		ended := a.End == EndAcked && !m.Verdict.State.Open() || a.End == EndTerminated && gaveUp
		if ended && (!owner.EndedAt.Known() || owner.Former && !a.Former || a.EndedAt < owner.EndedAt) {
			owner = a
		}
	}
	if n := len(m.Attempts); n > 0 && !owner.EndedAt.Known() {
		owner = m.Attempts[n-1]
	}
	return owner
}

func ownershipBeforeDelivery(m MessageTrace) Answer {
	stored := m.Facts.Stored
	switch {
	case stored == nil:
		return Answer{Headline: "Nobody is known to have it", Text: "The publish line was not captured and no delivery is known.",
			At: m.Facts.FirstAt, Provenance: Inferred}
	case m.Verdict.State == StateRemoved:
		return Answer{Headline: "Nobody: it was removed", Text: removedText(m.Facts.Removal) + ", and no worker ever had it.", At: m.Facts.VanishedAt, Provenance: m.Facts.Removal.Provenance()}
	case m.Facts.VanishedAt.Known() && m.Facts.Removal.Known():
		return Answer{Headline: "Nobody: it was removed", Text: removedText(m.Facts.Removal) + ", and whether a worker had it before is not known.",
			At: m.Facts.VanishedAt, Provenance: Broker}
	case m.Facts.VanishedAt.Known() && m.Consumer.letsGo(m.Facts.Key.Seq):
		return Answer{Headline: "Nobody: it left the stream", Text: "Consumer " + m.Consumer.Name + " awaits no answers and is past it: its stream may have dropped it when a worker was sent it.",
			At: m.Facts.VanishedAt, Provenance: Inferred}
	case m.Facts.VanishedAt.Known():
		return Answer{Headline: "Nobody: it left the stream", Text: "The stream had it; it left without a delivery being seen.", At: m.Facts.VanishedAt, Provenance: Inferred}
	case m.Facts.OrphanedAt > m.Facts.AdoptedAt:
		return Answer{Headline: "The stream has it", Text: "The stream has it, and no consumer's filter matches its subject.",
			At: stored.At, Provenance: Broker}
	}
	return Answer{Headline: "The stream has it", Text: "The stream has it; no delivery is known.", At: stored.At, Provenance: Observed}
}

// removedText says what took a message out of its stream, at the beginning of a sentence.
func removedText(r Removal) string {
	if !r.Known() {
		return "It was removed from the stream"
	}
	return "It was removed from the stream " + r.Words()
}
