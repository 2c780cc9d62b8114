package views

import (
	"slices"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// RecoveryView is what recovery decides about a message, as pages show it.
type RecoveryView struct {
	dlqtriage.Recovery
	Links []string // Where each piece of evidence can be seen.
}

// remedyLook gives a decision its shape, colour and word.
func remedyLook(r dlqtriage.Remedy) look {
	switch r {
	case dlqtriage.RemedyReconcile:
		return look{"recorded", "wait", "reconcile"}
	case dlqtriage.RemedyResume:
		return look{"release", "run", "resume"}
	case dlqtriage.RemedyRetry:
		return look{"retried", "ok", "retry"}
	}
	return look{"quarantined", "dead", "quarantine"}
}

// ruleWords is the id of a row of the recovery table in words.
func ruleWords(rule string) string { return spaced(rule) }

// actions are what can be done about a message in flight, what the decision says first.
func (v RecoveryView) actions() []dlqtriage.ActionKind {
	says := dlqtriage.ActionRelease // Resume and retry: the work goes back to the broker.
	switch v.Remedy {
	case dlqtriage.RemedyReconcile:
		says = dlqtriage.ActionReconcile
	case dlqtriage.RemedyQuarantine:
		says = dlqtriage.ActionQuarantine
	}
	others := slices.DeleteFunc(dlqtriage.HeldKinds(), func(k dlqtriage.ActionKind) bool { return k == says })
	return append([]dlqtriage.ActionKind{says}, others...)
}

// urgent reports whether something is wrong with the lease already: there the row says at once what the decision rests on, and what is blocked.
func (r LeaseRow) urgent() bool {
	return r.Recovery != nil && r.Stale != "" && r.Stale != lifecycle.StaleExpiring
}

// proof is the index of the first evidence that somebody saw or said at a known time; -1 where there is none, or where nothing is wrong yet.
func (r LeaseRow) proof() int {
	if !r.urgent() {
		return -1
	}
	return slices.IndexFunc(r.Recovery.Evidence, func(e dlqtriage.RecoveryEvidence) bool { return e.At.Known() })
}

// firstBlocked says why the first action that is blocked is; empty where none is, where nothing is wrong yet, or where the reader cannot act.
func (r LeaseRow) firstBlocked() string {
	if !r.urgent() || r.Act == "" || r.Acting != "" {
		return ""
	}
	for _, kind := range r.Recovery.actions() {
		if why := r.blocked(kind); why != "" {
			return ActionName(kind) + " is blocked. " + why
		}
	}
	return ""
}

// blocked is why an action on the lease would be blocked by its preview; empty where nothing stands in the way.
func (r LeaseRow) blocked(k dlqtriage.ActionKind) string {
	if in := r.Blocked[k]; len(in) > 0 {
		return in[0].Why
	}
	return ""
}
