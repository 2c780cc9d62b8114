package lifecycle

import "fmt"

// ownership says where the message last changed hands.
func ownership(m MessageTrace) Answer {
	if d := m.Facts.Dead; d != nil && m.Verdict.HasEntry() {
		return Answer{Headline: "The dead-letter queue has it", Text: "The dead-letter queue took it over.", At: d.At, Provenance: Recorded}
	}
	if m.Verdict.Rule == ruleStranded {
		return Answer{Headline: "Nobody: its consumer is past it", At: m.Facts.StrandedAt, Provenance: Broker,
			Text: fmt.Sprintf("The stream still has it; %s is past it and awaits no answer to it.", firstText(m.Facts.Consumer, "its consumer"))}
	}
	if len(m.Attempts) == 0 {
		return ownershipBeforeDelivery(m)
	}
	a := lastOwner(m.Attempts)
	holder, number := firstText(m.Facts.Consumer, "a worker"), attemptOf(a.N, m.allowing(a.N))
	switch {
	case m.Verdict.State == StateOutcomeUnknown:
		return ownershipLost(m, holder, number)
	case a.End == EndAcked:
		return Answer{Headline: "Nobody: its worker acknowledged it", Text: fmt.Sprintf("%s ended its ownership by acknowledging %s.", holder, number),
			At: a.EndedAt, Provenance: Observed}
	case a.End == EndNacked:
		return Answer{Headline: "The stream has it again", Text: fmt.Sprintf("%s handed it back: %s ended by nak.", holder, number), At: a.EndedAt, Provenance: Observed}
	case a.End == EndTerminated:
		return Answer{Headline: "Nobody: its worker gave it up", Text: fmt.Sprintf("%s gave it up for good: %s was terminated.", holder, number),
			At: a.EndedAt, Provenance: Observed}
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
	if claim, open := m.Facts.OpenClaim(); open && claim.N == a.N {
		out.Headline = "Answered, without proof of an effect"
		out.Text = fmt.Sprintf("%s answered %s, and the broker's state does not prove that this had effect.", holder, number)
		out.At, out.Provenance = claim.At, Observed
	}
	return out
}

// ownershipLost speaks of a message that left a worker's hands without an answer.
func ownershipLost(m MessageTrace, holder, number string) Answer {
	out := Answer{Headline: "Nobody: it left without an answer", At: m.Facts.VanishedAt, Provenance: Broker,
		Text: fmt.Sprintf("%s had %s; then the message left the stream without an answer.", holder, number)}
	if m.Facts.Removal.Known() {
		out.Headline = "Nobody: it was removed in hand"
		out.Text = fmt.Sprintf("%s had %s when the message was removed %s.", holder, number, m.Facts.Removal.Words())
	}
	return out
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
		return Answer{Headline: "Nobody is known to have it", Text: "The publish line was not captured and no delivery is known.",
			At: m.Facts.FirstAt, Provenance: Inferred}
	case m.Verdict.State == StateRemoved:
		return Answer{Headline: "Nobody: it was removed", Text: removedText(m.Facts.Removal) + " No worker ever had it.", At: m.Facts.VanishedAt, Provenance: Broker}
	case m.Facts.OrphanedAt > m.Facts.AdoptedAt:
		return Answer{Headline: "The stream has it", Text: "The stream has had it since it was published, and no consumer's filter matches its subject.",
			At: stored.At, Provenance: Broker}
	case m.Verdict.State == StateOutcomeUnknown && m.Facts.Removal.Known():
		return Answer{Headline: "Nobody: it was removed", Text: removedText(m.Facts.Removal) + " Whether a worker had it before is not known.",
			At: m.Facts.VanishedAt, Provenance: Broker}
	case m.Verdict.State == StateOutcomeUnknown:
		return Answer{Headline: "Nobody: it left the stream", Text: "The stream had it; it left without a delivery being seen.", At: m.Facts.VanishedAt, Provenance: Broker}
	}
	return Answer{Headline: "The stream has it", Text: "The stream has had it since it was published; no delivery is known.", At: stored.At, Provenance: Observed}
}

// removedText says what took a message out of its stream.
func removedText(r Removal) string {
	if !r.Known() {
		return "It was removed from the stream."
	}
	return "It was removed from the stream " + r.Words() + "."
}
