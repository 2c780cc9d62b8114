package web

import (
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

const (
	statisticsPath = "/statistics"
	maxRunPlots    = 6  // How many task types have a chart of their own.
	maxHeatTypes   = 12 // How many can be chosen for the heat map.
)

// statisticsQuery is what the address of the page asks for.
type statisticsQuery struct {
	key, from, to string // A span by its key, or one's own as it was asked for.
	agent, typ    string
	span          query.HistorySpan
	zone          *time.Location
	now           lifecycle.Micros
}

// readStatistics reads the address. Where it names no span it is the last day, or the last hour while all messages are younger: in steps of an hour they
// would be one step. The error joins *lifecycle.FilterErrors; the query is usable for the forms even then.
func (w *Web) readStatistics(c *gin.Context, firstSeen lifecycle.Micros) (q statisticsQuery, err error) {
	q = statisticsQuery{key: c.Query("range"), from: c.Query("from"), to: c.Query("to"), agent: c.Query("agent"), typ: c.Query("type"), zone: preferencesOf(c).zone, now: w.now()}
	from, to := zoned([]string{q.from}, q.zone)[0], zoned([]string{q.to}, q.zone)[0]
	switch {
	case from != "" || to != "":
		q.key = ""
	case q.key == "" && q.now.Sub(firstSeen) < time.Hour:
		q.key = "1h"
	case q.key == "":
		q.key = "24h"
	}
	q.span, err = query.ParseHistory(q.key, from, to, q.now)
	return q, err
}

// values are the parameters of the page.
func (q statisticsQuery) values() url.Values {
	return url.Values{"range": {q.key}, "from": {q.from}, "to": {q.to}, "agent": {q.agent}, "type": {q.typ}}
}

// with is the address of the page with one parameter changed.
func (q statisticsQuery) with(name, value string) string {
	v := q.values()
	v.Set(name, value)
	if name == "range" {
		v.Del("from")
		v.Del("to")
	}
	return address(statisticsPath, v)
}

// statistics is the fleet over time.
func (w *Web) statistics(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	seen, err := w.cfg.Query.FirstSeen(ctx)
	if err != nil {
		return err
	}
	q, wrong := w.readStatistics(c, seen)
	p := w.statisticsForm(c, q, snap)
	f := frame{title: "Statistics", section: "statistics", search: true, snapshot: snap, ownGaps: true, every: 5 * time.Second, banners: w.counting()}
	if wrong != nil {
		p.Wrong, f.status = problemWords(wrong), 400
		return w.render(c, f, views.Statistics(p))
	}
	h, err := w.cfg.Query.History(ctx, q.span, q.agent)
	if err != nil {
		return err
	}
	if snap.Counts.Total() == 0 {
		p.Empty = w.emptyFleet(snap)
	} else {
		q.fill(&p, h)
	}
	return w.render(c, f, views.Statistics(p))
}

// statisticsForm is what chooses the span and the agent.
func (w *Web) statisticsForm(c *gin.Context, q statisticsQuery, snap *query.FleetSnapshot) views.StatisticsPage {
	frozen := url.Values{"from": {instant(q.span.From)}, "to": {instant(q.span.To)}, "agent": {q.agent}, "type": {q.typ}}
	asked := url.Values{"range": {q.key}, "agent": {q.agent}}
	if q.key == "" {
		asked = url.Values{"from": {instant(q.span.From)}, "to": {instant(q.span.To)}, "agent": {q.agent}}
	}
	p := views.StatisticsPage{Links: links(c, address(statisticsPath, frozen), "/api/v1/stats/history", asked), Agent: q.agent, Range: q.key}
	for _, r := range query.HistoryRanges() {
		p.Ranges = append(p.Ranges, views.Tab{Href: q.with("range", r.Key), Label: r.Name, Current: r.Key == q.key})
	}
	if q.key == "" {
		p.From, p.To = inField(q.span.From, q.zone), inField(q.span.To, q.zone)
	}
	p.Agents = []views.Option{{Label: "all", Selected: q.agent == ""}}
	for _, name := range snap.AgentNames {
		p.Agents = append(p.Agents, views.Option{Value: name, Label: views.Cut(name, 40), Selected: name == q.agent})
	}
	return p
}

// inField writes a time for a date field of a form.
func inField(at lifecycle.Micros, zone *time.Location) string {
	if !at.Known() {
		return ""
	}
	return at.Time().In(zone).Format("2006-01-02T15:04")
}

// instant writes a time for an address; empty where it is not known.
func instant(at lifecycle.Micros) string {
	if !at.Known() {
		return ""
	}
	return at.Time().Format(time.RFC3339)
}
