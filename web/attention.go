package web

import (
	"cmp"
	"time"

	"fleetglass/alerts"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// attentionItems shows the findings that somebody should look at, the worst harm first. more is how many have no row.
func attentionItems(found []alerts.Finding, now lifecycle.Micros) (items []views.AttentionItem, more int) {
	shown := found[:min(len(found), attentionRows)]
	for _, f := range shown {
		items = append(items, attentionItem(f, now))
	}
	return items, len(found) - len(shown)
}

// attentionItem shows one finding about the fleet.
func attentionItem(f alerts.Finding, now lifecycle.Micros) views.AttentionItem {
	tone, icon := views.RuleLook(f.Rule, f.Severity)
	return views.AttentionItem{
		Key: string(f.Rule) + " " + f.Key, Tone: tone, Icon: icon, What: f.What, Why: f.Why + " " + f.Next, When: findingWhen(f, now), Href: findingAddress(f.TaskID, f.Page),
		Do: f.Do.Label, DoHref: cmp.Or(f.Do.Page, lifecycle.PageOfTask(f.TaskID)),
	}
}

// findingAddress is the page where a finding is looked at.
func findingAddress(task, page string) string {
	if task != "" {
		return lifecycle.PageOfTask(task)
	}
	return page
}

// findingWhen says how far past its deadline a lease is, or for how long a finding is so.
func findingWhen(f alerts.Finding, now lifecycle.Micros) string {
	switch left := f.Deadline.Sub(now); {
	case f.Rule == alerts.RuleDiscrepancy:
		return "compared " + views.AgoWords(now.Sub(f.Since))
	case !f.Deadline.Known():
		return spanWords(f.Since, now)
	case left < 0:
		return lifecycle.Lasting(-left) + " over"
	default:
		return lifecycle.Lasting(left) + " left"
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
	return " Reconciliation " + views.AgoWords(snap.AsOf.Sub(r.AsOf)) + ": " + word + "."
}

func spanWords(at, now lifecycle.Micros) string {
	if !at.Known() {
		return ""
	}
	if now.Sub(at) < time.Second {
		return "just now"
	}
	return "for " + views.Age(now.Sub(at))
}
