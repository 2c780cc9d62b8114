package web

import (
	"net/url"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/reconcile"
	"fleetglass/views"
)

// fillReport adds the report, or says why there is none.
func (w *Web) fillReport(c *gin.Context, p *views.ReconciliationPage, r reconcile.Run, snap *query.FleetSnapshot) {
	if r.ID != "" {
		self := "/api/v1/reconciliations/" + url.PathEscape(r.ID)
		p.Links = links(c, reconciliationAddress(r.ID), self, nil)
	}
	if r.Report == nil {
		p.Empty = w.emptyReconciliation(r, snap)
		return
	}
	p.CSV, p.JSON = p.Links.JSON+"?format=csv", p.Links.JSON+"?format=json"
	p.Report, p.Made, p.Terms = r.Report, r, balanceTerms(r.Report)
	for _, l := range r.Report.Lines {
		row := views.BalanceRow{Stream: l.Stream.String(), Agent: l.Agent, Balance: l.Balance}
		if l.Agent != "" {
			row.Href = agentAddress(l.Agent)
		}
		p.Lines = append(p.Lines, row)
	}
	for _, l := range r.Report.Lists {
		if l.Total == 0 {
			p.Clean = append(p.Clean, l.Kind.Title())
			continue
		}
		p.Lists = append(p.Lists, discrepancyPanel(l))
	}
}

func discrepancyPanel(l reconcile.DiscrepancyList) views.DiscrepancyPanel {
	out := views.DiscrepancyPanel{DiscrepancyList: l, Rest: l.Total}
	for _, d := range l.Rows[:min(len(l.Rows), discrepancyRows)] {
		row := views.DiscrepancyRow{Discrepancy: d}
		if d.TaskID != "" {
			row.Href = lifecycle.PageOfTask(d.TaskID)
			if d.N() == 1 && !d.Message.IsZero() {
				row.MessageHref = messageAddress(d.TaskID, d.Message)
			}
		}
		out.Rows = append(out.Rows, row)
		out.Rest -= d.N()
	}
	return out
}

// balanceTerms are the terms of the equation, each with the place that says more where there is one.
func balanceTerms(r *reconcile.Report) []views.BalanceTerm {
	b := r.Total
	list := func(kinds ...reconcile.DiscrepancyKind) string {
		for _, k := range kinds {
			if r.List(k).Total > 0 {
				return "#" + string(k)
			}
		}
		return ""
	}
	expired, exhausted := list(reconcile.ExpiredInStream), list(reconcile.ExhaustedOutsideDLQ)
	return []views.BalanceTerm{
		{Label: "Published", Icon: "published", N: b.Published, Why: "Stored by the stream, counted by sequence numbers"},
		{Sign: "=", Label: "Completed", Icon: "completed", N: b.Completed, Why: "Acknowledged, or gone after completion was recorded"},
		{Sign: "+", Label: "In flight", Icon: "inflight", N: b.InFlight, Href: "/in-flight", Why: "Waiting, held by a worker, or due again"},
		{Sign: "+", Label: "In DLQ", Icon: "dlq", N: b.InDLQ, Href: whole("/dlq"), Why: "A dead-letter entry exists"},
		{Sign: "+", Label: "Terminated", Icon: "dead", N: b.Terminated, Why: "Ended by a worker or an operator, without a dead-letter entry"},
		{Sign: "+", Label: "Expired", Icon: "clock", Tone: toneOf(expired, "warn"), N: b.Expired, Href: expired, Why: "Left the stream by its max_age"},
		{Sign: "+", Label: "Exhausted", Icon: "exhausted", Tone: toneOf(exhausted, "bad"), N: b.Exhausted, Href: exhausted, Why: "Attempts used up, without a dead-letter entry"},
		{
			Sign: "+", Label: "Unexplained", Icon: unexplainedIcon(b.Unexplained), Tone: unexplainedTone(b.Unexplained), N: b.Unexplained,
			Href: list(reconcile.OutcomeUnexplained, reconcile.NeverSeen), Why: "What became of them is not known",
		},
	}
}

// toneOf colours a term of which something is listed as wrong. What happened just now is not: it may still be on its way.
func toneOf(list, tone string) string {
	if list == "" {
		return ""
	}
	return tone
}

func unexplainedTone(n int64) string {
	if n == 0 {
		return "ok"
	}
	return "bad"
}

func unexplainedIcon(n int64) string {
	if n == 0 {
		return "check"
	}
	return "unknown"
}
