package mcp

import (
	"fmt"
	"net/url"
	"strconv"

	"fleetglass/access"
	"fleetglass/lifecycle"
)

// listInput is what every list takes.
type listInput struct {
	Limit  *int   `json:"limit,omitempty" jsonschema:"rows, 1 to 200; default 50"`
	Cursor string `json:"cursor,omitempty" jsonschema:"where the list goes on: the cursor of the reply before"`
}

func (in listInput) query(pairs ...string) url.Values {
	q := url.Values{}
	if in.Limit != nil {
		q.Set("limit", strconv.Itoa(*in.Limit))
	}
	pairs = append(pairs, "cursor", in.Cursor)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

type searchInput struct {
	Q string `json:"q,omitempty" jsonschema:"the search box: agent:marketing state:failed type:content_creation id:abc*, and words that match ids, titles and reasons"`
	listInput
}

type traceInput struct {
	TaskID string `json:"task_id" jsonschema:"the id of the task"`
}

type inFlightInput struct {
	Agent string `json:"agent,omitempty" jsonschema:"only this agent"`
	Stale string `json:"stale,omitempty" jsonschema:"only leases with something wrong: any, or one of presumed_dead, stale, zombie, stuck, weak_accept, expiring"`
	listInput
}

type staleInput struct {
	listInput
}

func taskTools() []tool {
	return []tool{
		toolFor[searchInput]{
			name: "search_tasks", title: "Search tasks", needs: access.Read,
			about: "Search tasks. The one with the newest event comes first.",
			calls: func(in searchInput) call { return call{path: "/tasks", query: in.query("q", in.Q)} }, text: tasksText,
		},
		toolFor[traceInput]{
			name: "get_trace", title: "Trace of a task", needs: access.Read,
			about: "What happened to a task, attempt by attempt, with three answers: who owns it, what its last durable receipt is, and what comes next.",
			calls: func(in traceInput) call { return call{path: "/tasks/" + lifecycle.TaskSegment(in.TaskID)} }, text: traceText,
		},
		toolFor[inFlightInput]{
			name: "list_in_flight", title: "Messages in flight", needs: access.Read,
			about: "Every message that a worker holds, the nearest deadline first.",
			calls: func(in inFlightInput) call {
				return call{path: "/in-flight", query: in.query("agent", in.Agent, "stale_kind", in.Stale)}
			},
			text: func(d document, _ inFlightInput) string { return leasesText(d, "list_in_flight") },
		},
		toolFor[staleInput]{
			name: "list_stale", title: "Leases with something wrong", needs: access.Read,
			about: "Messages in flight whose lease is presumed dead, stale, a zombie's, stuck, claimed but never started, or about to expire.",
			calls: func(in staleInput) call { return call{path: "/in-flight", query: in.query("stale_kind", "any")} },
			text:  func(d document, _ staleInput) string { return leasesText(d, "list_stale") },
		},
	}
}

func tasksText(d document, _ searchInput) string {
	var p page
	rows := d.list("data")
	p.line("%s", counted(len(rows), "task"))
	for _, t := range rows {
		p.item(code(t.text("task_id")), "**"+t.text("state")+"**", code(t.text("agent")), code(t.text("type")), "last event "+t.text("last_event_at"),
			labelled("why:", p.said(t.text("reason"))), p.said(t.text("title")))
	}
	p.next("get_trace with a task_id for its story", p.more(d, "search_tasks"))
	return p.String()
}

func traceText(d document, _ traceInput) string {
	var p page
	p.line("# Task %s: %s", code(d.text("task_id")), d.text("state"))
	p.item(labelled("agent", code(d.text("agent"))), labelled("type", code(d.text("type"))), labelled("generation", d.text("generation")),
		labelled("attempts", d.text("attempts")), labelled("of", d.text("max_deliver")), labelled("published", d.text("published_at")))
	if why := p.said(d.text("reason")); why != "" {
		p.item("why it failed: " + why)
	}
	for _, name := range []string{"ownership", "last_receipt", "recovery"} {
		if a := d.at("answers." + name); a.has("headline") {
			p.line("\n**%s**: %s. %s", name, p.said(a.text("headline")), p.said(a.text("text")))
		}
	}
	recoveryText(&p, d.at("recommendation"))
	p.line("")
	for _, m := range d.list("messages") {
		p.item("message "+code(m.text("stream")+":"+m.text("seq")), labelled("generation", m.text("generation")), "**"+m.text("state")+"**",
			counted(len(m.list("attempts")), "attempt"))
	}
	for _, s := range d.list("same_key") {
		p.item("same idempotency key: task "+code(s.text("task_id")), labelled("done", s.text("done_at")), s.text("link"))
	}
	for _, a := range d.list("anomalies") {
		p.item("anomaly " + code(a.text("code")) + ": " + a.text("meaning"))
	}
	for range d.list("gaps") {
		p.item("Fleetglass may not have observed a part of its time: see gaps")
	}
	p.next("events one by one: " + fmt.Sprintf("GET %s", d.text("links.events")))
	return p.String()
}

// recoveryText is a decision of recovery with its reasons.
func recoveryText(p *page, d document) {
	if !d.has("decision") {
		return
	}
	p.line("  - recovery: **%s** (rule %s, confidence %s)", d.text("decision"), code(d.text("rule")), d.text("confidence"))
	for _, reason := range d.list("reasons") {
		p.line("    - because: %s", reason.text(""))
	}
	for _, fact := range d.list("facts") {
		p.line("    - evidence: %s (%s) %s", p.said(fact.text("text")), fact.text("provenance"), fact.text("link"))
	}
	for _, change := range d.list("would_change") {
		p.line("    - would change it: %s", change.text(""))
	}
}

func leasesText(d document, tool string) string {
	var p page
	rows := d.list("data")
	p.line("%s in flight", counted(len(rows), "message"))
	for _, l := range rows {
		attempt := labelled("attempt", l.text("attempt"))
		if l.has("max_deliver") {
			attempt += " of " + l.text("max_deliver")
		}
		p.item(code(l.text("task_id")), code(l.text("stream")+":"+l.text("seq")), code(l.text("agent")), attempt, labelled("deadline", l.text("deadline_at")),
			labelled("**"+l.text("stale_kind")+"**", l.text("stale_meaning")), labelled("then", l.text("next.what")))
		recoveryText(&p, l.at("recommendation"))
	}
	if d.text("truncated") == "true" {
		p.line("More messages are open than this list looked at: leases may be missing.")
	}
	p.next("get_trace with a task_id for its story", p.more(d, tool))
	return p.String()
}
