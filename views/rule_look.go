package views

import (
	"fleetglass/alerts"
	"fleetglass/lifecycle"
)

// RuleLook is the tone and icon of findings and alerts of a rule.
func RuleLook(id alerts.RuleID, severity alerts.Severity) (tone, icon string) {
	switch id {
	case alerts.RulePresumedDead, alerts.RuleStale, alerts.RuleZombie, alerts.RuleStuck, alerts.RuleWeakAccept, alerts.RuleExpiring:
		return StaleLook(lifecycle.StaleKind(id))
	case alerts.RuleDiscrepancy:
		return SeverityTone(severity), "reconciliation"
	case alerts.RuleDLQUntouched, alerts.RuleIncident:
		return SeverityTone(severity), "dlq"
	case alerts.RuleUnknown:
		return SeverityTone(severity), "unknown"
	case alerts.RuleCollectorLag, alerts.RuleQueueAge, alerts.RuleBacklogGrows:
		return SeverityTone(severity), "clock"
	case alerts.RuleCaptureGap:
		return SeverityTone(severity), "gap"
	case alerts.RuleExecutedTwice, alerts.RuleKeyConflict:
		return SeverityTone(severity), "duplicates"
	}
	return SeverityTone(severity), "warn"
}

// SeverityTone is the tone of a severity.
func SeverityTone(s alerts.Severity) string {
	switch s {
	case alerts.Critical:
		return "bad"
	case alerts.Warning:
		return "warn"
	}
	return "run"
}
