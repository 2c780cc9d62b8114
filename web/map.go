package web

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// fleetMap is who gives work to whom.
func (w *Web) fleetMap(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	m, err := w.cfg.Query.Map(ctx)
	if err != nil {
		return err
	}
	p := views.MapPage{Links: links(c, "/map", "/api/v1/stats/map", nil), Publishers: mapPublishers(m), Agents: mapAgents(m)}
	doing := map[string]int{}
	for _, a := range m.Agents {
		doing[string(a.Activity)]++
	}
	p.Head = activitySummary(len(snap.AgentNames), doing)
	p.Ends = mapEnds(m)
	p.Note = "What is published counts messages; a task that was retried has several. Completed and died count tasks; one whose retry completed counts as completed. A publisher names itself in the header X-Publisher; nothing proves the name. Publishers of messages without that header are not known."
	if len(p.Agents) == 0 {
		p.Empty = w.emptyFleet(snap)
	}
	return w.render(c, frame{title: "Map", section: "map", search: true, snapshot: snap, every: time.Second}, views.Map(p))
}

// mapPublishers are who publishes, as their messages say.
func mapPublishers(m query.FleetMap) []views.MapPublisher {
	var out []views.MapPublisher
	for _, p := range m.Publishers {
		row := views.MapPublisher{Name: p.Name, Href: givenAddress(m, p), MapFlow: flow(p.Published, p.Hour)}
		if p.Name == "" {
			row.Name, row.Unknown = "Not known", true
		}
		out = append(out, row)
	}
	return out
}

// givenAddress is the list of the tasks of which the publishers published a message in the last 24 hours; empty where no list has exactly them: what names no publisher
// can be found by none, and of those that are counted together nobody knows the names.
func givenAddress(m query.FleetMap, p query.MapPublisher) string {
	names := p.Names
	if p.Several == 0 && p.Name != "" {
		names = []string{p.Name}
	}
	if len(names) == 0 || len(names) > lifecycle.MaxFilterValues {
		return ""
	}
	return address("/tasks", url.Values{"publisher": names, "q": {"published:>=" + instant(m.Since)}})
}

func mapAgents(m query.FleetMap) []views.MapAgent {
	place := map[string]int{}
	for i, p := range m.Publishers {
		place[p.Name] = i
	}
	var out []views.MapAgent
	for _, a := range m.Agents {
		row := views.MapAgent{
			Name: a.Name, Href: agentAddress(a.Name), Activity: string(a.Activity), Waits: a.Waiting > 0, Held: fmt.Sprintf("%s in flight, %s waiting", atLeast(int64(a.Held), m.Partial), views.Count(a.Waiting)),
			Published: flow(a.Published, a.HourPublished), Completed: flow(a.Completed, a.HourCompleted), Failed: flow(a.Failed, a.HourFailed), Died: flow(a.Died, a.HourDied),
			LastSeen: a.LastSeen, From: mapGiven(a.From(), place),
		}
		if a.Several > 0 {
			row.Href = "/agents"
		}
		for _, t := range a.Types {
			row.Types = append(row.Types, mapType(m, a, t, place))
		}
		out = append(out, row)
	}
	return out
}

// flow is a count of 24 hours with its rate in the last hour.
func flow(day, hour int64) views.MapFlow { return views.MapFlow{Day: day, Rate: rateWord(hour)} }

// rateWord is how much there was in the last hour. All rates of the map have one unit, so that they compare; large ones are rounded down to fit a line.
func rateWord(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%d.%dM/h", n/1_000_000, n/100_000%10)
	case n >= 10_000:
		return fmt.Sprintf("%dk/h", n/1000)
	}
	return views.Count(n) + "/h"
}

func mapGiven(from []query.MapGiven, place map[string]int) []views.MapGiven {
	var out []views.MapGiven
	for _, g := range from {
		out = append(out, views.MapGiven{Publisher: place[g.Publisher], MapFlow: flow(g.Published, g.Hour)})
	}
	return out
}

func mapType(m query.FleetMap, a query.MapAgent, t query.MapType, place map[string]int) views.MapType {
	out := views.MapType{
		Name: t.Name, Published: flow(t.Published, t.HourPublished), Completed: flow(t.Completed, t.HourCompleted), From: mapGiven(t.From, place),
	}
	list := url.Values{"q": {"published:>=" + instant(m.Since)}}
	if a.Several == 0 {
		list.Set("agent", a.Name)
	}
	switch {
	case t.Others: // No list has them alone.
		out.Name, out.Href = otherTypes, agentAddress(a.Name)
		if a.Several > 0 {
			out.Href = "/agents"
		}
		return out
	case t.Several > 0:
		out.Name = counted(int64(t.Several), "more type", "more types")
		if a.Several > 0 || len(a.Types) == 1 {
			out.Name = counted(int64(t.Several), "type", "types")
		}
		list["type"] = slices.Compact(slices.Sorted(slices.Values(t.Names)))
	case t.Name == "":
		out.Name = noType
	default:
		list.Set("type", t.Name)
	}
	out.Href = address("/tasks", list)
	return out
}

// mapEnds are what became of work, with the sums over all agents.
func mapEnds(m query.FleetMap) []views.MapEnd {
	ended := func(states ...lifecycle.State) string {
		return address("/tasks", lifecycle.Filter{States: states, From: m.Since}.Values())
	}
	died := lifecycle.StatesThat(func(s lifecycle.State) bool { return !s.Open() && s != lifecycle.StateCompleted })
	var completed, failed, dead [2]int64
	for _, a := range m.Agents {
		completed[0], completed[1] = completed[0]+a.Completed, completed[1]+a.HourCompleted
		failed[0], failed[1] = failed[0]+a.Failed, failed[1]+a.HourFailed
		dead[0], dead[1] = dead[0]+a.Died, dead[1]+a.HourDied
	}
	return []views.MapEnd{
		{Name: "Completed", Tone: "ok", Href: ended(lifecycle.StateCompleted), MapFlow: flow(completed[0], completed[1]), Of: func(a views.MapAgent) views.MapFlow { return a.Completed }},
		{Name: "Failed attempts", Tone: "warn", Href: "/statistics?range=24h#failed", MapFlow: flow(failed[0], failed[1]), Of: func(a views.MapAgent) views.MapFlow { return a.Failed }},
		{Name: "Died", Tone: "bad", Href: ended(died...), MapFlow: flow(dead[0], dead[1]), Of: func(a views.MapAgent) views.MapFlow { return a.Died }},
	}
}
