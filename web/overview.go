package web

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// Bounds of the overview.
const (
	agentCards    = 14
	attentionRows = 8
	causeSample   = 200 // Dead tasks looked at for their causes.
	causeRows     = 8
)

// overview is the fleet at a glance.
func (w *Web) overview(c *gin.Context) error {
	ctx := c.Request.Context()
	r := readerOf(c)
	b, err := w.board.get(ctx)
	if err != nil {
		return err
	}
	p := views.OverviewPage{Links: links(c, "/", "/api/v1/stats/fleet", nil)}
	if b.total() == 0 {
		p.Blank = w.blank(listQuery{path: "/tasks", first: true}, b, nil)
		return w.render(c, frame{title: "Overview", section: "overview", search: true, board: b}, views.Overview(p))
	}
	day, err := w.rollups(ctx, b.Now.Add(-24*time.Hour), b.Now, true,
		lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts, lifecycle.MetricDuplicates, lifecycle.MetricState)
	if err != nil {
		return err
	}
	dead, err := w.cfg.Store.ListTasks(ctx, lifecycle.Filter{States: lifecycle.StatesThat(lifecycle.State.Dead)}, lifecycle.Page{Limit: causeSample})
	if err != nil {
		return err
	}
	window := windowOf(c.Query("range"))
	p.Stats = overviewStats(b, day)
	p.Attention = attentionItems(b, dead.Tasks)
	p.Checked = fmt.Sprintf("%s and %s checked just now; %s", counted(int64(len(b.Leases)), "lease", "leases"), counted(b.total(), "task", "tasks"), captureWords(w.health())) + balanceWords(b)
	p.RangeName = window.name + ", " + zoneWord(r)
	p.Ranges = window.tabs(func(name string) string { return address("/", url.Values{"range": {name}}) })
	if p.Chart, err = w.throughput(ctx, window, b.Now, r, ""); err != nil {
		return err
	}
	p.Agents, p.MoreAgents = cards(b, day)
	p.Causes, p.CauseNote = causes(dead, b)
	p.Unfinished = stateCounts(b.Counts, url.Values{})
	return w.render(c, frame{title: "Overview", section: "overview", search: true, board: b}, views.Overview(p))
}

func zoneWord(r reader) string {
	if r.utc {
		return "UTC"
	}
	return r.zone.String()
}

func counted(n int64, one, many string) string {
	return views.Count(n) + " " + views.Plural(n, one, many)
}

// rollups reads metrics by the hour, bounds rounded so that a whole hour is never cut.
func (w *Web) rollups(ctx context.Context, from, to lifecycle.Micros, byAgent bool, metrics ...lifecycle.Metric) (lifecycle.Tally, error) {
	return w.cfg.Store.Rollups(ctx, metrics, from.Truncate(time.Hour), to.Add(time.Microsecond), byAgent)
}

// sum adds the cells of a metric, of one agent, or of all when agent is "*".
func sum(t lifecycle.Tally, m lifecycle.Metric, agent string) int64 {
	var n int64
	for c, v := range t {
		if c.Metric == m && (agent == "*" || c.Agent == agent) {
			n += v
		}
	}
	return n
}

// caughtByStream counts the duplicates of the first layer.
func caughtByStream(t lifecycle.Tally) int64 {
	var n int64
	for c, v := range t {
		if c.Metric == lifecycle.MetricDuplicates && c.Label == string(lifecycle.LayerStream) {
			n += v
		}
	}
	return n
}

func overviewStats(b *board, day lifecycle.Tally) []views.Stat {
	held, stale := b.held()
	var presumed int
	for _, l := range b.Leases {
		if l.Stale == lifecycle.StalePresumedDead {
			presumed++
		}
	}
	waiting := b.count(lifecycle.StatePublished)
	abandoned, dead, unknown := b.count(lifecycle.StatesThat(lifecycle.State.Abandoned)...), b.count(lifecycle.StateDeadLettered), b.count(lifecycle.StateOutcomeUnknown)
	caught := caughtByStream(day)
	completed := sum(day, lifecycle.MetricCompleted, "*")
	return []views.Stat{
		{Href: "/in-flight", Icon: "processing", Tone: "run", Label: "In flight", Value: views.Count(int64(held)), Detail: counted(waiting, "task waits", "tasks wait")},
		{Href: "/in-flight", Icon: "stale", Tone: "bad", Label: "Stale", Value: views.Count(int64(stale)), Loud: stale > 0, Detail: staleDetail(stale, presumed)},
		{Href: abandonedHref, Icon: "exhausted", Tone: "bad", Label: "Dead, not in DLQ", Value: views.Count(abandoned), Loud: abandoned > 0, Detail: "attempts used up or terminated"},
		{Href: "/dlq", Icon: "dlq", Tone: "dead", Label: "Dead-lettered", Value: views.Count(dead), Detail: unknownDetail(unknown)},
		{Href: "/duplicates", Icon: "duplicates", Tone: "dup", Label: "Duplicates caught", Value: views.Count(caught), Detail: "24 h, by the stream"},
		{Href: "/tasks?state=completed", Icon: "completed", Tone: "ok", Label: "Completed", Value: views.Count(completed), Detail: "24 h, of " + views.Count(sum(day, lifecycle.MetricPublished, "*")) + " published"},
	}
}

func unknownDetail(n int64) string {
	if n == 0 {
		return "in the dead-letter queue"
	}
	return views.Count(n) + " more with unknown outcome"
}

func staleDetail(stale, presumed int) string {
	switch {
	case stale == 0:
		return "every lease is inside its wait"
	case presumed > 0:
		return views.Count(int64(presumed)) + " presumed dead"
	}
	return "past their deadline, or odd"
}
