package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// runPlot is how long tasks of one type ran.
func (q statisticsQuery) runPlot(id string, h query.History, r query.RunsOfType) views.TypePlot {
	listed := url.Values{"state": {string(lifecycle.StateCompleted)}}
	if !r.Others() {
		listed.Set("type", r.Type)
	}
	p := q.plot(id, h.Runs.Span, "/tasks", listed)
	p.Ticks = views.TimeTicks(h.Runs.Span.From.Time(), h.Runs.Span.To.Time(), q.zone, 4)
	p.Title, p.Small, p.Note = "Run time of "+views.Cut(typeName(r), 60), true, "≈ read from a scale: at most 19 % above the true value."
	p.Series = []views.PlotSeries{{Name: "median", Tone: "run", Line: true}, {Name: "95th percentile", Tone: "warn", Line: true, Dashed: true}}
	var most time.Duration
	for i, s := range r.Steps {
		p.Steps[i].Values = []views.PlotValue{durationValue(s.Typical.P50, s.Typical.Sample), durationValue(s.Typical.P95, s.Typical.Sample)}
		p.Steps[i].Blind = blindRun(h, i)
		most = max(most, s.Typical.P95)
	}
	p.Marks, p.Top = views.DurationMarks(most)
	p.Desc = fmt.Sprintf("%s, median ≈ %s, 95th percentile ≈ %s.", counted(r.Whole.Sample, "task", "tasks"), lifecycle.Lasting(r.Whole.P50), lifecycle.Lasting(r.Whole.P95))
	listed.Set("from", instant(h.Runs.Span.From))
	listed.Set("to", instant(h.Runs.Span.To))
	listed.Set("agent", q.agent)
	out := views.TypePlot{Plot: p, Type: typeName(r), Whole: p.Desc}
	if r.Type != "" && !r.Others() { // No list has only the tasks without a type, or only those of types that are not counted apart.
		out.Href = address("/tasks", listed)
	}
	return out
}

const (
	noType     = "no type"     // Stands where a type is, of tasks that have none.
	otherTypes = "other types" // Of the types that are not counted apart.
)

func typeName(r query.RunsOfType) string {
	if r.Others() {
		return otherTypes
	}
	return cmp.Or(r.Type, noType)
}

func durationValue(d time.Duration, sample int64) views.PlotValue {
	return views.PlotValue{Y: d.Seconds(), Text: "≈ " + lifecycle.Lasting(d), Known: sample > 0}
}

// addHeat adds the heat map, of all types or of one.
func (q statisticsQuery) addHeat(p *views.StatisticsPage, h query.History) {
	runs, listed := h.Runs.All, url.Values{"state": {string(lifecycle.StateCompleted)}}
	p.HeatOf = []views.Tab{{Href: q.with("type", "") + "#heat", Label: "all types", Current: true}}
	for _, r := range h.Runs.Types[:min(len(h.Runs.Types), maxHeatTypes)] {
		if r.Type == "" || r.Others() {
			continue
		}
		p.HeatOf = append(p.HeatOf, views.Tab{Href: q.with("type", r.Type) + "#heat", Label: views.Cut(r.Type, 40), Current: r.Type == q.typ})
	}
	if one := h.Runs.OfType(q.typ); q.typ != "" && one != nil {
		runs, p.HeatOf[0].Current = *one, false
		listed.Set("type", q.typ)
	}
	p.Heat = q.heatPlot(h, runs, listed)
}

// heatPlot is a row for each doubling of the run time.
func (q statisticsQuery) heatPlot(h query.History, runs query.RunsOfType, listed url.Values) views.Plot {
	p := q.plot("heat", h.Runs.Span, "/tasks", listed)
	p.Title, p.Heat, p.Note = "Tasks by how long they ran", true, "Tasks by when they completed. Rows are doublings of the run time."
	cells, used := make([]map[int]int64, len(runs.Steps)), map[int]bool{}
	for i, s := range runs.Steps {
		cells[i] = map[int]int64{}
		p.Steps[i].Blind = blindRun(h, i)
		for bucket, n := range s.Buckets {
			row := doubling(lifecycle.BucketDuration(bucket))
			cells[i][row] += n
			used[row] = true
			p.Top = max(p.Top, float64(cells[i][row]))
		}
	}
	rows := slices.Sorted(maps.Keys(used))
	if len(rows) == 0 {
		return p
	}
	low, high := rows[0], rows[len(rows)-1]
	for row := low; row <= high; row++ {
		p.Series = append(p.Series, views.PlotSeries{Name: "up to " + lifecycle.Lasting(doubled(row)), Tone: "run"})
		if (row-low)%2 == 0 {
			p.Marks = append(p.Marks, views.PlotMark{Y: float64(row - low), Label: lifecycle.Lasting(doubled(row))})
		}
		for i := range p.Steps {
			p.Steps[i].Values = append(p.Steps[i].Values, countValue(cells[i][row]))
		}
	}
	p.Desc = counted(runs.Whole.Sample, "task", "tasks") + " by when they completed and how long they ran."
	return p
}

// doubling is the row of a run time: it ran for at most [doubled] of the row.
func doubling(d time.Duration) int {
	row := 0
	for doubled(row) < d-time.Millisecond/2 {
		row++
	}
	return row
}

func doubled(row int) time.Duration { return time.Millisecond << row }

func typicalWord(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return views.Approximately(d)
}
