package web

import (
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// attentionItems are what somebody should look at, worst first.
func attentionItems(b *board, dead []lifecycle.TaskSummary) []views.AttentionItem {
	var out []views.AttentionItem
	for _, l := range b.Leases {
		if l.Stale == "" || len(out) >= attentionRows-4 {
			continue
		}
		out = append(out, staleItem(l, b.Now))
	}
	for _, s := range lifecycle.StatesThat(lifecycle.State.Abandoned) {
		if n := b.count(s); n > 0 {
			icon, tone, word := views.StateLook(s)
			out = append(out, views.AttentionItem{Tone: tone, Icon: icon, Href: "/tasks?state=" + string(s),
				What: counted(n, "message is", "messages are") + " " + word + " and not in the DLQ", Why: "Nobody will touch them until somebody decides.", When: oldestWords(dead, s, b.Now)})
		}
	}
	if item, wrong := discrepancyItem(b); wrong {
		out = append(out, item)
	}
	if n := b.count(lifecycle.StateDeadLettered); n > 0 {
		out = append(out, views.AttentionItem{Tone: "warn", Icon: "dlq", Href: "/dlq", What: counted(n, "entry waits", "entries wait") + " in the DLQ",
			Why: topCause(dead), When: oldestWords(dead, lifecycle.StateDeadLettered, b.Now)})
	}
	if n := b.count(lifecycle.StateOutcomeUnknown); n > 0 {
		out = append(out, views.AttentionItem{Tone: "warn", Icon: "unknown", Href: "/tasks?state=outcome_unknown", What: counted(n, "task has", "tasks have") + " an unknown outcome",
			Why: "Gone without proof, or removed in a worker's hands: look the effect up before anything is run again."})
	}
	for _, c := range b.Consumers {
		if c.Gone && c.Pending > 0 {
			out = append(out, views.AttentionItem{Tone: "warn", Icon: "warn", Href: "/capture#consumers", What: "Consumer " + views.Cut(c.Name, 40) + " is gone",
				Why: counted(int64(c.Pending), "message waits", "messages wait") + " for it.", When: views.Age(b.Now.Sub(c.ObservedAt)) + " ago"})
		}
	}
	return out[:min(len(out), attentionRows)]
}

// discrepancyItem is what the newest reconciliation found.
func discrepancyItem(b *board) (item views.AttentionItem, wrong bool) {
	if b.Reconciled == nil || b.Reconciled.Report.Discrepancies() == 0 {
		return item, false
	}
	r := b.Reconciled.Report
	v := views.VerdictOf(r)
	return views.AttentionItem{
		Tone: v.Tone, Icon: "reconciliation", Href: "/reconciliation", What: counted(r.Discrepancies(), "discrepancy", "discrepancies") + " between published and completed work",
		Why: v.Say + " " + v.Why, When: "as of " + views.Age(max(0, b.Now.Sub(r.AsOf))) + " ago",
	}, true
}

// balanceWords says how the newest reconciliation came out.
func balanceWords(b *board) string {
	if b.Reconciled == nil {
		return ""
	}
	r := b.Reconciled.Report
	word := "balanced"
	if n := r.Discrepancies(); n > 0 {
		word = counted(n, "discrepancy", "discrepancies")
	}
	return " Reconciliation: " + word + ", as of " + views.Age(max(0, b.Now.Sub(r.AsOf))) + " ago."
}

func staleItem(l lifecycle.Lease, now lifecycle.Micros) views.AttentionItem {
	tone, icon := views.StaleLook(l.Stale)
	item := views.AttentionItem{Tone: tone, Icon: icon, Href: taskAddress(l.TaskID), What: leaseTitle(l) + " is " + views.StaleWord(l.Stale)}
	item.Why = fmt.Sprintf("%s, attempt %d", views.Cut(l.Agent, 40), l.Attempt)
	if l.MaxDeliver > 0 {
		item.Why += fmt.Sprintf(" of %d", l.MaxDeliver)
	}
	item.Why += ". " + l.Stale.Meaning()
	if left := l.Left(now); left < 0 {
		item.When = views.Duration(-left) + " over"
	} else if l.Deadline.Known() {
		item.When = views.Duration(left) + " left"
	}
	return item
}

func leaseTitle(l lifecycle.Lease) string {
	if l.Title != "" {
		return views.Cut(l.Title, 80)
	}
	return views.Cut(l.TaskID, 80)
}

func oldestWords(dead []lifecycle.TaskSummary, s lifecycle.State, now lifecycle.Micros) string {
	var oldest lifecycle.Micros
	for _, t := range dead {
		if t.State == s && t.StateSince.Known() && (!oldest.Known() || t.StateSince < oldest) {
			oldest = t.StateSince
		}
	}
	if !oldest.Known() {
		return ""
	}
	return "since " + views.Age(now.Sub(oldest))
}
