package web

import (
	"fmt"
	"net/url"
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
	p := views.MapPage{Links: links(c, "/map", "/api/v1/stats/map", nil), Agents: mapAgents(m)}
	doing := map[string]int{}
	for _, a := range m.Agents {
		doing[string(a.Activity)]++
	}
	p.Head = activitySummary(len(snap.AgentNames), doing)
	p.Ends = mapEnds(p.Agents)
	p.Note = "Who published a message is not known: nothing on the wire names the publisher. Counts are of the last 24 hours, rates of the last hour."
	if len(p.Agents) == 0 {
		p.Empty = w.emptyFleet(snap)
	}
	return w.render(c, frame{title: "Map", section: "map", search: true, snapshot: snap, every: time.Second}, views.Map(p))
}

func mapAgents(m query.FleetMap) []views.MapAgent {
	var out []views.MapAgent
	for _, a := range m.Agents {
		row := views.MapAgent{
			Name: a.Name, Href: agentAddress(a.Name), Activity: string(a.Activity), Waits: a.Waiting > 0, Held: fmt.Sprintf("%s in flight, %s waiting", atLeast(int64(a.Held), m.Partial), views.Count(a.Waiting)),
			Rate: rateWord(a.HourCompleted), Published: a.Published, Completed: a.Completed, Failed: a.Failed, Died: a.Died, LastSeen: a.LastSeen,
		}
		if a.Several > 0 {
			row.Href = "/agents"
		}
		if a.Failed > 0 {
			row.Retries = ", " + counted(a.Failed, "failed attempt", "failed attempts")
		}
		for _, t := range a.Types {
			row.Types = append(row.Types, mapType(a, t))
		}
		out = append(out, row)
	}
	return out
}

// rateWord is how much was completed in the last hour.
func rateWord(n int64) string {
	if n >= 120 {
		return fmt.Sprintf("%.0f/min", float64(n)/60)
	}
	return views.Count(n) + "/h"
}

func mapType(a query.MapAgent, t query.MapType) views.MapType {
	out := views.MapType{Name: t.Name, Published: t.Published, Completed: t.Completed}
	f := lifecycle.Filter{}
	if a.Several == 0 {
		f.Agents = []string{a.Name}
	}
	switch {
	case t.Several > 0:
		out.Name = counted(int64(t.Several), "more type", "more types")
		if a.Several > 0 || len(a.Types) == 1 {
			out.Name = counted(int64(t.Several), "type", "types")
		}
	case t.Name == "":
		out.Name = "no type"
	default:
		f.Types = []string{t.Name}
	}
	out.Href = address("/tasks", f.Values())
	return out
}

// mapEnds are what became of work, with the sums over all agents.
func mapEnds(agents []views.MapAgent) []views.MapEnd {
	ends := []views.MapEnd{
		{Name: "Completed", Tone: "ok", Href: address("/tasks", url.Values{"state": {string(lifecycle.StateCompleted)}, "from": {"24h"}}), Of: func(a views.MapAgent) int64 { return a.Completed }},
		{Name: "Failed attempts", Tone: "warn", Href: address("/tasks", url.Values{"state": {string(lifecycle.StateFailed)}}), Of: func(a views.MapAgent) int64 { return a.Failed }},
		{Name: "Died", Tone: "bad", Href: address("/dlq", url.Values{"from": {"24h"}}), Of: func(a views.MapAgent) int64 { return a.Died }},
	}
	for i := range ends {
		for _, a := range agents {
			ends[i].Count += ends[i].Of(a)
		}
	}
	return ends
}
