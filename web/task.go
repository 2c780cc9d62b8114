package web

import (
	"context"
	"net/url"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// Bounds of a task page.
const (
	timelineEvents = 5000 // Events read for the lanes.
	eventRows      = 300  // Lines beside the lanes.
	eventPageRows  = 200  // Events on a page of the events tab.
	countedEvents  = 1000 // Events that the tab of the events counts at most.
	relatedRows    = 12
)

var taskTabs = []string{"timeline", "compare", "events", "payload", "idempotency", "related", "json"}

// taskView is one request for a task's page.
type taskView struct {
	id       string
	tab      string
	query    url.Values
	prefers  preferences
	snapshot *query.FleetSnapshot
	trace    query.Trace
	events   string // How many events it has, for its tab.
}

// task is the story of one task, in tabs.
func (w *Web) task(c *gin.Context) error {
	ctx := c.Request.Context()
	v := taskView{id: c.Query("id"), query: c.Request.URL.Query(), prefers: preferencesOf(c), tab: "timeline"}
	if c.FullPath() != "/task" {
		v.id = rest(c, "/tasks/")
	}
	if v.id == "" {
		return errNoID
	}
	for _, t := range taskTabs {
		if v.query.Get("tab") == t {
			v.tab = t
		}
	}
	var err error
	if v.snapshot, err = w.snapshot(ctx); err != nil {
		return err
	}
	if v.trace, err = w.cfg.Query.Trace(ctx, v.id); err != nil {
		return err
	}
	v.id = v.trace.Summary.TaskID // It may be asked for by the name that its publisher gave it.
	p := views.TaskPage{
		Trace: v.trace.Trace, View: v.tab, Address: lifecycle.PageOfTask(v.id), Back: "/tasks", Report: "/api/v1/tasks/" + url.PathEscape(v.id) + "/report",
		Links: links(c, v.address(nil), "/api/v1/tasks/"+url.PathEscape(v.id), nil),
	}
	if r := v.trace.Recovery; r != nil {
		recovery := recoveryView(*r, v.id)
		p.Recovery = &recovery
	}
	p.MessageHref = map[lifecycle.MessageKey]string{}
	for _, m := range v.trace.Messages {
		p.MessageHref[m.Facts.Key] = messageAddress(v.id, m.Facts.Key)
	}
	if err := w.fillTask(ctx, &p, &v); err != nil {
		return err
	}
	if err := w.countEvents(ctx, &v); err != nil {
		return err
	}
	p.Tabs = v.tabs()
	if p.Held, err = w.heldInTask(ctx, v.trace.Trace); err != nil {
		return err
	}
	if p.Actions, err = w.taskActions(ctx, v.id); err != nil {
		return err
	}
	f := frame{title: taskTitle(v.trace.Summary), section: "tasks", search: true, snapshot: v.snapshot, banners: v.banners(), ownGaps: true}
	if !v.trace.Summary.State.Open() {
		f.ended = v.id
	}
	return w.render(c, f, views.Task(p))
}

func taskTitle(s lifecycle.TaskSummary) string {
	if s.Title != "" {
		return views.Cut(s.TaskID, 60) + ": " + views.Cut(s.Title, 80)
	}
	return views.Cut(s.TaskID, 120)
}

// banners say what is special about this task.
func (v taskView) banners() []views.Banner {
	var out []views.Banner
	for _, c := range v.trace.Summary.Anomalies {
		if c == lifecycle.AnomalyClockSkew {
			out = append(out, views.Banner{Kind: "warn", Icon: "clock", Title: "Clocks disagree.", Text: "Some events of this task have times before their cause. They are ordered by sequence; durations next to them are not exact."})
		}
	}
	for _, g := range v.trace.Gaps {
		if !g.Repaired {
			out = append(out, views.Banner{Kind: "gap", Icon: "gap", Title: "Part of this task's time was not observed.", Text: g.Source + ": " + g.Reason + ". Heartbeats and attempts in that span may be missing.", Href: "/capture#gaps", Link: "Gaps"})
			break
		}
	}
	out = append(out, v.sharers()...)
	if v.tab != "timeline" {
		return out
	}
	if !v.trace.Summary.Listed {
		out = append(out, views.Banner{Kind: "warn", Icon: "info", Title: "Not listed.", Text: "Only publish attempts, records or reports are known so far; they may be ahead of the stored message."})
	}
	return out
}

// maxSharersNamed is how many tasks with one of its keys stand at the head of a task.
const maxSharersNamed = 3

// sharers lead to the other tasks that have an idempotency key of this one, whether they are done or not.
func (v taskView) sharers() []views.Banner {
	var out []views.Banner
	for _, s := range v.trace.Facts.AllSharers() {
		if len(out) == maxSharersNamed {
			break
		}
		out = append(out, views.Banner{Kind: "warn", Icon: "duplicates", Title: "Another task has its idempotency key.", Text: views.Cut(s.Words(), 300), Href: lifecycle.PageOfTask(s.Task), Link: views.Cut(s.Task, 60)})
	}
	return out
}

// address is the task's page with parameters.
func (v taskView) address(q url.Values) string {
	base := lifecycle.PageOfTask(v.id)
	if q == nil {
		q = url.Values{}
	}
	if v.id == "." || v.id == ".." {
		q.Set("id", v.id)
		base = "/task"
	}
	if q.Get("tab") == "" && v.tab != "timeline" {
		q.Set("tab", v.tab)
	}
	if q.Get("tab") == "timeline" {
		q.Del("tab")
	}
	return address(base, q)
}

func (v taskView) tabs() []views.Tab {
	labels := map[string]string{"timeline": "Timeline", "compare": "Compare", "events": "Events", "payload": "Payload", "idempotency": "Idempotency", "related": "Related", "json": "JSON"}
	var out []views.Tab
	for _, t := range taskTabs {
		if t == "compare" && v.tab != t && v.attempts() < 2 {
			continue
		}
		tab := views.Tab{Href: v.address(url.Values{"tab": {t}}), Label: labels[t], Current: t == v.tab}
		tab.Count = v.countOf(t)
		out = append(out, tab)
	}
	return out
}

// countOf is how many things a tab has; empty where a number would say nothing.
func (v taskView) countOf(tab string) string {
	n := 0
	switch tab {
	case "events":
		return v.events
	case "compare":
		n = v.attempts()
	case "payload", "related":
		if n = v.trace.Summary.Messages; n == 1 {
			return ""
		}
	case "idempotency":
		n = len(lifecycle.Ledger(&v.trace.Record.Facts))
	}
	if n == 0 {
		return ""
	}
	return views.Count(int64(n))
}

// countEvents counts the events, where the tab that is shown has not done so.
func (w *Web) countEvents(ctx context.Context, v *taskView) error {
	if v.events != "" {
		return nil
	}
	events, err := w.cfg.Query.Events(ctx, v.id, lifecycle.EventPosition{}, countedEvents)
	v.counted(len(events))
	return err
}

// counted notes how many events were read.
func (v *taskView) counted(n int) {
	if v.events = views.Count(int64(n)); n >= countedEvents {
		v.events = views.Count(countedEvents) + "+"
	}
}

func (w *Web) fillTask(ctx context.Context, p *views.TaskPage, v *taskView) (err error) {
	switch v.tab {
	case "events":
		p.Events, err = w.eventsTab(ctx, v)
	case "compare":
		p.Compare, err = w.compareTab(ctx, v)
	case "payload":
		p.Payload, err = w.payloadTab(ctx, v)
	case "idempotency":
		p.Idempotency = w.idempotencyTab(v)
	case "related":
		p.Related, err = w.relatedTab(ctx, v)
	case "json":
		p.JSON, err = w.jsonTab(ctx, v)
	default:
		err = w.timelineTab(ctx, p, v)
	}
	return err
}
