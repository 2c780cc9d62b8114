package web

import (
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// attentionItems words the findings that somebody should look at, worst first. Many of one kind leave room for the others.
func attentionItems(found []query.Finding, now lifecycle.Micros) []views.AttentionItem {
	var out []views.AttentionItem
	rows := map[query.FindingKind]int{}
	for _, f := range found {
		if rows[f.Kind]++; rows[f.Kind] <= attentionRows/2 {
			out = append(out, attentionItem(f, now))
		}
	}
	return out[:min(len(out), attentionRows)]
}

// attentionItem words one finding about the fleet.
func attentionItem(f query.Finding, now lifecycle.Micros) views.AttentionItem {
	switch f.Kind {
	case query.FindingNoConsumer:
		return noConsumerItem(f, now)
	case query.FindingNotPulled:
		return views.AttentionItem{Tone: "bad", Icon: "warn", Href: agentAddress(f.Agent), When: spanWords(f.Since, now),
			What: counted(f.Count, "message waits", "messages wait") + " for " + views.Cut(consumerWords(f), 40) + ": no worker pulls",
			Why:  "Nothing was delivered meanwhile, and nobody asks for work. Look whether the agent runs."}
	case query.FindingPaused:
		return views.AttentionItem{Tone: "warn", Icon: "warn", Href: "/capture#consumers", When: spanWords(f.Since, now),
			What: counted(f.Count, "message waits", "messages wait") + ": consumer " + views.Cut(f.Consumer.Name, 40) + " is paused",
			Why:  "It delivers nothing until somebody resumes it, or until its pause ends."}
	case query.FindingStaleLease:
		return staleItem(*f.Lease, now)
	case query.FindingAbandoned:
		icon, tone, word := views.StateLook(f.State)
		if f.Unread {
			return views.AttentionItem{Tone: tone, Icon: icon, Href: statesAddress(f.State), When: spanWords(f.Since, now),
				What: counted(f.Count, "message is", "messages are") + " " + word, Why: "Whether they are in the DLQ is not known: it was not read to its end."}
		}
		return views.AttentionItem{Tone: tone, Icon: icon, Href: statesAddress(f.State), When: spanWords(f.Since, now),
			What: counted(f.Count, "message is", "messages are") + " " + word + " and not in the DLQ", Why: "No agent will get them again. Decide what to do with each."}
	case query.FindingDiscrepancies:
		return discrepancyItem(f, now)
	case query.FindingDeadLettered:
		return views.AttentionItem{Tone: "warn", Icon: "dlq", Href: "/dlq", What: counted(f.Count, "entry waits", "entries wait") + " in the DLQ",
			Why: topCauses(f.Causes), When: spanWords(f.Since, now)}
	case query.FindingOutcomeUnknown:
		return views.AttentionItem{Tone: "warn", Icon: "unknown", Href: statesAddress(f.State), What: counted(f.Count, "task has", "tasks have") + " an unknown outcome",
			Why: "Nothing proves how they ended. Check whether the work was done before you run it again."}
	case query.FindingConsumerGone:
		return views.AttentionItem{Tone: "warn", Icon: "warn", Href: "/capture#consumers", What: "Consumer " + views.Cut(f.Consumer.Name, 40) + " is gone",
			Why: counted(f.Count, "message waits", "messages wait") + " for it.", When: views.Age(now.Sub(f.Since)) + " ago"}
	}
	return views.AttentionItem{}
}

// noConsumerItem is about the messages of one agent that nobody will get.
func noConsumerItem(f query.Finding, now lifecycle.Micros) views.AttentionItem {
	n := counted(f.Count, "message", "messages")
	if f.More {
		n = "at least " + n
	}
	who, filter := views.Cut(f.Agent, 40), query.UntakenTasks(f.Agent)
	if who == "" {
		who, filter = "no agent", query.UntakenTasks()
	}
	return views.AttentionItem{
		Tone: "bad", Icon: "warn", What: n + " for " + who + ": no consumer", When: spanWords(f.Since, now), Href: address("/tasks", filter.Values()),
		Why: "No consumer's filter matches their subject, so no worker gets them. Start the agent, or correct the filter.",
	}
}

// consumerWords names whom messages wait for: the agent, or the consumer where its name does not say.
func consumerWords(f query.Finding) string {
	if f.Agent != "" {
		return f.Agent
	}
	return f.Consumer.Name
}

// discrepancyItem is what the newest reconciliation found.
func discrepancyItem(f query.Finding, now lifecycle.Micros) views.AttentionItem {
	v := views.VerdictOf(f.Report.Report)
	return views.AttentionItem{
		Tone: v.Tone, Icon: "reconciliation", Href: "/reconciliation", What: counted(f.Count, "discrepancy", "discrepancies") + " between published and completed work",
		Why: v.Say + " " + v.Why, When: "as of " + views.Age(max(0, now.Sub(f.Since))) + " ago",
	}
}

// statesAddress is the list of the tasks in some states.
func statesAddress(states ...lifecycle.State) string {
	return address("/tasks", lifecycle.Filter{States: states}.Values())
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

func spanWords(at, now lifecycle.Micros) string {
	if !at.Known() {
		return ""
	}
	return "for " + views.Age(now.Sub(at))
}
