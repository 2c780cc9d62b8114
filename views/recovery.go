package views

import (
	"strings"

	"fleetglass/dlqtriage"
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
func ruleWords(rule string) string { return strings.ReplaceAll(rule, "_", " ") }
