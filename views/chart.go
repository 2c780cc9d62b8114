package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"
)

// Chart is a stack of bars over time, with the numbers as a table behind it.
type Chart struct {
	ID      string
	Title   string // What is shown, for those who do not see it.
	Desc    string // What it amounts to.
	Unit    string // Of the buckets, such as "Hour".
	Series  []Series
	Buckets []Bucket
	Below   string      // Name of a percentage drawn below; empty for none.
	Listing PlotListing // Where a part that was marked leads; without it steps are no links.
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
	Label    string
	Axis     string // The label on the axis; empty where there is none.
	Values   []int64
	Share    float64 // For the lower chart, 0 to 1.
	Blind    string  // Why nothing is shown, such as "not observed"; empty where something is.
	SoFar    bool    // The step is not over. Its bars are pale: they are low because of the time, not because of the fleet.
	Href     string  // Its tasks.
	From, To string  // In RFC 3339.
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

// Sizes of a chart. Places and heights in it are shares of its height, from the top: where there is more room it grows, and its words and the lower chart keep
// their distance from it.
const (
	barShare    = 0.64 // Of a bucket's width.
	chartGuides = 4
	leastShare  = 0.03 // Of the lower chart's height: what there is can be seen.
)

// steps reports whether the steps of the chart are links.
func (c Chart) steps() bool { return c.Listing.Tasks != "" }

// spoken is a step in words.
func (c Chart) spoken(b Bucket) string {
	if b.Blind != "" {
		return b.label() + ": " + b.Blind
	}
	var parts []string
	for i, v := range b.Values {
		name, _, _ := strings.Cut(c.Series[i].Name, " per ") // A step that is not over has no rate yet.
		parts = append(parts, Count(v)+" "+name)
	}
	if c.Below != "" {
		parts = append(parts, c.shareWords(b)+" of all")
	}
	return b.label() + ": " + strings.Join(parts, ", ")
}

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
		out = append(out, guide{1 - float64(v)/float64(top), Count(v)})
	}
	return out
}

// blinds are the runs of buckets of which nothing is known, each by its first reason.
func (c Chart) blinds() []column {
	n := float64(len(c.Buckets))
	var out []column
	for i, b := range c.Buckets {
		switch {
		case b.Blind == "":
		case i > 0 && c.Buckets[i-1].Blind == b.Blind:
			out[len(out)-1].W += 1 / n
		default:
			out = append(out, column{X: float64(i) / n, W: 1 / n, H: 1})
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
		y := 1.0
		for s, v := range b.Values {
			if v <= 0 || c.Series[s].Bare {
				continue
			}
			h := float64(v) / top
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
			out = append(out, column{X: x, Y: 1 - float64(sum)/float64(c.top()), Title: Count(sum)})
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
				y := 1 - float64(c.sum(b))/float64(c.top())
				out = append(out, column{X: (float64(i) + 0.5) / float64(len(c.Buckets)), Y: y, Title: fmt.Sprintf("%s: %s %s", b.Label, Count(v), c.Series[s].Name)})
			}
		}
	}
	return out
}

// listing is where marked steps lead, for the script that marks them.
func (c Chart) listing() templ.Attributes {
	if !c.steps() {
		return nil
	}
	return templ.Attributes{"data-tasks": c.Listing.Tasks, "data-page": c.Listing.Page, "data-by": c.Listing.By}
}

func (c Chart) shares() []column {
	n := float64(len(c.Buckets))
	var out []column
	for i, b := range c.Buckets {
		if b.Share <= 0 {
			continue
		}
		h := max(leastShare, min(1, b.Share))
		out = append(out, column{X: (float64(i) + (1-barShare)/2) / n, W: barShare / n, Y: 1 - h, H: h, Tone: "bad", Pale: b.SoFar, Title: fmt.Sprintf("%s: %.0f %%", b.label(), b.Share*100)})
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

// from is where a bucket begins, as a share of the width, and step is how wide it is.
func (c Chart) from(i int) string { return pct(float64(i) / float64(max(1, len(c.Buckets)))) }

func (c Chart) step() string { return pct(1 / float64(max(1, len(c.Buckets)))) }
