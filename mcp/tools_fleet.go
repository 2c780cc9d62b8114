package mcp

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fleetglass/access"
)

type duplicatesInput struct {
	Bucket string `json:"bucket,omitempty" jsonschema:"month, day or hour; default month"`
	From   string `json:"from,omitempty" jsonschema:"RFC 3339, a date, or a span back from now such as 7d"`
	To     string `json:"to,omitempty" jsonschema:"the end, in the same forms as from; default now"`
}

type reconcileInput struct {
	ID string `json:"id,omitempty" jsonschema:"id of a reconciliation; default the newest one that is done"`
}

type preflightInput struct {
	Agent           string `json:"agent,omitempty" jsonschema:"the agent that will run it, whose model counts; give this or model"`
	Model           string `json:"model,omitempty" jsonschema:"the model itself; give this or agent"`
	Payload         any    `json:"payload,omitempty" jsonschema:"what is to be published, a text or JSON; give this or estimated_tokens"`
	EstimatedTokens *int64 `json:"estimated_tokens,omitempty" jsonschema:"how many tokens you estimate; give this or payload"`
}

type noInput struct{}

func fleetTools() []tool {
	return []tool{
		toolFor[duplicatesInput]{
			name: "duplicate_report", title: "Duplicates", needs: access.Read,
			about: "Where duplicates ended: caught by the stream, caught by idempotency, or reached execution.",
			calls: func(in duplicatesInput) call {
				return call{path: "/duplicates", query: listInput{}.query("bucket", in.Bucket, "from", in.From, "to", in.To)}
			},
			text: duplicatesText,
		},
		toolFor[reconcileInput]{
			name: "reconcile_report", title: "Reconciliation", needs: access.Read,
			about: "Whether published messages and what became of them add up, and which ones do not.", run: reconciliation, text: reconciliationText,
		},
		toolFor[preflightInput]{
			name: "preflight", title: "Does a task fit its model?", needs: access.Read,
			about: "Ask before publishing a task: whether its prompt fits the token budget of its model.",
			calls: func(in preflightInput) call {
				return call{method: http.MethodPost, path: "/preflight", body: in}
			},
			text: preflightText,
		},
		toolFor[noInput]{
			name: "fleet_health", title: "Health of the fleet", needs: access.Read,
			about: "What needs attention in order of harm, the alerts that fire, the figures of the fleet now, and what Fleetglass cannot see.",
			calls: func(noInput) call { return call{path: "/stats/fleet"} }, text: healthText,
		},
	}
}

func duplicatesText(d document, _ duplicatesInput) string {
	var p page
	p.line("Duplicates per %s", firstOf(d.text("bucket"), "bucket"))
	quiet, unseen := 0, 0
	for _, row := range d.list("data") {
		var parts []string
		for _, column := range []string{"published", "completed", "caught_by_stream", "caught_by_idempotency", "reached_execution", "unknown"} {
			if n := row.text(column); n != "0" {
				parts = append(parts, labelled(strings.ReplaceAll(column, "_", " "), n))
			}
		}
		switch {
		case row.text("observed") == "none":
			unseen++
			continue
		case len(parts) == 0:
			quiet++
			continue
		}
		rate := figure(row.text("net_rate"), "ratio")
		if rate != "" && row.text("unknown") != "0" {
			rate = "at least " + rate
		}
		p.item(append([]string{"**" + row.text("bucket") + "**"}, append(parts, labelled("net rate", rate))...)...)
	}
	if quiet > 0 {
		p.item(counted(quiet, "bucket") + " without anything left out")
	}
	if unseen > 0 {
		p.item(counted(unseen, "bucket") + " in which nothing was observed")
	}
	p.next("what reached execution is an alert: search_tasks with q layer:execution shows the tasks")
	return p.String()
}

// reconciliation fetches a report: that of the id, or the newest one that is done.
func reconciliation(ctx context.Context, c *caller, in reconcileInput) (reply, error) {
	id := in.ID
	if id == "" {
		list, err := c.do(ctx, call{path: "/reconciliations"})
		if err != nil || !list.ok() {
			return list, err
		}
		rows := read(list.body).list("data")
		done := slices.IndexFunc(rows, func(r document) bool { return r.text("status") == "done" })
		if done < 0 {
			return list, nil
		}
		id = rows[done].text("id")
	}
	return c.do(ctx, call{path: "/reconciliations/" + url.PathEscape(id)})
}

func reconciliationText(d document, _ reconcileInput) string {
	var p page
	if d.has("data") {
		p.line("No reconciliation is done yet.")
		p.next("ask again later; an administrator can start one with POST /api/v1/reconciliations")
		return p.String()
	}
	p.line("# Reconciliation %s: %s", code(d.text("id")), d.text("status"))
	p.item(labelled("from", d.text("period.from")), labelled("to", d.text("period.to")))
	p.item(p.said(d.text("failure")))
	p.item(balanceLine(d))
	counts := d.fields("counts")
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name].text(""); n != "0" {
			p.item("**"+strings.ReplaceAll(name, "_", " ")+"**", n)
		}
	}
	p.next("get_trace with the task_id of a discrepancy in the structured content")
	return p.String()
}

// balanceLine is the balance as an equation, without its zeros; empty where there is none yet.
func balanceLine(d document) string {
	if !d.has("balance") {
		return ""
	}
	var parts []string
	for _, column := range []string{"completed", "in_flight", "in_dlq", "terminated", "expired", "exhausted", "unexplained"} {
		if n := d.text("balance." + column); n != "0" {
			parts = append(parts, labelled(strings.ReplaceAll(column, "_", " "), n))
		}
	}
	line := "published " + d.text("balance.published") + " = " + firstOf(strings.Join(parts, " + "), "0")
	if n := d.text("balance.never_seen"); n != "0" {
		line += "; of the unexplained " + n + " were never seen"
	}
	if d.text("balance.balanced") != "true" {
		line += " **does not balance**"
	}
	return line
}

func preflightText(d document, _ preflightInput) string {
	var p page
	p.line("**%s**: %s tokens of %s for %s: %s", d.text("verdict"), d.text("estimated_tokens"), d.text("budget"), code(d.text("model")), d.text("advice"))
	if d.text("verdict") == "refuse" {
		p.next("split the task or compress its context, and ask again before you publish")
	}
	return p.String()
}

func healthText(d document, _ noInput) string {
	var p page
	p.line("Fleet as of %s", d.text("as_of"))
	for _, a := range d.list("attention") {
		p.item("**"+a.text("harm")+"** "+a.text("rule"), p.said(a.text("what")), labelled("since", a.text("since")), labelled("task", a.text("task_id")))
	}
	for _, a := range d.list("firing") {
		p.item("**"+a.text("severity")+"** "+a.text("rule"), p.said(a.text("what")), code(a.text("id")))
	}
	figures := d.fields("figures")
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if f := figures[name]; f.has("value") {
			p.item(labelled(name, figure(f.text("value"), f.text("unit"))), labelled("in", f.text("window")))
		}
	}
	for _, l := range d.list("collector_lag") {
		if s := l.text("state"); s != "ok" {
			p.item("**collector " + l.text("source") + " is " + s + "**")
		}
	}
	if n := len(d.list("gaps")); n > 0 {
		p.item("**" + counted(n, "gap") + " in the observation of Fleetglass**")
	}
	p.next("list_stale for leases with something wrong", "search_tasks with q state:exhausted for tasks that died")
	return p.String()
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
