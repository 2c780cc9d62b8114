package web

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"fleetglass/query"
	"fleetglass/views"
)

// window is a span of time with the words for the steps of its chart, those of [query.LastHistory].
type window struct {
	key, label, name, unit string
	per                    string // One step, in words.
	length                 time.Duration
	axisEvery              int
	layout, axisLayout     string
}

var windows = []window{
	{"1h", "1 h", "last hour", "Minute", "minute", time.Hour, 10, "15:04", "15:04"},
	{"24h", "24 h", "last 24 hours", "Hour", "hour", 24 * time.Hour, 4, "2 Jan 15:04", "15:04"},
	{"7d", "7 d", "last 7 days", "Six hours", "6 hours", 7 * 24 * time.Hour, 4, "2 Jan 15:04", "2 Jan"},
	{"30d", "30 d", "last 30 days", "Day", "day", 30 * 24 * time.Hour, 5, "2 Jan", "2 Jan"},
}

// windowOf finds a window by its key; the last hour is the default.
func windowOf(key string) window {
	for _, w := range windows {
		if w.key == key {
			return w
		}
	}
	return windows[0]
}

func (wd window) tabs(href func(key string) string) []views.Tab {
	var out []views.Tab
	for _, w := range windows {
		out = append(out, views.Tab{Href: href(w.key), Label: w.label, Current: w.key == wd.key})
	}
	return out
}

// throughput is the chart of completed tasks and failed attempts, of one agent or of all when agent is empty.
func (w *Web) throughput(ctx context.Context, wd window, r preferences, agent string) (views.Chart, error) {
	steps, err := w.cfg.Query.Throughput(ctx, wd.length, agent)
	if err != nil {
		return views.Chart{}, err
	}
	chart := views.Chart{ID: "throughput", Title: fmt.Sprintf("Completed tasks per %s and share of failed attempts, %s", wd.per, wd.name), Unit: wd.unit,
		Series: []views.Series{{Name: "completed tasks per " + wd.per, Tone: "ok"}, {Name: "failed attempts", Tone: "bad", Bare: true}}, Below: "failed attempts, % of all"}
	of := url.Values{"agent": {agent}}
	chart.Listing = views.PlotListing{Tasks: address("/tasks", of), Word: "Tasks", Page: address(statisticsPath, of)}
	var total, failures int64
	for i, s := range steps {
		b := wd.bucket(i, s, r, s.End > w.now())
		b.From, b.To = instant(s.At), instant(s.End)
		b.Href = address("/tasks", url.Values{"from": {b.From}, "to": {b.To}, "agent": {agent}})
		chart.Buckets = append(chart.Buckets, b)
		total, failures = total+s.Completed, failures+s.FailedAttempts()
	}
	chart.Desc = fmt.Sprintf("%s completed and %s failed in the %s.", counted(total, "task", "tasks"), counted(failures, "attempt", "attempts"), wd.name)
	return chart, nil
}

// marked reports whether a step that begins at that time, in the reader's zone, has its time on the axis: round times do.
func (wd window) marked(i int, at time.Time, step time.Duration) bool {
	switch {
	case step < time.Hour:
		return at.Minute()%wd.axisEvery == 0
	case step == time.Hour:
		return at.Hour()%wd.axisEvery == 0
	case step < 24*time.Hour:
		return at.Hour() < int(step.Hours()) // The first of a day.
	}
	return i%wd.axisEvery == wd.axisEvery/2
}

func (wd window) bucket(i int, s query.FlowStep, r preferences, soFar bool) views.Bucket {
	at, failed := s.At.Time().In(r.zone), s.FailedAttempts()
	b := views.Bucket{Label: at.Format(wd.layout), Values: []int64{s.Completed, failed}, Blind: blindWord(s), SoFar: soFar}
	if wd.marked(i, at, s.End.Sub(s.At)) {
		b.Axis = at.Format(wd.axisLayout)
	}
	if s.Completed+failed > 0 {
		b.Share = float64(failed) / float64(s.Completed+failed)
	}
	return b
}
