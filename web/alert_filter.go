package web

import (
	"net/url"
	"slices"

	"fleetglass/alerts"
	"fleetglass/query"
	"fleetglass/views"
)

// alertQuery is what the address of the board asks for.
type alertQuery struct {
	filter alerts.Filter
	values url.Values
}

// readAlerts reads the address. The error is that of [alerts.ParseFilter].
func (w *Web) readAlerts(v url.Values) (q alertQuery, err error) {
	q.values = url.Values{}
	for _, name := range alerts.FilterParameters() {
		q.values[name] = v[name]
	}
	q.filter, err = alerts.ParseFilter(q.values, w.rules())
	return q, err
}

func (w *Web) rules() alerts.Rules {
	if w.cfg.Alerts == nil {
		return alerts.Defaults()
	}
	return w.cfg.Alerts.Rules()
}

// in are the parameters with one state in place of those asked for; empty for all states.
func (q alertQuery) in(state alerts.State) url.Values {
	v := url.Values{}
	for name, values := range q.values {
		v[name] = values
	}
	v["state"] = []string{string(state)}
	return v
}

// tabs are the states, with how many alerts the rest of the filter selects in each.
func (q alertQuery) tabs(board query.Alerts) []views.Tab {
	rest := q.filter
	rest.States = nil
	found := board.Only(rest)
	out := []views.Tab{{Href: address("/alerts", q.in("")), Label: "All", Count: views.Count(int64(len(found.All))), Current: len(q.filter.States) == 0}}
	for _, state := range alerts.States() {
		n, current := found.Counts.Total(state), slices.Contains(q.filter.States, state)
		if n > 0 || current {
			out = append(out, views.Tab{Href: address("/alerts", q.in(state)), Label: views.AlertStateName(state), Count: views.Count(int64(n)), Value: string(state), Current: current})
		}
	}
	return out
}

// choices are the rules, severities and agents that the alerts on the board have, and those that are asked for.
func (q alertQuery) choices(board query.Alerts, rules alerts.Rules) []views.AlertChoice {
	var agents []string
	of := map[alerts.RuleID]bool{}
	for _, s := range board.All {
		agents, of[s.Rule] = append(agents, s.Labels.Agent), true
	}
	agents = append(agents, q.filter.Agents...)
	slices.Sort(agents)
	severity, rule, agent := views.AlertChoice{Name: "severity"}, views.AlertChoice{Name: "rule"}, views.AlertChoice{Name: "agent"}
	for _, s := range alerts.Severities() {
		severity.Options = append(severity.Options, views.Option{Value: string(s), Label: string(s), Selected: slices.Contains(q.filter.Severities, s)})
	}
	for _, r := range rules {
		if asked := slices.Contains(q.filter.Rules, r.ID); asked || of[r.ID] {
			rule.Options = append(rule.Options, views.Option{Value: string(r.ID), Label: r.Title, Selected: asked})
		}
	}
	for _, name := range slices.Compact(agents) {
		if name != "" {
			agent.Options = append(agent.Options, views.Option{Value: name, Label: views.Cut(name, 40), Selected: slices.Contains(q.filter.Agents, name)})
		}
	}
	return []views.AlertChoice{severity, rule, agent}
}

// noAlertMatches says so, with the way to all.
func noAlertMatches() views.EmptyState {
	return views.EmptyState{Kind: "nomatch", Say: "No alert matches.", Links: []views.Chip{{Href: "/alerts", Label: "All alerts"}}}
}
