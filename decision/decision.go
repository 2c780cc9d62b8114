package decision

import (
	"fmt"
	"strconv"

	"fleetglass/lifecycle"
)

// Subject names what is decided about: a message, an alert, an operation. The store counts the revisions of each subject.
type Subject string

// About is the subject that stands for a message and its dead-letter entry.
func About(k lifecycle.MessageKey) Subject { return Subject("message " + k.String()) }

// Decision is what somebody decided about one subject.
type Decision struct {
	ID       string           // Required. Names the decision: one that is given again, with the same id, was made already and changes nothing.
	Subject  Subject          // Required.
	Expected uint64           // The revision that the decider saw; zero where nothing was decided yet. Another one is ErrConflict.
	At       lifecycle.Micros // Required. When it was decided.
	Change
}

// Change is what is committed together. Events are stored, joined and judged as [lifecycle.Appender] does.
type Change struct {
	// Events say what was decided, or what came of it. Those of the kinds decided, triaged, reopened, released, resolved and classified are about the subject's message;
	// the store gives them the revision that it issues. Ids are the caller's: [EventID].
	Events  []lifecycle.Event
	Action  *Action       // Optional. A new action, or the new state of the one with that id.
	Audit   []AuditRecord // Who did it; a decision needs at least one.
	Effects []Effect      // What is to be done in the world because of it.
}

// Made is what became of a decision or a settlement.
type Made struct {
	Revision uint64                 // Of the subject, after it.
	Repeated bool                   // It had been committed before; nothing changed now.
	Changed  []lifecycle.TaskChange // Tasks whose row was written, sorted by task id.
}

// EventID is the id of the n-th event of a decision or settlement. It is the same however often the decision is given.
func EventID(decision string, n int) lifecycle.EventID {
	return lifecycle.NewEventID("decision", decision, strconv.Itoa(n))
}

// Stamped returns a copy of the events in which those about decisions carry the revision.
func (c Change) Stamped(revision uint64) []lifecycle.Event {
	out := make([]lifecycle.Event, len(c.Events))
	for i, e := range c.Events {
		if carriesRevision(e.Kind) {
			e.Detail.Revision = revision
		}
		out[i] = e
	}
	return out
}

func carriesRevision(k lifecycle.Kind) bool {
	switch k {
	case lifecycle.Decided, lifecycle.Triaged, lifecycle.Reopened, lifecycle.Released, lifecycle.Resolved, lifecycle.Classified:
		return true
	}
	return false
}

// Check reports, as ErrConflict, that the subject is at another revision than the decider saw.
func (d Decision) Check(revision uint64) error { return checkRevision(d.Subject, revision, d.Expected) }

func checkRevision(s Subject, is, expected uint64) error {
	if is != expected {
		return fmt.Errorf("%s is at revision %d, not %d: %w", s, is, expected, ErrConflict)
	}
	return nil
}

// Repeats says what comes of a decision whose id was committed before, about a subject that then got a revision. It is ErrConflict where
// that was another subject.
func (d Decision) Repeats(subject Subject, revision uint64) (Made, error) {
	if subject != d.Subject {
		return Made{}, fmt.Errorf("decision %q was about %s, not %s: %w", d.ID, subject, d.Subject, ErrConflict)
	}
	return Made{Revision: revision, Repeated: true}, nil
}
