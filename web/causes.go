package web

import (
	"fmt"
	"net/url"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

func causeOf(t lifecycle.TaskSummary) string {
	if t.Category != "" {
		return t.Category
	}
	return t.Rule
}

func countCauses(dead []lifecycle.TaskSummary) map[string]int64 {
	counts := map[string]int64{}
	for _, t := range dead {
		counts[causeOf(t)]++
	}
	return counts
}

func topCause(dead []lifecycle.TaskSummary) string {
	counts := countCauses(dead)
	text := ""
	for _, name := range topKeys(counts, 3) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %d", views.Cut(name, 40), counts[name])
	}
	return text + "."
}

func causes(page lifecycle.TaskPage, b *board) ([]views.Cause, string) {
	counts := countCauses(page.Tasks)
	var out []views.Cause
	var most int64
	for _, name := range topKeys(counts, causeRows) {
		most = max(most, counts[name])
		out = append(out, views.Cause{Name: name, Href: causeAddress(name, page.Tasks), Count: counts[name], Share: float64(counts[name]) / float64(most)})
	}
	note := "dead tasks, now"
	if page.Next != nil {
		note = fmt.Sprintf("the newest %d of %s dead tasks", len(page.Tasks), views.Count(b.count(lifecycle.StatesThat(lifecycle.State.Dead)...)))
	}
	return out, note
}

// causeAddress leads to the entries of a cause. Only categories can be filtered by; a rule leads to the state that it gives.
func causeAddress(name string, dead []lifecycle.TaskSummary) string {
	for _, t := range dead {
		if t.Category == name {
			return "/dlq?category=" + url.QueryEscape(name)
		}
	}
	return abandonedHref
}

func stateCounts(counts map[lifecycle.State]int64, base url.Values) []views.StateCount {
	var out []views.StateCount
	for _, s := range lifecycle.States() {
		if counts[s] == 0 {
			continue
		}
		v := url.Values{"state": {string(s)}}
		for name, values := range base {
			v[name] = values
		}
		out = append(out, views.StateCount{State: s, Href: address("/tasks", v), Count: counts[s]})
	}
	return out
}
