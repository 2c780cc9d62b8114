package web

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// agents is the fleet by agent.
func (w *Web) agents(c *gin.Context) error {
	ctx := c.Request.Context()
	b, err := w.board.get(ctx)
	if err != nil {
		return err
	}
	day, err := w.rollups(ctx, b.Now.Add(-24*time.Hour), b.Now, true, lifecycle.MetricPublished, lifecycle.MetricCompleted,
		lifecycle.MetricFailedAttempts, lifecycle.MetricDied, lifecycle.MetricRunning, lifecycle.MetricState)
	if err != nil {
		return err
	}
	p := views.AgentsPage{Links: links(c, "/agents", "/api/v1/agents", nil), Rows: agentRows(b, day)}
	busy := 0
	for _, r := range p.Rows {
		if r.Lease != nil {
			busy++
		}
	}
	p.Summary = fmt.Sprintf("%s, %d with work in hand", counted(int64(len(p.Rows)), "agent", "agents"), busy)
	if len(p.Rows) == 0 {
		p.Blank = w.blankInFlight(b)
		if b.total() == 0 {
			p.Blank = w.blank(listQuery{path: "/tasks", first: true}, b, nil)
		}
	}
	return w.render(c, frame{title: "Agents", section: "agents", search: true, board: b}, views.Agents(p))
}

