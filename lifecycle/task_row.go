package lifecycle

import (
	"maps"
	"slices"
	"strings"
)

// AwaitsMessage reports whether a publish of the task was attempted and no message of it is known, whatever else was reported or recorded. Publishers
// need not set a message id: such an attempt is known by its type. These tasks are not listed until a stored message is seen, or until it is known that
// none was stored, or that its line was lost ([NotStored]).
func (r TaskRow) AwaitsMessage() bool {
	return !r.Summary.Listed && (len(r.Facts.Publishes) > 0 || r.Facts.Type != "")
}

// SearchTexts are the texts that the words of a [Filter] are looked for in, in lower case: the task id first, the title, the message
// ids in order, and why it failed or died. A text that repeats the one before is left out.
func (r TaskRow) SearchTexts() []string {
	texts := append([]string{r.Facts.ID, r.Summary.Title}, slices.Sorted(maps.Keys(r.Facts.Publishes))...)
	if r.Summary.Reason != "" {
		texts = append(texts, r.Summary.Reason)
	}
	for i, t := range texts {
		texts[i] = strings.ToLower(t)
	}
	return slices.Compact(texts)
}

// StateWithoutMessage is the state of a listed task of which no stored message is known.
const StateWithoutMessage = StateOutcomeUnknown

// MessagesPerTask is how many messages of a task a [TaskRecord] holds: the newest ones.
const MessagesPerTask = 200

// Generation says how often the task had been published before the message, zero where the publish line was not seen.
func (m *MessageFacts) Generation() int {
	if m.Stored == nil {
		return 0
	}
	return m.Stored.Generation
}

// WithoutPlaceholder is the event as its source gave it: without the task id that [Fold.Assign] makes up for a message of which no line
// names the task.
func (e Event) WithoutPlaceholder() Event {
	if !e.Message.IsZero() && e.TaskID == e.Message.String() {
		e.TaskID = ""
	}
	return e
}
