package web

import (
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// suggestions are what can stand in the search box.
func suggestions(snap *query.FleetSnapshot) []views.Option {
	out := fieldSuggestions(lifecycle.TaskGrammar())
	for _, s := range lifecycle.States() {
		out = append(out, views.Option{Value: "state:" + string(s), Label: s.Meaning()})
	}
	for _, a := range topKeys(snap.Facets.Agents, 100) {
		out = append(out, views.Option{Value: queryTerm("agent", a), Label: views.Count(snap.Facets.Agents[a]) + " tasks"})
	}
	for _, t := range topKeys(snap.Facets.Types, 60) {
		out = append(out, views.Option{Value: queryTerm("type", t), Label: views.Count(snap.Facets.Types[t]) + " in the last week"})
	}
	out = append(out, views.Option{Value: "has:duplicate", Label: "Publishes caught by the stream"})
	for _, a := range facetAnomalies {
		out = append(out, views.Option{Value: "anomaly:" + string(a), Label: a.Meaning()})
	}
	for _, r := range ranges[1:] {
		out = append(out, views.Option{Value: "from:" + r.value, Label: r.label})
	}
	return out
}

// fieldSuggestions are the fields of a search box, and the values of those that have few.
func fieldSuggestions(g lifecycle.Grammar) (out []views.Option) {
	for _, f := range g.Fields {
		out = append(out, views.Option{Value: f.Name + ":", Label: f.About})
		for _, v := range f.Values {
			if f.Name != "state" && f.Name != "anomaly" && f.Name != "has" { // Those come with their meaning.
				out = append(out, views.Option{Value: f.Name + ":" + v})
			}
		}
	}
	return out
}

// queryTerm writes a field and value in the grammar of the search box.
func queryTerm(name, value string) string {
	var f lifecycle.Filter
	if name == "agent" {
		f.Agents = []string{value}
	} else {
		f.Types = []string{value}
	}
	return f.Query()
}