// agentNames are all agents that tasks or consumers name.
func agentNames(b *board) []string {
	names := maps.Clone(b.Facets.Agents)
	if names == nil {
		names = map[string]int64{}
	}
	for _, c := range b.Consumers {
		if name := fleet.AgentOfWorker(c.Name); name != "" {
			names[name] += 0
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func agentRows(b *board, day lifecycle.Tally) []views.AgentRow {
	tallies, typical := agentTallies(day), typicalByAgent(day)
	leases := map[string][]*lifecycle.Lease{}
	for i := range b.Leases {
		leases[b.Leases[i].Agent] = append(leases[b.Leases[i].Agent], &b.Leases[i])
	}
	var out []views.AgentRow
	for _, name := range agentNames(b) {
		t := tallies[name]
		row := views.AgentRow{Name: name, Href: agentAddress(name), Waiting: t.waiting, Published: t.published, Completed: t.completed, Failed: t.failed,
			Died: t.died, Tasks: t.tasks, Typical: typical[name]}
		if held := leases[name]; len(held) > 0 {
			row.Lease, row.More, row.TaskHref = held[0], len(held)-1, taskAddress(held[0].TaskID)
		}
		for _, c := range b.Consumers {
			if fleet.AgentOfWorker(c.Name) == name {
				row.LastAt = max(row.LastAt, c.DeliveredAt)
				row.Gone, row.Paused = c.Gone, c.Paused
			}
		}
		out = append(out, row)
	}
	return out
}

// typicalByAgent is the distribution of running times per agent, over all its types.
func typicalByAgent(t lifecycle.Tally) map[string]lifecycle.Typical {
	merged := lifecycle.Tally{}
	for c, n := range t {
		if c.Metric != lifecycle.MetricRunning || len(c.Label) < 4 {
			continue
		}
		merged[lifecycle.Cell{Metric: c.Metric, Label: c.Agent + "|" + c.Label[len(c.Label)-3:]}] += n
	}
	return lifecycle.TypicalDurations(merged)
}

// agent is one agent.
func (w *Web) agent(c *gin.Context) error {
	name := rest(c, "/agents/")
	ctx := c.Request.Context()
	b, err := w.board.get(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(agentNames(b), name) {
		return lifecycle.ErrNotFound
	}
	p, err := w.agentProps(ctx, c, b, name)
	if err != nil {
		return err
	}
	return w.render(c, frame{title: "Agent " + views.Cut(name, 60), section: "agents", search: true, board: b}, views.Agent(p))
}

func (w *Web) agentProps(ctx context.Context, c *gin.Context, b *board, name string) (views.AgentPage, error) {
	r := readerOf(c)
	f := lifecycle.Filter{Agents: []string{name}}
	p := views.AgentPage{Name: name, Links: links(c, agentAddress(name), "/api/v1/agents/"+url.PathEscape(name), nil), AllHref: address("/tasks", f.Values())}
	window := windowOf(c.Query("range"))
	var err error
	if p.Chart, err = w.throughput(ctx, window, b.Now, r, name); err != nil {
		return p, err
	}
	p.RangeName = window.name + ", " + zoneWord(r)
	p.Ranges = window.tabs(func(key string) string { return address(agentAddress(name), url.Values{"range": {key}}) })
	counts, capped, err := w.cfg.Store.CountTasks(ctx, f)
	if err != nil {
		return p, err
	}
	day, err := w.rollups(ctx, b.Now.Add(-24*time.Hour), b.Now, true, lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts,
		lifecycle.MetricRunning)
	if err != nil {
		return p, err
	}
	recent, err := w.cfg.Store.ListTasks(ctx, f, lifecycle.Page{Limit: 20})
	if err != nil {
		return p, err
	}
	p.Recent = rows(recent.Tasks, b)
	for _, l := range b.Leases {
		if l.Agent == name {
			p.Lease = append(p.Lease, views.LeaseRow{Lease: l, Href: taskAddress(l.TaskID), Typical: b.Typical[l.Type]})
		}
	}
	for _, s := range b.Consumers {
		if fleet.AgentOfWorker(s.Name) == name {
			p.Consumers = append(p.Consumers, s)
		}
	}
	p.Types = typeRows(day, name)
	p.Stats = agentStats(name, counts, capped, agentTallies(day)[name], p.Lease, typicalByAgent(day)[name])
	return p, nil
}

func typeRows(day lifecycle.Tally, agent string) []views.TypeRow {
	rows := map[string]*views.TypeRow{}
	running := lifecycle.Tally{}
	for c, n := range day {
		if c.Agent != agent {
			continue
		}
		switch c.Metric {
		case lifecycle.MetricPublished:
			typeRow(rows, c.Label, agent).Published += n
		case lifecycle.MetricCompleted:
			typeRow(rows, c.Label, agent).Completed += n
		case lifecycle.MetricRunning:
			running[c] = n
		}
	}
	typical := lifecycle.TypicalDurations(running)
	var out []views.TypeRow
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		rows[name].Typical = typical[name]
		out = append(out, *rows[name])
	}
	return out
}

func typeRow(rows map[string]*views.TypeRow, name, agent string) *views.TypeRow {
	if rows[name] == nil {
		rows[name] = &views.TypeRow{Type: name, Href: address("/tasks", url.Values{"agent": {agent}, "type": {name}})}
		if name == "" {
			rows[name].Type = "no type"
		}
	}
	return rows[name]
}

func agentStats(name string, counts map[lifecycle.State]int64, capped bool, t agentTally, leases []views.LeaseRow, typical lifecycle.Typical) []views.Stat {
	list := func(states ...lifecycle.State) string {
		return address("/tasks", lifecycle.Filter{Agents: []string{name}, States: states}.Values())
	}
	var dead int64
	for _, s := range lifecycle.StatesThat(lifecycle.State.Dead) {
		dead += counts[s]
	}
	p95 := "no completed task in 24 h"
	value := "none"
	if typical.Sample > 0 {
		value, p95 = views.Duration(typical.P50), "p95 "+views.Duration(typical.P95)+", 24 h"
	}
	return []views.Stat{
		{Href: list(inFlightStates()...), Icon: "processing", Tone: "run", Label: "In hand", Value: views.Count(int64(len(leases))), Detail: "leases now"},
		{Href: list(lifecycle.StatePublished), Icon: "published", Tone: "wait", Label: "Waiting", Value: atLeast(counts[lifecycle.StatePublished], capped), Detail: "stored, in nobody's hands"},
		{Href: list(lifecycle.StateCompleted), Icon: "completed", Tone: "ok", Label: "Completed", Value: views.Count(t.completed), Detail: "24 h, of " + views.Count(t.published) + " published"},
		{Href: list(lifecycle.StateFailed), Icon: "failed", Tone: "warn", Label: "Failed attempts", Value: views.Count(t.failed), Detail: "24 h"},
		{Href: list(lifecycle.StatesThat(lifecycle.State.Dead)...), Icon: "dead", Tone: "dead", Label: "Dead", Value: atLeast(dead, capped), Loud: dead > 0, Detail: "exhausted, terminated or dead-lettered"},
		{Href: list(lifecycle.StateCompleted), Icon: "clock", Tone: "wait", Label: "Takes", Value: value, Detail: p95},
	}
}
