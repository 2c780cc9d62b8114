package mcp

import (
	"maps"
	"slices"
	"strings"
)

func deadText(d document, _ deadInput) string {
	var p page
	rows := d.list("data")
	p.line("%s", counted(len(rows), "dead letter"))
	for _, e := range rows {
		p.item(code(e.text("id")), "**"+e.text("category")+"**", e.text("detail"), e.text("status"), labelled("outcome", e.text("outcome")), code(e.text("agent")),
			code(e.text("type")), "died "+e.text("failed_at"), labelled("why:", p.said(e.text("reason"))), labelled("plan:", e.text("plan.strategy")), blockedBy(e))
	}
	p.next("recommend with an id", "get_dlq_entry with an id for the evidence", p.more(d, "list_dlq"))
	return p.String()
}

// blockedBy is what stands first in the way of the plan of a dead letter; empty where nothing does.
func blockedBy(e document) string {
	for _, b := range e.list("plan.blocked") {
		return labelled("blocked:", b.text("code"))
	}
	return ""
}

func groupsText(d document, _ groupsInput) string {
	var p page
	for _, g := range d.list("data") {
		parts := []string{"**" + g.text("count") + "**", labelled("open", g.text("open"))}
		values := g.fields("values")
		for _, field := range slices.Sorted(maps.Keys(values)) {
			parts = append(parts, labelled(field, firstOf(p.said(values[field].text("")), "none")))
		}
		p.item(append(parts, g.text("trend.direction"), labelled("last seen", g.text("last_seen")))...)
	}
	p.next("list_dlq with the values of a group")
	return p.String()
}

func entryText(d document, _ entryInput) string {
	var p page
	p.line("# Dead letter %s: %s", code(d.text("id")), d.text("status"))
	p.item(labelled("task", code(d.text("task_id"))), labelled("agent", code(d.text("agent"))), labelled("type", code(d.text("type"))), labelled("died", d.text("failed_at")),
		labelled("deliveries", d.text("deliveries")), labelled("generation", d.text("generation")), labelled("path", d.text("path")))
	p.item("**"+d.text("category")+"**", d.text("detail"), labelled("by rule", d.text("classification.rule")), labelled("by", d.text("classification.by")))
	for _, e := range d.list("classification.evidence") {
		p.item("evidence from "+e.text("source"), p.said(e.text("text")))
	}
	p.fence("Reason", d.text("reason"))
	p.fence("Original payload", payload(d))
	if why := d.text("original.why_missing"); why != "" {
		p.item("the original message is missing: " + why)
	}
	p.plan(d)
	if d.has("risk.probability") {
		p.item("risk of dying: "+d.text("risk.probability"), labelled("from tasks", d.text("risk.sample")))
	}
	for _, h := range d.list("history") {
		p.item("before: "+h.text("action"), h.text("status"), labelled("by", p.said(h.text("actor"))), labelled("at", h.text("created_at")), code(h.text("id")))
	}
	p.steps(d)
	return p.String()
}

// payload is the original payload as a text.
func payload(d document) string {
	if text := d.text("original.payload"); text != "" || !d.has("original.payload") {
		return text
	}
	return d.json("original.payload")
}

func planText(d document, _ entryInput) string {
	var p page
	p.line("# Plan for %s (%s, %s)", code(d.text("id")), d.text("category"), d.text("status"))
	p.plan(d)
	p.steps(d)
	return p.String()
}

// plan tells what should happen with a dead letter.
func (p *page) plan(d document) {
	plan := d.at("plan")
	p.item("plan **"+plan.text("strategy")+"**", labelled("delay", seconds(plan.text("delay_ms"))), labelled("to agent", code(plan.text("target_agent"))),
		labelled("with model", plan.text("target_model")), labelled("retries left", plan.text("max_additional_retries")), labelled("eligible", plan.text("eligible")))
	for _, m := range plan.list("modifications") {
		p.item("changes "+m.text("type"), labelled("to tokens", m.text("max_tokens")), p.said(m.text("text")))
	}
	for _, r := range plan.list("reasons") {
		p.item("because " + p.said(r.text("")))
	}
	for _, b := range plan.list("blocked") {
		p.item("**blocked** "+code(b.text("code")), p.said(b.text("why")))
	}
}

// steps says what may be done about a dead letter.
func (p *page) steps(d document) {
	if d.text("status") != "open" && d.text("status") != "deferred" {
		p.next("get_dlq_entry again to follow it: it is " + d.text("status"))
		return
	}
	if d.text("plan.eligible") == "true" {
		p.next("preview_action with this id and action retry, then apply_action")
		return
	}
	p.next("preview_action with reassign, defer or discard; a retry by the plan is blocked")
}

func previewText(d document, in actionInput) string {
	var p page
	v := d.at("preview")
	p.line("**%s** of %s would be %s", in.Action, code(in.ID), map[string]string{"true": "done", "false": "refused"}[v.text("eligible")])
	for _, b := range v.list("blocked") {
		p.item("**blocked** "+code(b.text("code")), p.said(b.text("why")))
	}
	if v.has("message.subject") {
		p.item("publishes to "+code(v.text("message.subject")), labelled("due", v.text("due_at")))
	}
	for _, c := range v.list("diff") {
		p.item(c.text("op")+" "+code(c.text("path")), labelled("to", p.said(strings.TrimSpace(c.json("after")))))
	}
	if v.has("preflight.verdict") {
		p.item("preflight "+v.text("preflight.verdict"), v.text("preflight.advice"))
	}
	p.item(labelled("**may be done twice:**", p.said(v.text("duplicate_warning"))))
	if v.text("eligible") == "true" {
		p.next("apply_action with the same id, action, reason and params, and an idempotency_key of your own")
	}
	return p.String()
}

func operationText(d document) string {
	var p page
	p.line("# Operation %s: %s", code(d.text("id")), d.text("status"))
	p.item(d.text("action"), labelled("by", p.said(d.text("actor"))), labelled("selected", d.text("counts.selected")), labelled("done", d.text("counts.done")),
		labelled("blocked", d.text("counts.blocked")), labelled("failed", d.text("counts.failed")))
	for _, i := range d.list("items") {
		p.item(code(i.text("entry_id")), i.text("status"), p.said(i.text("why")), labelled("published as", code(i.text("message.message_id"))), labelled("outcome", i.text("outcome")))
	}
	if until := followed(d); until != "" {
		p.next("get_operation with this id until " + until)
	}
	return p.String()
}

// followed says until when an operation is worth asking for; empty where nothing more comes.
func followed(d document) string {
	open := d.text("status") == "queued" || d.text("status") == "running"
	coming := slices.ContainsFunc(d.list("items"), func(i document) bool {
		return i.has("message") && i.text("outcome") != "resolved" && i.text("outcome") != "died_again"
	})
	sends := d.text("action") == "retry" || d.text("action") == "reassign"
	switch {
	case coming || open && sends:
		return "the outcome is resolved or died_again"
	case open:
		return "it has ended"
	}
	return ""
}
