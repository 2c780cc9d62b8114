package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/internal/health"
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

// blank says why a list is empty: four different things.
func (w *Web) blank(q listQuery, b *board, counts map[lifecycle.State]int64) views.Blank {
	down := downParts(w.health())
	switch {
	case b.total() == 0 && down != "":
		return views.Blank{Kind: "down", Say: "Nothing can be seen: " + down + ".", Why: "What crosses the broker now is read once it is back, as far as the capture streams keep it.",
			Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	case b.total() == 0:
		return w.blankNew()
	case onlyTrouble(q) && down == "":
		return views.Blank{Kind: "healthy", Say: "All healthy: no task is " + stateWords(q.filter.States) + ".",
			Why:   fmt.Sprintf("%s tasks checked just now. This is not silence: %s", views.Count(b.total()), captureWords(w.health())),
			Links: []views.Chip{{Href: "/tasks", Label: "All tasks"}}}
	}
	blank := views.Blank{Kind: "nomatch", Say: "No task matches " + views.Cut(q.filter.Query(), 120) + ".", Links: []views.Chip{{Href: q.path, Label: "Clear filters"}}}
	var other int64
	for _, n := range counts {
		other += n
	}
	if other > 0 && len(q.filter.States) > 0 {
		blank.Why = fmt.Sprintf("%s in other states.", views.Count(other)+" "+views.Plural(other, "matches", "match"))
		blank.Links = append([]views.Chip{{Href: q.with("state"), Label: "All states"}}, blank.Links...)
	}
	if q.values.Get("from") != "" || q.values.Get("to") != "" {
		v := url.Values{}
		for name, values := range q.values {
			if name != "from" && name != "to" {
				v[name] = values
			}
		}
		blank.Links = append([]views.Chip{{Href: address(q.path, v), Label: "Any time"}}, blank.Links...)
	}
	if !q.first {
		blank.Say, blank.Links = "There are no rows beyond this point.", []views.Chip{{Href: q.with("cursor"), Label: "First page"}}
	}
	return blank
}

func (w *Web) blankNew() views.Blank {
	server := ""
	if w.cfg.Server != "" {
		server = "--server " + w.cfg.Server + " "
	}
	return views.Blank{
		Kind: "new", Say: "Listening. Nothing has crossed the task stream yet.",
		Why:     "Point an agent, or the demo fleet, at this broker. The first message appears here within a second.",
		Command: "fleetglass --demo\nnats " + server + "pub " + w.cfg.Prefix + ".agents.cto.tasks.code_review '{\"taskId\":\"hello-1\",\"type\":\"code_review\"}'",
	}
}

// onlyTrouble reports whether the list asks for bad states and nothing else: finding none is good news then.
func onlyTrouble(q listQuery) bool {
	if len(q.filter.States) == 0 || !q.first {
		return false
	}
	for name := range q.values {
		if name != "state" && name != "sort" {
			return false
		}
	}
	for _, s := range q.filter.States {
		if !s.Dead() && s != lifecycle.StateFailed && s != lifecycle.StateOutcomeUnknown {
			return false
		}
	}
	return true
}

func stateWords(states []lifecycle.State) string {
	var words []string
	for _, s := range states {
		_, _, word := views.StateLook(s)
		words = append(words, word)
	}
	return strings.Join(words, " or ")
}

func downParts(parts []health.Part) string {
	for _, p := range parts {
		if p.State == health.Down {
			return p.Name + " is down"
		}
	}
	return ""
}

func captureWords(parts []health.Part) string {
	if len(parts) == 0 {
		return "but no collector reports to these pages."
	}
	for _, p := range parts {
		if p.State == health.Behind || p.State == health.Starting {
			return "but collector " + p.Name + " has not caught up yet."
		}
	}
	return "every collector is up to date."
}

// suggestions are what can stand in the search box.
func suggestions(b *board) []views.Option {
	var out []views.Option
	for _, s := range lifecycle.States() {
		out = append(out, views.Option{Value: "state:" + string(s), Label: s.Meaning()})
	}
	for _, a := range topKeys(b.Facets.Agents, 100) {
		out = append(out, views.Option{Value: queryTerm("agent", a), Label: views.Count(b.Facets.Agents[a]) + " tasks"})
	}
	for _, t := range topKeys(b.Facets.Types, 60) {
		out = append(out, views.Option{Value: queryTerm("type", t), Label: views.Count(b.Facets.Types[t]) + " in the last week"})
	}
	out = append(out, views.Option{Value: "has:duplicate", Label: "Publishes caught by the stream"})
	for _, a := range facetAnomalies {
		out = append(out, views.Option{Value: "anomaly:" + string(a), Label: a.Meaning()})
	}
	for _, r := range ranges[1:] {
		out = append(out, views.Option{Value: "from:" + r.value, Label: r.label})
	}
	return out
}

// queryTerm writes a field and value in the grammar of the search box.
func queryTerm(name, value string) string {
	var f lifecycle.Filter
	if name == "agent" {
		f.Agents = []string{value}
	} else {
		f.Types = []string{value}
	}
	return f.Query()
}
