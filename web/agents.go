package web

import (
	"context"
	"fmt"
	"net/url"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// agents is the fleet by agent.
func (w *Web) agents(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	agents, err := w.cfg.Query.Agents(ctx)
	if err != nil {
		return err
	}
	p := views.AgentsPage{Links: links(c, "/agents", "/api/v1/agents", nil), Rows: agentRows(agents, lifecycle.MicrosOf(w.cfg.Now()))}
	doing := map[string]int{}
	for _, r := range p.Rows {
		doing[r.Activity]++
	}
	p.Summary = activitySummary(len(p.Rows), doing)
	if len(p.Rows) == 0 {
		p.Empty = w.emptyInFlight(snap)
		if snap.Counts.Total() == 0 {
			p.Empty = w.emptyFleet(snap)
		}
	}
	return w.render(c, frame{title: "Agents", section: "agents", search: true, snapshot: snap}, views.Agents(p))
}

// activitySummary counts agents and what they do; the map says the same.
func activitySummary(agents int, doing map[string]int) string {
	return fmt.Sprintf("%s, %d busy, %d silent", counted(int64(agents), "agent", "agents"), doing[string(query.ActivityBusy)], doing[string(query.ActivitySilent)])
}

func agentRows(agents query.Agents, now lifecycle.Micros) []views.AgentRow {
	var out []views.AgentRow
	for _, a := range agents.All {
		row := views.AgentRow{Name: a.Name, Href: agentAddress(a.Name), Waiting: a.Waiting(), Published: a.Day.Published, Completed: a.Day.Completed,
			Failed: a.Day.Failed, Died: a.DiedDay, Tasks: a.Tasks, Typical: a.Durations, LastAt: a.LastSeen, Gone: a.Gone(), Paused: a.Paused(),
			Activity: string(a.Activity(now)), Cost: a.CostDay.CostUSD()}
		if len(a.Leases) > 0 {
			row.Lease, row.More, row.TaskHref = &a.Leases[0], len(a.Leases)-1, lifecycle.PageOfTask(a.Leases[0].TaskID)
		}
		out = append(out, row)
	}
	return out
}

// agent is one agent.
func (w *Web) agent(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	agents, err := w.cfg.Query.Agents(ctx)
	if err != nil {
		return err
	}
	a := agents.Of(rest(c, "/agents/"))
	if a == nil {
		return lifecycle.ErrNotFound
	}
	p, err := w.agentProps(ctx, c, snap, *a)
	if err != nil {
		return err
	}
	return w.render(c, frame{title: "Agent " + views.Cut(a.Name, 60), section: "agents", search: true, snapshot: snap}, views.Agent(p))
}

func (w *Web) agentProps(ctx context.Context, c *gin.Context, snap *query.FleetSnapshot, a query.AgentStatistics) (views.AgentPage, error) {
	r, f, window := preferencesOf(c), lifecycle.Filter{Agents: []string{a.Name}}, windowOf(c.Query("range"))
	p := views.AgentPage{
		Name: a.Name, Links: links(c, agentAddress(a.Name), "/api/v1/agents/"+url.PathEscape(a.Name), nil), AllHref: address("/tasks", f.Values()),
		Activity: string(a.Activity(snap.AsOf)), Waits: a.Waiting() > 0, RangeName: window.name + ", " + zoneWord(r), Consumers: a.Consumers, Types: typeRows(a), Stats: agentStats(a), Cost: costWords(a.CostDay),
		Ranges: window.tabs(func(key string) string { return address(agentAddress(a.Name), url.Values{"range": {key}}) }),
	}
	for _, l := range a.Leases {
		p.Lease = append(p.Lease, views.LeaseRow{Lease: l, Href: lifecycle.PageOfTask(l.TaskID), Typical: snap.Typical[l.Type]})
	}
	var err error
	if p.Chart, err = w.throughput(ctx, window, r, a.Name); err != nil {
		return p, err
	}
	recent, err := w.cfg.Query.Tasks(ctx, f, lifecycle.Page{Limit: 20})
	p.Recent = rows(recent.Rows, snap)
	return p, err
}

// costWords say what was reported that tasks cost.
func costWords(c query.CostOf) string {
	if c.Tasks == 0 {
		return "cost not reported"
	}
	return views.USD(c.CostUSD()) + " reported for " + counted(c.Tasks, "task", "tasks")
}

func typeRows(a query.AgentStatistics) []views.TypeRow {
	var out []views.TypeRow
	for _, t := range a.Types {
		row := views.TypeRow{Type: t.Name, Href: address("/tasks", url.Values{"agent": {a.Name}, "type": {t.Name}}), Published: t.Published,
			Completed: t.Completed, Typical: t.Durations, Cost: t.Cost.CostUSD()}
		switch {
		case t.Name == "":
			row.Type = noType
		case t.Others():
			row.Type, row.Href = otherTypes, ""
		}
		out = append(out, row)
	}
	return out
}

func agentStats(a query.AgentStatistics) []views.Stat {
	list := func(states ...lifecycle.State) string {
		return address("/tasks", lifecycle.Filter{Agents: []string{a.Name}, States: states}.Values())
	}
	counts := query.StateCounts{ByState: a.States}
	dead := counts.That(lifecycle.State.Dead)
	takes, p95 := "none", "no task completed in 7 days"
	if t := a.Durations; t.Sample > 0 {
		takes, p95 = views.Approximately(t.P50), "p95 "+views.Approximately(t.P95)+", 7 days"
	}
	return []views.Stat{
		{Href: list(lifecycle.StatesThat(lifecycle.State.InFlight)...), Icon: "processing", Tone: "run", Label: "In flight", Value: views.Count(int64(a.Held())), Detail: "leases held now"},
		{Href: list(lifecycle.StatePublished), Icon: "published", Tone: "wait", Label: "Waiting", Value: views.Count(a.Waiting()), Detail: "stored, not delivered"},
		{Href: list(lifecycle.StateCompleted), Icon: "completed", Tone: "ok", Label: "Completed", Value: views.Count(a.Day.Completed), Detail: "24 h, of " + views.Count(a.Day.Published) + " published"},
		{Href: list(lifecycle.StateFailed), Icon: "failed", Tone: "warn", Label: "Failed attempts", Value: views.Count(a.Day.Failed), Detail: "24 h"},
		{Href: list(lifecycle.StatesThat(lifecycle.State.Dead)...), Icon: "dead", Tone: "dead", Label: "Dead", Value: views.Count(dead), Loud: dead > 0, Detail: "now; " + views.Count(a.DiedDay) + " died in 24 h, without a retry that completed"},
		{Href: list(lifecycle.StateCompleted), Icon: "clock", Tone: "wait", Label: "Median run time", Value: takes, Detail: p95},
	}
}
