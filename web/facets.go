package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// stateTabs are the states with their counts for the rest of the filter.
func (q listQuery) stateTabs(counts query.StateCounts, states []lifecycle.State) []views.Tab {
	tabs := []views.Tab{{Href: q.with("state"), Label: "All", Count: atLeast(counts.Of(states...), counts.Capped), Current: len(q.values["state"]) == 0}}
	for _, s := range states {
		n := counts.Of(s)
		if n == 0 && !q.has("state", string(s)) {
			continue // All states are too many for a row; those that nothing is in can be asked for in the search box.
		}
		icon, tone, word := views.StateLook(s)
		tabs = append(tabs, views.Tab{
			Href: q.with("state", string(s)), Label: strings.ToUpper(word[:1]) + word[1:], Icon: icon, Tone: tone, About: s.Meaning(),
			Count: atLeast(n, counts.Capped && n > 0), Current: q.has("state", string(s)),
		})
	}
	return tabs
}

func atLeast(n int64, capped bool) string {
	if capped {
		return views.Count(n) + "+"
	}
	return views.Count(n)
}

// chipsShown is how many agents stand above a list.
const chipsShown = 8

// chips are whatever filter is active but not visible elsewhere, and the busiest agents.
func (q listQuery) chips(facets lifecycle.Facets) (active, agents []views.Chip) {
	shown := topKeys(facets.Agents, chipsShown)
	slices.Sort(shown)
	asked := q.agents()
	for _, a := range shown {
		chip := views.Chip{Href: q.toggle("agent", a), Label: views.Cut(a, 32), Count: q.ofAll(facets.Agents[a])}
		if without, on := asked[a]; on {
			chip.Href, chip.On = without, true
		}
		agents = append(agents, chip)
	}
	for _, chip := range understood(q.path, lifecycle.TaskGrammar(), q.values, false, ownControl...) {
		if !slices.ContainsFunc(agents, func(agent views.Chip) bool { return agent.On && agent.Href == chip.Href }) {
			active = append(active, chip)
		}
	}
	return active, agents
}

// agents are those that the filter asks for, in the box or by a parameter, each with the address of the list without it.
func (q listQuery) agents() map[string]string {
	out := map[string]string{}
	for _, c := range conditions(lifecycle.TaskGrammar(), q.values) {
		if c.Field == "agent" && !c.Not && c.Op == "" {
			out[c.Value] = address(q.path, c.rest)
		}
	}
	return out
}

// ofAll writes a count of all tasks beside a choice; empty where the list is narrowed, because the choice would then lead to another number of tasks.
func (q listQuery) ofAll(n int64) string {
	if n == 0 || q.narrowed() {
		return ""
	}
	return short(n)
}

// ownControl are the parameters that have a place of their own above a list; whatever else is asked for is shown as chips.
var ownControl = []string{"state", "from", "sort"}

// topKeys are the keys with the highest values, at most n.
func topKeys(m map[string]int64, n int) []string {
	keys := slices.Collect(maps.Keys(m))
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	return keys[:min(n, len(keys))]
}

// facetsShown is how many values of a facet stand in its box.
const facetsShown = 20

func (q listQuery) facets(f lifecycle.Facets) []views.Facet {
	return []views.Facet{
		q.facet("agent", "Agent", f.Agents),
		withoutCounts(q.facet("type", "Type (of the last week)", f.Types)),
		{Name: "has", Legend: "Duplicates", Choices: []views.FacetChoice{
			{Value: "duplicate", Label: "caught by the stream", On: q.has("has", "duplicate")}}},
		q.anomalyFacet(),
	}
}

func (q listQuery) facet(name, legend string, values map[string]int64) views.Facet {
	f := views.Facet{Name: name, Legend: legend}
	keys := topKeys(values, facetsShown)
	f.More = len(values) - len(keys)
	for _, chosen := range q.values[name] {
		if !slices.Contains(keys, chosen) {
			keys = append(keys, chosen)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		f.Choices = append(f.Choices, views.FacetChoice{Value: k, Label: views.Cut(k, 48), Count: q.ofAll(values[k]), On: q.has(name, k)})
	}
	return f
}

// withoutCounts is a facet whose numbers do not say how many tasks its choices lead to: types are counted by messages.
func withoutCounts(f views.Facet) views.Facet {
	for i := range f.Choices {
		f.Choices[i].Count = ""
	}
	return f
}

var facetAnomalies = []lifecycle.AnomalyCode{
	lifecycle.AnomalyLateAck, lifecycle.AnomalyOrphaned, lifecycle.AnomalySilentAttempt, lifecycle.AnomalyCompletedAndDead,
	lifecycle.AnomalyPublishUnseen, lifecycle.AnomalyForged, lifecycle.AnomalyNotStored, lifecycle.AnomalyClockSkew, lifecycle.AnomalyVanished,
}

func (q listQuery) anomalyFacet() views.Facet {
	f := views.Facet{Name: "anomaly", Legend: "Anomaly"}
	for _, c := range facetAnomalies {
		f.Choices = append(f.Choices, views.FacetChoice{Value: string(c), Label: views.AnomalyWord(c), On: q.has("anomaly", string(c))})
	}
	return f
}
