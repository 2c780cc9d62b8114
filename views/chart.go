package views

import (
	"fmt"
	"slices"
)

// Chart is a stack of bars over time, with the numbers as a table behind it.
type Chart struct {
	ID      string
	Title   string // What is shown, for those who do not see it.
	Desc    string // What it amounts to.
	Unit    string // Of the buckets, such as "Hour".
	Series  []Series
	Buckets []Bucket
	Below   string // Name of a percentage drawn below; empty for none.
}

// Series is one kind of bar.
type Series struct {
	Name string
	Tone string // ok, bad, warn, run, dup or wait.
	Bare bool   // Only in the table; the lower chart shows it otherwise.
	Warn bool   // A mark stands above each stack that has some: a thin layer of it is easily overlooked.
}

// Bucket is one step of time.
type Bucket struct {
	Label  string
	Axis   string // The label on the axis; empty where there is none.
	Values []int64
	Share  float64 // For the lower chart, 0 to 1.
	Blind  string  // Why nothing is shown, such as "not observed"; empty where something is.
	SoFar  bool    // The step is not over. Its bars are pale: they are low because of the time, not because of the fleet.
}

// label names the step, and says when it is not over.
func (b Bucket) label() string {
	if b.SoFar {
		return b.Label + ", so far"
	}
	return b.Label
}

// unfinished reports whether a step with something in it is not over.
func (c Chart) unfinished() bool {
	return slices.ContainsFunc(c.Buckets, func(b Bucket) bool { return b.SoFar && c.sum(b) > 0 })
}

// Sizes of a chart in pixels at its natural height. Where there is more room all of them grow ([Chart.y]).
const (
	chartTop    = 12.0
	chartBase   = 162.0
	shareTop    = 208.0
	shareBase   = 242.0
	barShare    = 0.64 // Of a bucket's width.
	chartGuides = 4
)

func (c Chart) height() float64 {
	if c.Below != "" {
		return 252
	}
	return 186
}

// y writes a height in the chart, or a distance, as percent: the box may be higher than its content needs.
func (c Chart) y(v float64) string { return pct(v / c.height()) }

// sum is how high the stack of a bucket is.
func (c Chart) sum(b Bucket) (n int64) {
	for i, v := range b.Values {
		if !c.Series[i].Bare {
			n += v
		}
	}
	return n
}

// top is a round number at or above the highest stack.
func (c Chart) top() int64 {
	var most int64
	for _, b := range c.Buckets {
		most = max(most, c.sum(b))
	}
	step, n := countSteps(float64(most))
	return int64(step) * int64(n)
}

type guide struct {
	Y     float64
	Label string
}

func (c Chart) guides() []guide {
	top := c.top()
	step, n := countSteps(float64(top))
	var out []guide
	for i := range n + 1 {
		v := int64(step) * int64(i)
		out = append(out, guide{chartBase - (chartBase-chartTop)*float64(v)/float64(top), Count(v)})
	}
	return out
}

// blinds are the runs of buckets of which nothing is known, each by its first reason: in the chart, and in the lower one where there is one.
func (c Chart) blinds() []column {
	out := c.blindsBetween(chartTop, chartBase)
	if c.Below != "" {
		out = append(out, c.blindsBetween(shareTop, shareBase)...)
	}
	return out
}

func (c Chart) blindsBetween(top, base float64) []column {
	n := float64(len(c.Buckets))
	var out []column
	for i, b := range c.Buckets {
		switch {
		case b.Blind == "":
		case i > 0 && c.Buckets[i-1].Blind == b.Blind:
			out[len(out)-1].W += 1 / n
		default:
			out = append(out, column{X: float64(i) / n, W: 1 / n, Y: top, H: base - top, Title: b.Label + " and on: " + b.Blind})
		}
	}
	return out
}

type column struct {
	X, W, Y, H float64
	Tone       string
	Title      string
	Pale       bool // See Bucket.SoFar.
}

func (c Chart) columns() []column {
	n, top := float64(len(c.Buckets)), float64(c.top())
	var out []column
	for i, b := range c.Buckets {
		y := chartBase
		for s, v := range b.Values {
			if v <= 0 || c.Series[s].Bare {
				continue
			}
			h := (chartBase - chartTop) * float64(v) / top
			y -= h
			out = append(out, column{X: (float64(i) + (1-barShare)/2) / n, W: barShare / n, Y: y, H: h, Tone: c.Series[s].Tone, Pale: b.SoFar,
				Title: fmt.Sprintf("%s: %s %s", b.label(), Count(v), c.Series[s].Name)})
		}
	}
	return out
}

// labelled is how many stacks have room for their sum above them.
const labelled = 14

// totals are the sums of stacks, each above its own. One series alone needs none: the axis says it.
func (c Chart) totals() []column {
	if len(c.Buckets) > labelled || c.Below != "" {
		return nil
	}
	var out []column
	for i, b := range c.Buckets {
		if sum := c.sum(b); sum > 0 {
			x := (float64(i) + 0.5) / float64(len(c.Buckets))
			out = append(out, column{X: x, Y: chartBase - (chartBase-chartTop)*float64(sum)/float64(c.top()), Title: Count(sum)})
		}
	}
	return out
}

// warnings are the marks above stacks that have something of a series that warns.
func (c Chart) warnings() []column {
	var out []column
	for i, b := range c.Buckets {
		for s, v := range b.Values {
			if c.Series[s].Warn && v > 0 {
				y := chartBase - (chartBase-chartTop)*float64(c.sum(b))/float64(c.top())
				out = append(out, column{X: (float64(i) + 0.5) / float64(len(c.Buckets)), Y: y, Title: fmt.Sprintf("%s: %s %s", b.Label, Count(v), c.Series[s].Name)})
			}
		}
	}
	return out
}

func (c Chart) shares() []column {
	n := float64(len(c.Buckets))
	var out []column
	for i, b := range c.Buckets {
		if b.Share <= 0 {
			continue
		}
		h := max(1, (shareBase-shareTop)*min(1, b.Share))
		out = append(out, column{X: (float64(i) + (1-barShare)/2) / n, W: barShare / n, Y: shareBase - h, H: h, Title: fmt.Sprintf("%s: %.0f %%", b.Label, b.Share*100)})
	}
	return out
}

// shareWords are the share of a bucket; empty where nothing is known of it.
func (c Chart) shareWords(b Bucket) string {
	if b.Blind != "" {
		return ""
	}
	return fmt.Sprintf("%.0f %%", b.Share*100)
}

func (c Chart) middle(i int) string { return pct((float64(i) + 0.5) / float64(max(1, len(c.Buckets)))) }
