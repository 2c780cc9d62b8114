package web

import (
	"slices"
	"strings"

	"fleetglass/alerts"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// attentionItems shows the findings that somebody should look at, worst first. Many of one rule are one row with their number, so that there is
// room for the others.
func attentionItems(found []alerts.Finding, now lifecycle.Micros) []views.AttentionItem {
	of := map[alerts.RuleID][]alerts.Finding{}
	for _, f := range found {
		of[f.Rule] = append(of[f.Rule], f)
	}
	var out []views.AttentionItem
	for _, f := range found {
		many := of[f.Rule]
		switch {
		case len(many) <= attentionRows/2:
			out = append(out, attentionItem(f, now))
		case f.Key == many[0].Key:
			out = append(out, attentionGroup(many, now))
		}
	}
	return out[:min(len(out), attentionRows)]
}

// attentionGroup shows many findings of one rule in one row.
func attentionGroup(found []alerts.Finding, now lifecycle.Micros) views.AttentionItem {
	rule, _ := alerts.Defaults().Of(found[0].Rule)
	var n int64
	oldest, agents := found[0], []string{}
	for _, f := range found {
		n += f.Count
		if f.Since.Known() && (!oldest.Since.Known() || f.Since < oldest.Since) {
			oldest = f
		}
		if a := f.Labels.Agent; a != "" && !slices.Contains(agents, a) {
			agents = append(agents, a)
		}
	}
	item := attentionItem(oldest, now)
	item.What, item.Why, item.Href = rule.Title+": "+views.Count(n)+agentWords(agents), rule.Why+" "+rule.Next, "/alerts"
	return item
}

// agentWords names the first agents of several: ", of cto, ceo and 3 more agents".
func agentWords(agents []string) string {
	const named = 2
	switch n := len(agents); {
	case n == 0:
		return ""
	case n <= named:
		return ", of " + views.Cut(strings.Join(agents, " and "), 60)
	default:
		return ", of " + views.Cut(strings.Join(agents[:named], ", "), 60) + " and " + counted(int64(n-named), "more agent", "more agents")
	}
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
