package web

import (
	"fleetglass/alerts"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// attentionItems shows the findings that somebody should look at, worst first. Many of one rule leave room for the others.
func attentionItems(found []alerts.Finding, now lifecycle.Micros) []views.AttentionItem {
	var out []views.AttentionItem
	rows := map[alerts.RuleID]int{}
	for _, f := range found {
		if rows[f.Rule]++; rows[f.Rule] <= attentionRows/2 {
			out = append(out, attentionItem(f, now))
		}
	}
	return out[:min(len(out), attentionRows)]
}

// attentionItem shows one finding about the fleet.
func attentionItem(f alerts.Finding, now lifecycle.Micros) views.AttentionItem {
	tone, icon := views.RuleLook(f.Rule, f.Severity)
	return views.AttentionItem{Tone: tone, Icon: icon, What: f.What, Why: f.Why + " " + f.Next, When: findingWhen(f, now), Href: findingAddress(f.TaskID, f.Page)}
}

// findingAddress is the page where a finding is looked at.
func findingAddress(task, page string) string {
	if task != "" {
		return taskAddress(task)
	}
	return page
}

// findingWhen says how far past its deadline a lease is, or for how long a finding is so.
func findingWhen(f alerts.Finding, now lifecycle.Micros) string {
	switch left := f.Deadline.Sub(now); {
	case f.Rule == alerts.RuleDiscrepancy:
		return "as of " + views.Age(max(0, now.Sub(f.Since))) + " ago"
	case !f.Deadline.Known():
		return spanWords(f.Since, now)
	case left < 0:
		return views.Duration(-left) + " over"
	default:
		return views.Duration(left) + " left"
	}
}

// balanceWords says how the newest reconciliation came out.
func balanceWords(snap *query.FleetSnapshot) string {
	if snap.Reconciled == nil {
		return ""
	}
	r := snap.Reconciled.Report
	word := "balanced"
	if n := r.Discrepancies(); n > 0 {
		word = counted(n, "discrepancy", "discrepancies")
	}
	return " Reconciliation: " + word + ", as of " + views.Age(max(0, snap.AsOf.Sub(r.AsOf))) + " ago."
}

func spanWords(at, now lifecycle.Micros) string {
	if !at.Known() {
		return ""
	}
	return "for " + views.Age(now.Sub(at))
}
