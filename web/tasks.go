package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// tasks is the task list.
func (w *Web) tasks(c *gin.Context) error {
	return w.list(c, listPage{path: "/tasks", heading: "Tasks", section: "tasks", states: lifecycle.States()})
}

// listPage is what tells one list of tasks from another.
type listPage struct {
	path, heading, section string
	states                 []lifecycle.State
}

func (w *Web) list(c *gin.Context, lp listPage) error {
	ctx := c.Request.Context()
	r := preferencesOf(c)
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	q, err := readList(lp.path, c.Request.URL.Query(), r.zone, w.cfg.Now())
	p := w.listProps(c, lp, q, snap, r)
	f := frame{title: lp.heading, section: lp.section, snapshot: snap}
	if wrong := problemWords(err); wrong != "" {
		p.Search.Problem = wrong
		p.Empty = unreadable(lp.path)
		p.States = uncounted(q.stateTabs(query.StateCounts{}, lp.states))
		f.status = http.StatusBadRequest
		return w.render(c, f, views.Tasks(p))
	}
	if err := w.fillList(ctx, &p, lp, q, snap, r); err != nil {
		return err
	}
	f.title, f.banners = listTitle(lp, q), w.upgrading(q.filter)
	return w.render(c, f, views.Tasks(p))
}

func listTitle(lp listPage, q listQuery) string {
	if text := q.filter.Query(); text != "" && q.narrowed() {
		return lp.heading + ": " + views.Cut(text, 60)
	}
	return lp.heading
}

func (w *Web) listProps(c *gin.Context, lp listPage, q listQuery, snap *query.FleetSnapshot, r preferences) views.TasksPage {
	p := views.TasksPage{
		Heading: lp.heading, Action: lp.path, First: q.first(), FirstHref: q.with("cursor"),
		FacetKeep: q.params("agent", "type", "has", "anomaly", "from", "to"), Ranges: q.ranges(),
		Facets:      q.facets(snap.Facets),
		ByLast:      q.sortLink(lifecycle.SortLastEvent, lifecycle.SortLastEventDesc),
		ByPublished: q.sortLink(lifecycle.SortPublished, lifecycle.SortPublishedDesc),
		ByCost:      q.sortLink(lifecycle.SortCost, lifecycle.SortCostDesc),
	}
	p.Active, p.Agents = q.chips(snap.Facets)
	p.Search = views.SearchBox{
		Action: lp.path, What: lp.heading, Query: strings.Join(q.values["q"], " "), Example: "Task id, text, or agent:marketing", Keep: q.params("q", "from"),
		Grammar: lifecycle.TaskGrammar(), Suggestions: suggestions(snap),
	}
	if q.values.Get("from") != "" {
		p.From = field(q.filter.From, r.zone)
	}
	p.To = field(q.filter.To, r.zone)
	p.Links = links(c, q.frozen(), "/api/v1/tasks", q.filter.Values())
	return p
}

// field is an instant as a datetime-local field holds it.
func field(at lifecycle.Micros, zone *time.Location) string {
	if !at.Known() {
		return ""
	}
	return at.Time().In(zone).Format("2006-01-02T15:04")
}

func (w *Web) fillList(ctx context.Context, p *views.TasksPage, lp listPage, q listQuery, snap *query.FleetSnapshot, r preferences) error {
	counts, err := w.cfg.Query.Counts(ctx, q.filter)
	if err != nil {
		return err
	}
	list, err := w.cfg.Query.Tasks(ctx, q.filter, q.from.Page(rowsPerPage))
	if err != nil {
		return err
	}
	p.Rows = rows(list.Rows, snap)
	p.Pager = q.pager(list, r.zone)
	p.First = q.first() || list.Prev == nil
	shown := q.filter.States
	if len(shown) == 0 {
		shown = lp.states
	}
	n, capped := counts.Of(shown...), counts.Capped
	if q.first() && list.Next == nil { // The page has the whole list: a count of another moment would contradict its rows.
		counts.ByState = recounted(counts.ByState, shown, list.Rows)
		n, capped = int64(len(list.Rows)), false
	}
	p.States = q.stateTabs(counts, lp.states)
	p.Retry = w.retryBar(ctx, q, n, capped)
	p.Summary = fmt.Sprintf("%s %s, %s", atLeast(n, capped), views.Plural(n, "task", "tasks"), q.orderWords())
	if len(p.Rows) == 0 {
		p.Empty, err = w.emptyList(ctx, q, lp, snap, counts, list)
	}
	return err
}

// recounted are counts by state in which some states have as many tasks as the rows of a list.
func recounted(counts map[lifecycle.State]int64, states []lifecycle.State, rows []query.TaskRow) map[lifecycle.State]int64 {
	out := map[lifecycle.State]int64{}
	maps.Copy(out, counts)
	maps.DeleteFunc(out, func(s lifecycle.State, _ int64) bool { return slices.Contains(states, s) })
	for _, t := range rows {
		out[t.State]++
	}
	return out
}

// retryBar is what can be done about what died of the tasks of a list; n of them match. Nil where nothing acts on dead letters.
func (w *Web) retryBar(ctx context.Context, q listQuery, n int64, capped bool) *views.RetryBar {
	if w.cfg.Operations == nil {
		return nil
	}
	b := views.RetryBar{Off: w.mayNot(ctx, access.TriagePropose), Most: maxTasksSelected, Filter: q.filter.Values().Encode()}
	if !capped && n <= maxTasksSelected {
		b.All = views.Count(n)
	}
	return &b
}

// uncounted are tabs of a list of which nothing was counted.
func uncounted(tabs []views.Tab) []views.Tab {
	for i := range tabs {
		tabs[i].Count = ""
	}
	return tabs
}

// unreadable is a list whose query has a mistake; what is wrong stands at the box.
func unreadable(path string) views.EmptyState {
	return views.EmptyState{Kind: "nomatch", Say: "The query cannot be read.", Why: "Nothing was searched. The search box says what is wrong.", Links: []views.Chip{{Href: path, Label: "Clear filters"}}}
}

func rows(tasks []query.TaskRow, snap *query.FleetSnapshot) []views.TaskRow {
	out := make([]views.TaskRow, 0, len(tasks))
	for _, t := range tasks {
		row := views.TaskRow{TaskSummary: t.TaskSummary, Href: lifecycle.PageOfTask(t.TaskID), Ran: t.Running, MaxDeliver: t.MaxDeliver}
		if !t.Message.IsZero() {
			row.MessageHref = messageAddress(t.TaskID, t.Message)
		}
		if l := snap.InFlight.OfTask(t.TaskID); l != nil {
			row.Stale = l.Stale
			if l.State.InFlight() {
				row.Ran += l.Held(snap.AsOf)
			}
		}
		out = append(out, row)
	}
	return out
}
