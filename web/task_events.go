package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// timelineTab fills the lanes, the list of events beside them, and the selected event.
func (w *Web) timelineTab(ctx context.Context, p *views.TaskPage, v *taskView) error {
	events, err := w.cfg.Query.Events(ctx, v.id, lifecycle.EventPosition{}, timelineEvents)
	if err != nil {
		return err
	}
	v.counted(len(events))
	story := views.Arrange(events, v.trace.Trace)
	events = views.Events(story)
	squeeze := v.query.Get("scale") == "work"
	href := func(id lifecycle.EventID) string { return v.eventAddress(id, squeeze) }
	p.Timeline = views.LayoutTimeline(v.trace.Trace, story, v.prefers.zone, squeeze, href)
	p.Timeline.Other = v.scaleAddress(!squeeze)
	if v.attempts() > 1 {
		p.CompareHref = v.address(url.Values{"tab": {"compare"}})
	}
	selected := v.selected(events)
	all := views.EventRows(story, v.trace.Trace, selected, true, href)
	p.Events = views.EventsView{Rows: around(all, eventRows), Note: eventsNote(len(events), len(all), min(len(all), eventRows))}
	if len(all) > eventRows || len(events) == timelineEvents {
		p.Events.Older = v.address(url.Values{"tab": {"events"}})
	}
	p.Events.Panel, err = w.panel(ctx, v, events, selected, href)
	if p.Events.Panel != nil {
		p.Events.Panel.Caught = slices.ContainsFunc(all, func(r views.EventRow) bool { return r.On && r.Caught })
	}
	return err
}

func eventsNote(events, lines, shown int) string {
	note := "by message and attempt"
	if events >= timelineEvents {
		note += fmt.Sprintf(", the first %s events", views.Count(timelineEvents))
	}
	if lines < events {
		note += ", heartbeats folded"
	}
	if shown < lines {
		note += fmt.Sprintf(", %s of %s lines", views.Count(int64(shown)), views.Count(int64(lines)))
	}
	return note
}

// around keeps n lines: those near the selected one, else the last ones.
func around(rows []views.EventRow, n int) []views.EventRow {
	if len(rows) <= n {
		return rows
	}
	at := slices.IndexFunc(rows, func(r views.EventRow) bool { return r.On })
	if at < 0 {
		at = len(rows)
	}
	first := min(max(0, at-n/2), len(rows)-n)
	return rows[first : first+n]
}

func (v taskView) eventAddress(id lifecycle.EventID, squeeze bool) string {
	q := url.Values{"ev": {id.String()}}
	if squeeze {
		q.Set("scale", "work")
	}
	for _, name := range []string{"after", "known"} {
		if s := v.query.Get(name); s != "" && v.tab == "events" {
			q.Set(name, s)
		}
	}
	return v.address(q) + "#ev-" + id.String()
}

func (v taskView) scaleAddress(squeeze bool) string {
	q := url.Values{}
	if squeeze {
		q.Set("scale", "work")
	}
	if ev := v.query.Get("ev"); ev != "" {
		q.Set("ev", ev)
	}
	return v.address(q)
}

// selected is the event that the address names, else the last one that is more than a sign of life.
func (v taskView) selected(events []lifecycle.Event) lifecycle.EventID {
	if id, err := lifecycle.ParseEventID(v.query.Get("ev")); err == nil && v.query.Get("ev") != "" {
		return id
	}
	for _, e := range slices.Backward(events) {
		if !e.Kind.IsBeat() {
			return e.ID
		}
	}
	return 0
}

// panel is the selected event in full, with its neighbours in the list.
func (w *Web) panel(ctx context.Context, v *taskView, events []lifecycle.Event, id lifecycle.EventID, href func(lifecycle.EventID) string) (*views.EventPanel, error) {
	if id == 0 {
		return nil, nil
	}
	e, err := w.cfg.Query.Event(ctx, v.id, id)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil, nil // The link is older than what is kept.
	}
	if err != nil {
		return nil, err
	}
	p := &views.EventPanel{Event: e, Link: href(id), JSON: "/api/v1/tasks/" + url.PathEscape(v.id) + "/events"}
	p.Raw, p.RawCut = views.RawText(e.Raw)
	if at := slices.IndexFunc(events, func(x lifecycle.Event) bool { return x.ID == id }); at >= 0 {
		if at > 0 {
			p.Prev = href(events[at-1].ID)
		}
		if at+1 < len(events) {
			p.Next = href(events[at+1].ID)
		}
	}
	p.MaxDeliver = v.snapshot.Consumers.MaxDeliver(e.Message.Stream, e.Consumer)
	return p, nil
}

