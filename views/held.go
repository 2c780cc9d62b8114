package views

import (
	"strconv"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// HeldTyped is what the fields of the form of an action on a message in flight hold, as texts.
type HeldTyped struct {
	Kind        dlqtriage.ActionKind
	Reason      string
	Force       bool
	ForceReason string
}

// HeldForm is the form of one action on a message in flight. It leads to a preview; nothing is done before that.
type HeldForm struct {
	Href     string // Where it is sent to.
	Revision uint64 // Of the lease as it is shown.
	Typed    HeldTyped
	Off      bool // The reader may not even preview.
}

// HeldPage is a message in flight, with what can be done about it.
type HeldPage struct {
	Held     dlqtriage.Held
	Task     string // Address of the page of its task.
	Recovery RecoveryView
	Actions  ActionPanel
	Wrong    string // Why an action was refused; empty where none was.

	// Of an action before it is taken.
	Form    HeldForm
	Key     string                 // Names the request, so that it acts once.
	Preview *dlqtriage.HeldPreview // Nil where none was asked for, or the request itself is wrong.
	May     Denial                 // Why the reader may only preview; empty where the reader may act.
}

// HeldActions is the panel of a message in flight: the forms in their order, or why there are none.
func HeldActions(off Denial, forms []HeldForm) ActionPanel {
	out := ActionPanel{ID: "held", Heading: "In flight: what you can do", Off: off}
	for _, f := range forms {
		kind := f.Typed.Kind
		out.Actions = append(out.Actions, OfferedAction{
			ID: "held-" + string(kind), Icon: heldIcon(kind), Name: ActionName(kind), Means: heldMeans(kind), Form: heldForm(f),
		})
	}
	return out
}

func heldIcon(k dlqtriage.ActionKind) string {
	switch k {
	case dlqtriage.ActionRelease:
		return "release"
	case dlqtriage.ActionQuarantine:
		return "quarantined"
	}
	return "reconciled"
}

// heldMeans is what an action on a message in flight does, in one sentence.
func heldMeans(k dlqtriage.ActionKind) string {
	switch k {
	case dlqtriage.ActionRelease:
		return "Hand it back to the broker now, in its worker's place."
	case dlqtriage.ActionQuarantine:
		return "Copy it to the dead-letter queue and take it from its worker."
	}
	return "Mark this attempt as resolved, with a note. It is no completion."
}

// params are the fields that were typed, for the hidden fields of the form that acts.
func (t HeldTyped) params() []Param {
	out := []Param{{Name: "action", Value: string(t.Kind)}, {Name: "reason", Value: t.Reason}}
	if t.Force {
		out = append(out, Param{Name: "force", Value: "on"}, Param{Name: "force_reason", Value: t.ForceReason})
	}
	return out
}

func (f HeldForm) fieldID(name string) string { return "held-" + string(f.Typed.Kind) + "-" + name }

// heldReason is the id of the field for the reason of an action. An address that ends in it opens the form.
func heldReason(k dlqtriage.ActionKind) string {
	return HeldForm{Typed: HeldTyped{Kind: k}}.fieldID("reason")
}

func (f HeldForm) revision() string { return strconv.FormatUint(f.Revision, 10) }

// heldName is how the message is called in headings.
func heldName(h dlqtriage.Held) string {
	if h.Lease.Title != "" {
		return Cut(h.Lease.Title, 120)
	}
	return Cut(h.Task.ID, 120)
}

// resolvedWords say who marked an attempt as resolved.
func resolvedWords(t lifecycle.TriageFacts) string {
	return "Marked as resolved by " + Cut(t.Actor, 60) + ": " + Cut(t.Reason, 300)
}

// heldAttempt is which attempt a lease is, as far as it is known.
func heldAttempt(l lifecycle.Lease) string {
	switch l.AttemptFrom {
	case lifecycle.Inferred:
		return "attempt not known"
	case lifecycle.Reported:
		return "attempt " + leaseAttempt(l) + ", reported"
	}
	return "attempt " + leaseAttempt(l)
}

// heldBy is which attempt a lease is, and of which consumer.
func heldBy(l lifecycle.Lease) string {
	if l.Consumer == "" {
		return heldAttempt(l) + "; its consumer is not known"
	}
	return heldAttempt(l) + " by " + Cut(l.Consumer, 60)
}
