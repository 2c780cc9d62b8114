package web

import (
	"fmt"
	"net/url"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

func causes(dead query.Dead, counts query.StateCounts) (out []views.Cause, note string) {
	found := dead.Causes()
	for _, c := range found[:min(len(found), causeRows)] {
		out = append(out, views.Cause{Name: c.Name, Href: address("/tasks", dead.Filter(c).Values()), Count: c.Count, Share: float64(c.Count) / float64(found[0].Count)})
	}
	if dead.More {
		return out, fmt.Sprintf("the newest %s of %s dead tasks", views.Count(int64(len(dead.Newest))), views.Count(counts.That(lifecycle.State.Dead)))
	}
	return out, "dead tasks, now"
}

func stateCounts(counts query.StateCounts, base url.Values) []views.StateCount {
	var out []views.StateCount
	for _, s := range lifecycle.States() {
		if counts.Of(s) == 0 {
			continue
		}
		v := url.Values{"state": {string(s)}}
		for name, values := range base {
			v[name] = values
		}
		out = append(out, views.StateCount{State: s, Href: address("/tasks", v), Count: counts.Of(s)})
	}
	return out
}