// eventsTab is every event, heartbeats included, a page at a time in order of time.
func (w *Web) eventsTab(ctx context.Context, v *taskView) (views.EventsView, error) {
	known := lifecycle.Provenance(v.query.Get("known"))
	after, err := v.position(known)
	if err != nil {
		return views.EventsView{}, err
	}
	events, next, err := w.eventPage(ctx, v.id, after, known)
	if err != nil {
		return views.EventsView{}, err
	}
	href := func(id lifecycle.EventID) string { return v.eventAddress(id, false) }
	selected, _ := lifecycle.ParseEventID(v.query.Get("ev"))
	if selected == 0 {
		selected = v.selected(events)
	}
	out := views.EventsView{Note: "in order of time, with every heartbeat", Rows: views.TimeRows(events, v.trace.Trace, selected, href), Filters: v.provenanceChips(known)}
	if next != (lifecycle.EventPosition{}) {
		out.Older = v.address(withKnown(url.Values{"after": {v.placeOf(next, known)}}, known))
	}
	if v.query.Get("after") != "" {
		out.Newer = v.address(withKnown(url.Values{}, known))
	}
	out.Panel, err = w.panel(ctx, v, events, selected, href)
	return out, err
}

func withKnown(q url.Values, known lifecycle.Provenance) url.Values {
	if known != "" {
		q.Set("known", string(known))
	}
	return q
}

// eventPage reads events after a position until a page is full. next is where the following page begins; zero at the end.
func (w *Web) eventPage(ctx context.Context, id string, after lifecycle.EventPosition, known lifecycle.Provenance) ([]lifecycle.Event, lifecycle.EventPosition, error) {
	var out []lifecycle.Event
	for range 20 { // A filter that matches little still ends after so many reads; the next page goes on.
		events, err := w.cfg.Query.Events(ctx, id, after, eventPageRows)
		if err != nil {
			return nil, after, err
		}
		for i, e := range events {
			after = lifecycle.EventPosition{At: e.At, ID: e.ID}
			if known == "" || e.Provenance == known {
				out = append(out, e)
			}
			if len(out) == eventPageRows && (i+1 < len(events) || len(events) == eventPageRows) {
				return out, after, nil
			}
		}
		if len(events) < eventPageRows {
			return out, lifecycle.EventPosition{}, nil
		}
	}
	return out, after, nil
}

// placeOf writes where the following page of the events begins.
func (v taskView) placeOf(p lifecycle.EventPosition, known lifecycle.Provenance) string {
	return query.Cursor{At: p.At, Key: p.ID.String()}.Encode(v.eventsBinding(known))
}

// position reads where the page of the events begins; the zero position is the beginning.
func (v taskView) position(known lifecycle.Provenance) (lifecycle.EventPosition, error) {
	text := v.query.Get("after")
	if text == "" {
		return lifecycle.EventPosition{}, nil
	}
	c, err := query.DecodeCursor(text, v.eventsBinding(known))
	if err == nil {
		var id lifecycle.EventID
		if id, err = lifecycle.ParseEventID(c.Key); err == nil {
			return lifecycle.EventPosition{At: c.At, ID: id}, nil
		}
	}
	return lifecycle.EventPosition{}, &lifecycle.FilterError{Parameter: "after", Detail: "is not of this list; begin again at the first page"}
}

// eventsBinding names the list of events for its cursors.
func (v taskView) eventsBinding(known lifecycle.Provenance) string {
	return query.Binding(lifecycle.PageOfTask(v.id), withKnown(url.Values{"tab": {"events"}}, known))
}

func (v taskView) provenanceChips(known lifecycle.Provenance) []views.Chip {
	out := []views.Chip{{Href: v.address(nil), Label: "all", On: known == ""}}
	for _, p := range []lifecycle.Provenance{lifecycle.Observed, lifecycle.Broker, lifecycle.Recorded, lifecycle.Reported, lifecycle.Inferred} {
		out = append(out, views.Chip{Href: v.address(url.Values{"known": {string(p)}}), Label: string(p), On: known == p})
	}
	return out
}
