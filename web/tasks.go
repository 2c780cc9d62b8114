package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
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
	reader := readerOf(c)
	b, err := w.board.get(ctx)
	if err != nil {
		return err
	}
	q, err := readList(lp.path, c.Request.URL.Query(), reader.zone, w.cfg.Now())
	p := w.listProps(c, lp, q, b, reader)
	f := frame{title: lp.heading, section: lp.section, board: b}
	var wrong *lifecycle.FilterError
	if errors.As(err, &wrong) {
		p.Problem = wrong.Error() + "."
		p.Blank = views.Blank{Kind: "nomatch", Say: "The query cannot be read.", Why: wrong.Error() + ".", Links: []views.Chip{{Href: lp.path, Label: "Clear filters"}}}
		p.States = q.stateTabs(nil, false, lp.states)
		f.status = http.StatusBadRequest
		return w.render(c, f, views.Tasks(p))
	}
	if err := w.fillList(ctx, &p, lp, q, b, reader); err != nil {
		return err
	}
	f.title = listTitle(lp, q)
	return w.render(c, f, views.Tasks(p))
}

func listTitle(lp listPage, q listQuery) string {
	if text := q.filter.Query(); text != "" && q.narrowed() {
		return lp.heading + ": " + views.Cut(text, 60)
	}
	return lp.heading
}

func (w *Web) listProps(c *gin.Context, lp listPage, q listQuery, b *board, r reader) views.TasksPage {
	p := views.TasksPage{
		Heading: lp.heading, Action: lp.path, Query: strings.Join(q.values["q"], " "), First: q.first, FirstHref: q.with("cursor"),
		Keep: q.params("q", "from"), FacetKeep: q.params("agent", "type", "has", "anomaly", "from", "to"), Ranges: q.ranges(),
		Chips: q.chips(b.Facets), Facets: q.facets(b.Facets), Suggestions: suggestions(b),
		ByLast:      q.sortLink(lifecycle.SortLastEvent, lifecycle.SortLastEventDesc),
		ByPublished: q.sortLink(lifecycle.SortPublished, lifecycle.SortPublishedDesc),
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

func (w *Web) fillList(ctx context.Context, p *views.TasksPage, lp listPage, q listQuery, b *board, r reader) error {
	counts, capped, err := w.cfg.Store.CountTasks(ctx, q.filter)
	if err != nil {
		return err
	}
	page, err := w.cfg.Store.ListTasks(ctx, q.filter, q.page)
	if err != nil {
		return err
	}
	p.States = q.stateTabs(counts, capped, lp.states)
	p.Rows = rows(page.Tasks, b)
	p.Pager = views.Pager{Newer: q.at(page.Prev, true), Older: q.at(page.Next, false), Note: pageNote(page.Tasks, r.zone)}
	p.First = q.first || page.Prev == nil
	shown := q.filter.States
	if len(shown) == 0 {
		shown = lp.states
	}
	var n int64
	for _, s := range shown {
		n += counts[s]
	}
	p.Summary = fmt.Sprintf("%s %s, %s", atLeast(n, capped), views.Plural(n, "task", "tasks"), q.orderWords())
	if len(p.Rows) == 0 {
		p.Blank = w.blank(q, b, counts)
	}
	return nil
}

func rows(tasks []lifecycle.TaskSummary, b *board) []views.TaskRow {
	out := make([]views.TaskRow, 0, len(tasks))
	for _, t := range tasks {
		row := views.TaskRow{TaskSummary: t, Href: taskAddress(t.TaskID), Ran: t.Running}
		if c := b.consumer(t.Message.Stream, t.Consumer); c != nil {
			row.MaxDeliver = max(0, c.MaxDeliver)
		}
		if l := b.lease(t.TaskID); l != nil {
			row.Stale = l.Stale
			if l.State.InFlight() {
				row.Ran += l.Held(b.Now)
			}
		}
		out = append(out, row)
	}
	return out
}
