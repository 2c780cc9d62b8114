package web

import (
	"fmt"
	"net/url"
	"strings"

	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// emptyList says why a list is empty: four different things.
func (w *Web) emptyList(q listQuery, snap *query.FleetSnapshot, counts query.StateCounts) views.EmptyState {
	down := downParts(w.health())
	switch {
	case snap.Counts.Total() == 0 && down != "":
		return views.EmptyState{Kind: "down", Say: "Nothing can be seen: " + down + ".", Why: "What crosses the broker now is read once it is back, as far as the capture streams keep it.",
			Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	case snap.Counts.Total() == 0:
		return w.emptyNew()
	case onlyTrouble(q) && down == "":
		return views.EmptyState{Kind: "healthy", Say: "All healthy: no task is " + stateWords(q.filter.States) + ".",
			Why:   fmt.Sprintf("%s tasks checked just now; %s", views.Count(snap.Counts.Total()), captureWords(w.health())),
			Links: []views.Chip{{Href: "/tasks", Label: "All tasks"}}}
	}
	out := views.EmptyState{Kind: "nomatch", Say: "No task matches " + views.Cut(q.filter.Query(), 120) + ".", Links: []views.Chip{{Href: q.path, Label: "Clear filters"}}}
	if other := counts.Total(); other > 0 && len(q.filter.States) > 0 {
		out.Why = fmt.Sprintf("%s in other states.", views.Count(other)+" "+views.Plural(other, "matches", "match"))
		out.Links = append([]views.Chip{{Href: q.with("state"), Label: "All states"}}, out.Links...)
	}
	if q.values.Get("from") != "" || q.values.Get("to") != "" {
		v := url.Values{}
		for name, values := range q.values {
			if name != "from" && name != "to" {
				v[name] = values
			}
		}
		out.Links = append([]views.Chip{{Href: address(q.path, v), Label: "Any time"}}, out.Links...)
	}
	if !q.first() {
		out.Say, out.Links = "There are no rows beyond this point.", []views.Chip{{Href: q.with("cursor"), Label: "First page"}}
	}
	return out
}

func (w *Web) emptyNew() views.EmptyState {
	server := ""
	if w.cfg.Server != "" {
		server = "--server " + w.cfg.Server + " "
	}
	return views.EmptyState{
		Kind: "new", Say: "Listening. Nothing has crossed the task stream yet.",
		Why:     "Point an agent, or the demo fleet, at this broker. The first message appears here within a second.",
		Command: "fleetglass --demo\nnats " + server + "pub " + fleet.NewContract(w.cfg.Prefix).TaskSubject("cto", "code_review") + " '{\"taskId\":\"hello-1\",\"type\":\"code_review\"}'",
	}
}

// onlyTrouble reports whether the list asks for bad states and nothing else: finding none is good news then.
func onlyTrouble(q listQuery) bool {
	if len(q.filter.States) == 0 || !q.first() {
		return false
	}
	for name := range q.values {
		if name != "state" && name != "sort" {
			return false
		}
	}
	for _, s := range q.filter.States {
		if !s.Trouble() {
			return false
		}
	}
	return true
}

func stateWords(states []lifecycle.State) string {
	var words []string
	for _, s := range states {
		_, _, word := views.StateLook(s)
		words = append(words, word)
	}
	return strings.Join(words, " or ")
}

func downParts(parts []health.Part) string {
	for _, p := range parts {
		if p.State == health.Down {
			return p.Name + " is down"
		}
	}
	return ""
}

func captureWords(parts []health.Part) string {
	if len(parts) == 0 {
		return "but no collector reports to these pages."
	}
	for _, p := range parts {
		if p.State == health.Behind || p.State == health.Starting {
			return "but collector " + p.Name + " has not caught up yet."
		}
	}
	return "every collector is up to date."
}
