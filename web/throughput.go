package web

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// window is a span of time with the step of its chart.
type window struct {
	key, label, name, unit string
	length, step           time.Duration
	axisEvery              int
	layout, axisLayout     string
	minutes                bool
}

var windows = []window{
	{"1h", "1 h", "last hour", "Minute", time.Hour, time.Minute, 10, "15:04", "15:04", true},
	{"24h", "24 h", "last 24 hours", "Hour", 24 * time.Hour, time.Hour, 4, "2 Jan 15:04", "15:04", false},
	{"7d", "7 d", "last 7 days", "Six hours", 7 * 24 * time.Hour, 6 * time.Hour, 4, "2 Jan 15:04", "2 Jan", false},
	{"30d", "30 d", "last 30 days", "Day", 30 * 24 * time.Hour, 24 * time.Hour, 5, "2 Jan", "2 Jan", false},
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

func (wd window) metrics() (completed, failed lifecycle.Metric) {
	if wd.minutes {
		return lifecycle.MetricCompletedMin, lifecycle.MetricFailedMin
	}
	return lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts
}

// throughput is the chart of completed tasks and failed attempts, of one agent or of all when agent is empty.
func (w *Web) throughput(ctx context.Context, wd window, now lifecycle.Micros, r reader, agent string) (views.Chart, error) {
	completed, failed := wd.metrics()
	from := now.Add(-wd.length).Truncate(wd.step).Add(wd.step)
	cells, err := w.cfg.Store.Rollups(ctx, []lifecycle.Metric{completed, failed}, from, now.Add(time.Microsecond), agent != "")
	if err != nil {
		return views.Chart{}, err
	}
	n := int(wd.length / wd.step)
	done, bad := make([]int64, n), make([]int64, n)
	for c, v := range cells {
		i := int(c.Bucket.Sub(from) / wd.step)
		if i < 0 || i >= n || (agent != "" && c.Agent != agent) {
			continue
		}
		if c.Metric == completed {
			done[i] += v
		} else {
			bad[i] += v
		}
	}
	chart := views.Chart{ID: "throughput", Title: fmt.Sprintf("Completed tasks per %s and share of failed attempts, %s", unitWord(wd), wd.name), Unit: wd.unit,
		Series: []views.Series{{Name: "completed tasks per " + unitWord(wd), Tone: "ok"}, {Name: "failed attempts", Tone: "bad", Bare: true}}, Below: "failed of all ends, %"}
	var total, failures int64
	for i := range n {
		at := from.Add(time.Duration(i) * wd.step).Time().In(r.zone)
		b := views.Bucket{Label: at.Format(wd.layout), Values: []int64{done[i], bad[i]}}
		if i%wd.axisEvery == wd.axisEvery/2 {
			b.Axis = at.Format(wd.axisLayout)
		}
		if done[i]+bad[i] > 0 {
			b.Share = float64(bad[i]) / float64(done[i]+bad[i])
		}
		total, failures = total+done[i], failures+bad[i]
		chart.Buckets = append(chart.Buckets, b)
	}
	chart.Desc = fmt.Sprintf("%s completed and %s failed in the %s.", counted(total, "task", "tasks"), counted(failures, "attempt", "attempts"), wd.name)
	return chart, nil
}

func unitWord(wd window) string {
	switch wd.key {
	case "1h":
		return "minute"
	case "24h":
		return "hour"
	case "7d":
		return "6 hours"
	}
	return "day"
}
