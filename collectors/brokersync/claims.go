package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// tookEffect says of a missing message that an answer ended it whose effect was not proved when its line was read: its sender had the message, and
// nothing shows that its consumer was gone by then. It is not ok when there is no such answer.
func tookEffect(v view, m lifecycle.MessageFacts) (lifecycle.Event, bool) {
	claim, open := m.OpenClaim()
	if !open || v.Kept || !m.ByHolder(claim) || v.goneBefore(claim) {
		return lifecycle.Event{}, false
	}
	kind := lifecycle.AckConfirmed
	if claim.Kind == lifecycle.Terminated {
		kind = lifecycle.TermConfirmed
	}
	e := newEvent(kind, m, nil, claim.At, claim.CSeq, uint64(claim.N), uint64(claim.At))
	e.Provenance = lifecycle.Inferred
	e.Consumer, e.ConsumerSeq, e.Attempt = claim.Consumer, claim.CSeq, claim.N
	e.Detail.Reason, e.Detail.Former = claim.Reason, m.AnswersFormer(claim)
	return e, true
}

// goneBefore reports whether the consumer that an answer names had been deleted when it was sent, and was not created again by then.
func (v view) goneBefore(claim lifecycle.Claim) bool {
	for _, c := range v.Consumers {
		if c.Name == claim.Consumer && c.Began() <= claim.At {
			return false
		}
	}
	if v.Deleted == nil {
		return false
	}
	at, deleted := v.Deleted.Last[claim.Consumer]
	return deleted && at <= claim.At
}

// askAboutClaim asks which consumers were deleted, where an answer to a missing message is to be proved.
func (st *step) askAboutClaim(m lifecycle.MessageFacts) {
	if _, open := m.OpenClaim(); !open {
		return
	}
	st.view.Deleted = st.facts.Deleted
	st.questions.Deleted = st.facts.Deleted == nil
}

// believed are messages with what answers without proof show of their attempts.
func believed(messages []lifecycle.MessageFacts) []lifecycle.MessageFacts {
	if !slices.ContainsFunc(messages, func(m lifecycle.MessageFacts) bool { return len(m.Claims) > 0 }) {
		return messages
	}
	messages = slices.Clone(messages)
	for i := range messages {
		if len(messages[i].Claims) > 0 {
			messages[i] = messages[i].Believed()
		}
	}
	return messages
}
