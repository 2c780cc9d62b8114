package views

import (
	"math"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// Plot is a chart over time: bars, lines or a heat map. Every step leads to its tasks, says its values on hover and focus, and stands in the table behind
// the chart.
type Plot struct {
	ID      string
	Title   string // What is shown, for those who do not see it.
	Desc    string // What it amounts to.
	Note    string // How the figures are known.
	Unit    string // Of the steps, such as "Hour".
	Small   bool
	Heat    bool // Each series is a row of cells, the lowest first.
	Series  []PlotSeries
	Steps   []PlotStep
	Ticks   []PlotTick  // Along time.
	Marks   []PlotMark  // Along the values, the lowest first; of a heat map names of rows.
	Top     float64     // The value at the upper edge.
	Listing PlotListing // Where a part of the chart leads that was marked.
}

// PlotSeries is one kind of value.
type PlotSeries struct {
	Name   string
	Tone   string // ok, bad, warn, run, dup, wait or dead.
	Line   bool   // A line; else bars on top of each other.
	Dashed bool
}

// PlotStep is one step of time.
type PlotStep struct {
	Label    string // Such as "22 Nov 14:00".
	Href     string // Its tasks.
	From, To string // In RFC 3339.
	Values   []PlotValue
	Blind    string // Why nothing is shown, such as "not observed"; empty where something is.
	Partial  bool   // Values are lower bounds.
	Open     bool   // The step is not over: lines end before it, as it would read as a drop.
}

// PlotValue is one value as it is drawn, and as people read it.
type PlotValue struct {
	Y     float64
	Text  string
	Known bool
}

// PlotTick is a time on the axis. X is 0 to 1.
type PlotTick struct {
	X     float64
	Label string
}

// PlotMark is a value on the axis.
type PlotMark struct {
	Y     float64
	Label string
}

// PlotListing is where a marked part of a chart leads: addresses that are narrowed to its times.
type PlotListing struct {
	Tasks string // The list of tasks, or of dead letters.
	Word  string // What is listed.
	Page  string // The same page, of that part only.
	By    string // The field of the search grammar whose times narrow the list; empty for from and to.
}

// plotTop and plotLow are the distances of the upper edge and of the axis from the top, in pixels.
const plotTop = 10.0

func (p Plot) low() float64 {
	if p.Small {
		return 96
	}
	return 168
}

func (p Plot) height() string { return px(p.low() + 24) }

// y places a value.
func (p Plot) y(v float64) float64 {
	if p.Top <= 0 {
		return p.low()
	}
	return p.low() - (p.low()-plotTop)*min(1, v/p.Top)
}

func (p Plot) x(i float64) float64 { return i / float64(max(1, len(p.Steps))) }

// spoken is a step in words.
func (p Plot) spoken(s PlotStep) string {
	if s.Blind != "" {
		return s.Label + ": " + s.Blind
	}
	var parts []string
	for i, v := range s.Values {
		switch name, value := p.Series[i].Name, tableText(v, s.Partial); {
		case !v.Known:
		case !p.Heat:
			parts = append(parts, name+" "+value)
		case v.Y > 0:
			parts = append(parts, value+" "+name) // The name ends with a number: "7 up to 16 ms".
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	return s.Label + ": " + strings.Join(parts, ", ")
}

// newest is the newest step that was observed and has a value, in words: one that is over, where there is one.
func (p Plot) newest() string {
	open := ""
	for _, s := range slices.Backward(p.Steps) {
		switch known := slices.ContainsFunc(s.Values, func(v PlotValue) bool { return v.Known }); {
		case s.Blind != "" || !known:
		case !s.Open:
			return p.spoken(s)
		default:
			open = p.spoken(s)
		}
	}
	return open
}

// CountMarks are round counts up to at least most, with the value of the highest.
func CountMarks(most float64) ([]PlotMark, float64) {
	step, n := countSteps(most)
	return marksBy(step, n, func(v float64) string { return Count(int64(v)) })
}

// countSteps are the steps of an axis of counts: whole round numbers, three to five of them, which end as little above most as they can.
func countSteps(most float64) (step float64, n int) {
	if most <= chartGuides {
		return 1, chartGuides
	}
	step, n = math.Inf(1), 1
	power := math.Pow(10, math.Floor(math.Log10(most))-1)
	for _, f := range []float64{1, 2, 5, 10, 20, 50, 2.5, 25, 4, 40, 3, 30} { // The roundest first.
		for k := chartGuides - 1; k <= chartGuides+1; k++ {
			if s := power * f; s == math.Trunc(s) && s*float64(k) >= most && s*float64(k) < step*float64(n) {
				step, n = s, k
			}
		}
	}
	return step, n
}

// DurationMarks are round durations up to at least most, in seconds.
func DurationMarks(most time.Duration) ([]PlotMark, float64) {
	step := steps[len(steps)-1]
	for _, c := range steps {
		if chartGuides*c >= most {
			step = c
			break
		}
	}
	return marksBy(step.Seconds(), chartGuides, func(v float64) string { return spanMark(time.Duration(math.Round(v * float64(time.Second)))) })
}

func marksBy(step float64, n int, label func(float64) string) (marks []PlotMark, top float64) {
	for i := range n + 1 {
		marks = append(marks, PlotMark{Y: float64(i) * step, Label: label(float64(i) * step)})
	}
	return marks, float64(n) * step
}

// spanMark names a place on an axis of durations.
func spanMark(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return lifecycle.Lasting(d)
}

// tickSteps are the distances of ticks along time. From a day on they are counted in days of the reader's zone.
var tickSteps = []time.Duration{
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 2 * 24 * time.Hour, 5 * 24 * time.Hour, 10 * 24 * time.Hour, 20 * 24 * time.Hour,
}

// TimeTicks are round times of the zone in [from, to), at most so many.
func TimeTicks(from, to time.Time, zone *time.Location, most int) []PlotTick {
	length := to.Sub(from)
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if length/s <= time.Duration(most) {
			step = s
			break
		}
	}
	layout, day := "15:04", 24*time.Hour
	if step >= day {
		layout = "2 Jan"
	}
	year, month, date := from.In(zone).Date()
	at := time.Date(year, month, date, 0, 0, 0, 0, zone)
	var out []PlotTick
	for ; at.Before(to); at = nextTick(at, step) {
		x := float64(at.Sub(from)) / float64(length)
		if x >= 0 && x <= 0.97 {
			out = append(out, PlotTick{X: x, Label: at.Format(layout)})
		}
	}
	return slices.Clip(out)
}

// nextTick keeps midnight where a day has not 24 hours.
func nextTick(at time.Time, step time.Duration) time.Time {
	if step >= 24*time.Hour {
		return at.AddDate(0, 0, int(step/(24*time.Hour)))
	}
	return at.Add(step)
}
