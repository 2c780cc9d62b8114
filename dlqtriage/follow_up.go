package dlqtriage

import (
	"cmp"

	"fleetglass/lifecycle"
)

// FollowUp is a message that was published because another one had died, and what became of it.
type FollowUp struct {
	Of          string // The id of that one's entry.
	Message     Next
	Generation  int
	Outcome     Outcome
	CompletedAt lifecycle.Micros // Zero while it has not.
}

// maxEntryID is the length in bytes of the longest id that an index holds. A longer name is nobody's.
const maxEntryID = 1000

// FollowUpOf is what the facts of a message say of it as one that follows another; false where it follows none.
func FollowUpOf(m lifecycle.MessageFacts, t lifecycle.TaskFacts) (FollowUp, bool) {
	if m.Stored == nil || m.Stored.RetryOf == "" {
		return FollowUp{}, false
	}
	of, err := retried(m.Key, m.Stored.RetryOf)
	if id := EntryID(of); err != nil || of == m.Key || len(id) > maxEntryID {
		return FollowUp{}, false
	}
	f := FollowUp{Of: EntryID(of), Message: Next{TaskID: t.ID, MessageID: m.Stored.MsgID, Key: m.Key}, Generation: m.Generation()}
	v := lifecycle.Judge(m, t)
	f.Outcome = outcomeOf(v.State, m.CurrentAttempt() > 0)
	if f.Outcome == OutcomeResolved {
		f.CompletedAt = v.Since
	}
	return f, true
}

// outcomeOf is what the state of the message that followed says. It is empty where the message is gone and no worker is known to have had it.
func outcomeOf(s lifecycle.State, delivered bool) Outcome {
	switch {
	case s == lifecycle.StateCompleted:
		return OutcomeResolved
	case s.Died():
		return OutcomeDiedAgain
	case s.InFlight() || delivered:
		return OutcomePickedUp
	case s == lifecycle.StatePublished:
		return OutcomeWaiting
	}
	return ""
}

// Compare orders the messages that follow one and the same: the newest is the greatest.
func (f FollowUp) Compare(o FollowUp) int {
	return cmp.Or(cmp.Compare(f.Generation, o.Generation), cmp.Compare(f.Message.Key.Stream.Epoch, o.Message.Key.Stream.Epoch), f.Message.Key.Compare(o.Message.Key))
}

// Followed is the entry with what became of the message that followed it: the newest of those given, none of which may be there. A message of another task
// follows none: whoever publishes tasks can name any message as the one that it retries.
func (e Entry) Followed(by []FollowUp) Entry {
	e.Outcome, e.Next = "", Next{}
	e.ResolvedAt = 0
	if e.Status == StatusDiscarded {
		e.ResolvedAt = e.DecidedAt
	}
	var newest *FollowUp
	for i := range by {
		if by[i].Message.TaskID == e.TaskID && (newest == nil || newest.Compare(by[i]) < 0) {
			newest = &by[i]
		}
	}
	if newest != nil {
		e.Outcome, e.Next = newest.Outcome, newest.Message
		e.ResolvedAt = cmp.Or(newest.CompletedAt, e.ResolvedAt)
	}
	return e
}
