package web

import (
	"cmp"
	"net/url"

	"fleetglass/query"
	"fleetglass/views"
)

// costPanel is what agents reported that tasks cost, by agent and by type.
func (q statisticsQuery) costPanel(h query.History) views.CostPanel {
	p := views.CostPanel{Since: "of tasks published since " + q.word(h.Costs.From) + ", in whole hours"}
	if h.Span.To < h.AsOf {
		p.Since = "of tasks published from " + q.word(h.Costs.From) + " to " + q.word(h.Span.To) + ", in whole hours"
	}
	if h.Costs.Whole.Tasks == 0 {
		return p
	}
	priced := func(field, value string) url.Values {
		v := url.Values{"q": {"cost:>0"}, "agent": {q.agent}}
		v.Set(field, value)
		return v
	}
	if q.agent == "" {
		agents := views.CostTable{Name: "Agent"}
		for _, c := range h.Costs.ByAgent {
			agents.Rows = append(agents.Rows, costRow(c, c.Name, priced("agent", c.Name)))
		}
		p.Tables = append(p.Tables, agents)
	}
	types := views.CostTable{Name: "Type"}
	for _, c := range h.Costs.ByType {
		name := cmp.Or(c.Name, noType)
		if c.Others() {
			name = otherTypes
		}
		types.Rows = append(types.Rows, costRow(c, name, priced("type", c.Name)))
	}
	p.Tables = append(p.Tables, types)
	return p
}

// costRow is the tasks of one agent or type. Without a name of their own no list has them alone.
func costRow(c query.CostOf, name string, listed url.Values) views.CostRow {
	r := views.CostRow{Name: cmp.Or(name, "no agent"), Tasks: c.Tasks, USD: c.CostUSD()}
	if c.Name != "" && !c.Others() {
		r.Href = address("/tasks", listed)
	}
	return r
}
