package dlqtriage

import (
	"slices"

	"fleetglass/lifecycle"
)

// ActionKind is what somebody asks for (SPEC 5, "Actions").
type ActionKind string

// The actions.
const (
	ActionRetry      ActionKind = "retry"      // Publish it again.
	ActionReassign   ActionKind = "reassign"   // Publish it again for another agent.
	ActionDefer      ActionKind = "defer"      // Let it wait for a time, or for a person.
	ActionDiscard    ActionKind = "discard"    // Nothing is to be done about it.
	ActionQuarantine ActionKind = "quarantine" // Keep it apart.
	ActionReclassify ActionKind = "reclassify" // Say why it died.
	ActionReopen     ActionKind = "reopen"     // Take back a defer, a discard or a quarantine.
)

// The actions on a message in flight, beside quarantine (SPEC 3).
const (
	ActionRelease   ActionKind = lifecycle.ActionRelease   // Hand it back to the broker now.
	ActionReconcile ActionKind = lifecycle.ActionReconcile // Mark it as resolved, with a note.
)

// HeldKinds lists the actions on a message in flight.
func HeldKinds() []ActionKind { return []ActionKind{ActionRelease, ActionQuarantine, ActionReconcile} }

// ActionKinds lists the actions on dead letters.
func ActionKinds() []ActionKind {
	return []ActionKind{ActionRetry, ActionReassign, ActionDefer, ActionDiscard, ActionQuarantine, ActionReclassify, ActionReopen}
}

// Known reports whether k is one of [ActionKinds].
func (k ActionKind) Known() bool { return slices.Contains(ActionKinds(), k) }

// Sends reports whether the action publishes a message.
func (k ActionKind) Sends() bool { return k == ActionRetry || k == ActionReassign }

// Reopens reports whether an entry that the action closed can be opened again.
func (k ActionKind) Reopens() bool {
	return k == ActionDefer || k == ActionDiscard || k == ActionQuarantine
}

// AppliesTo reports whether the action can be applied to an entry of this status.
func (k ActionKind) AppliesTo(s Status) bool { return slices.Contains(k.takes(), s) }

// takes lists the statuses of the entries that the action can be applied to.
func (k ActionKind) takes() []Status {
	switch k {
	case ActionReopen:
		return []Status{StatusDeferred, StatusDiscarded, StatusQuarantined}
	case ActionReclassify:
		return []Status{StatusOpen, StatusDeferred, StatusRetried, StatusReassigned, StatusDiscarded, StatusQuarantined}
	}
	return []Status{StatusOpen, StatusDeferred}
}

// RetryAs says what of a message a retry changes.
type RetryAs string

// The ways to retry.
const (
	AsPlan      RetryAs = "plan"      // As the strategy says. The default.
	AsUnchanged RetryAs = "unchanged" // Nothing.
	AsEdited    RetryAs = "edited"    // What the request says.
)

// Why an entry is discarded.
const (
	BecauseObsolete  = "obsolete"
	BecauseDuplicate = "duplicate"
	BecauseOther     = "other"
)

// ToHuman is where an entry is deferred to that waits for a person.
const ToHuman = "human"
