package views

import (
	"fmt"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// A duplicate that reached execution is one of many: the thin layer it makes is easily overlooked, the mark above it is not.
func TestAMarkStandsAboveWhatWarns(t *testing.T) {
	t.Parallel()
	c := Chart{ID: "c", Series: []Series{{Name: "caught", Tone: "dup"}, {Name: "reached execution", Tone: "bad", Warn: true}},
		Buckets: []Bucket{{Label: "August", Values: []int64{40, 0}}, {Label: "September", Values: []int64{30, 1}}}}
	var page strings.Builder
	if err := ChartFigure(c).Render(With(t.Context(), Env{Asset: func(name string) string { return name }}), &page); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page.String()))
	if err != nil {
		t.Fatal(err)
	}
	marks := doc.Find("svg.plot > svg.bad")
	if got := marks.Find("title").Text(); marks.Length() != 1 || got != "September: 1 reached execution" {
		t.Errorf("%d marks: %q", marks.Length(), got)
	}
	if x := marks.AttrOr("x", ""); x != "75%" {
		t.Errorf("the mark stands at %s, not above the second stack", x)
	}
}

func TestChartsHatchWhatWasNotObserved(t *testing.T) {
	t.Parallel()
	c := Chart{ID: "c", Unit: "Hour", Series: []Series{{Name: "completed", Tone: "ok"}}, Below: "failed", Buckets: []Bucket{
		{Label: "01", Values: []int64{0}, Blind: "not observed"}, {Label: "02", Values: []int64{0}, Blind: "not observed"}, {Label: "03", Values: []int64{0}},
	}}
	got := c.blinds()
	if len(got) != 1 || got[0].H != 1 {
		t.Errorf("hatched %+v, want one span, of the whole height", got)
	}
	for _, b := range got {
		if b.X != 0 || b.W < 0.66 || b.W > 0.67 {
			t.Errorf("hatched %+v, want the first two steps as one", b)
		}
	}
	var page strings.Builder
	if err := ChartFigure(c).Render(t.Context(), &page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), `class="unseen"`); n != 2 {
		t.Errorf("%d hatched spans, want one in the chart and one in the lower chart", n)
	}
	if n := strings.Count(page.String(), `class="dim">not observed</td>`); n != 2 {
		t.Errorf("the table says %d times that nothing was observed, want 2", n)
	}
}

func TestALineEndsBeforeTheStepThatIsNotOver(t *testing.T) {
	t.Parallel()
	step := func(y float64) PlotStep { return PlotStep{Values: []PlotValue{{Y: y, Known: true}}} }
	p := Plot{Top: 10, Series: []PlotSeries{{Line: true, Tone: "run"}}, Steps: []PlotStep{step(8), step(8), step(1)}}
	whole := func() (n int) {
		for _, s := range p.strokes() {
			if !strings.HasSuffix(s.Class, "so-far") {
				n++
			}
		}
		return n
	}
	if whole() != 2 {
		t.Errorf("three whole steps are joined by %d pieces", whole())
	}
	p.Steps[2].Open = true
	if whole() != 1 {
		t.Errorf("two whole steps are joined by %d pieces", whole())
	}
	p.Steps[2].Open, p.Steps[2].Partial = false, true
	if whole() != 1 {
		t.Errorf("a step of which only a part was observed is joined to those before: %d pieces", whole())
	}
	p.Steps = append(p.Steps, step(8))
	if got := whole(); got != 3 {
		t.Errorf("a step of which a part was lost breaks the line in its middle: %d pieces", got)
	}
}

func TestAStepThatIsNotOverIsDrawnPaleAndReadOut(t *testing.T) {
	t.Parallel()
	value := func(y float64) []PlotValue { return []PlotValue{{Y: y, Text: "≈ 3.0 s", Known: true}} }
	p := Plot{Small: true, Top: 10, Series: []PlotSeries{{Name: "median", Line: true, Tone: "run"}}, Steps: []PlotStep{
		{Label: "13:40", Blind: "not observed", Values: make([]PlotValue, 1)}, {Label: "13:45, so far", Open: true, Values: value(3)},
	}}
	if got := p.strokes(); len(got) != 1 || got[0].Class != "line l-run so-far" {
		t.Errorf("the only value that there is, of a step that is not over, is drawn as %+v", got)
	}
	if got := p.newest(); got != "13:45, so far: median ≈ 3.0 s" {
		t.Errorf("the chart reads out %q", got)
	}
	p.Series[0].Line = false
	if got := p.bars(); len(got) != 1 || got[0].Class != "f-run so-far" {
		t.Errorf("its bar is drawn as %+v", got)
	}
	var page strings.Builder
	if err := PlotFigure(p).Render(t.Context(), &page); err != nil || !strings.Contains(page.String(), "partial step") {
		t.Errorf("the legend does not say what is pale (%v)", err)
	}
}

// A bar of a minute is four pixels wide: its values show wherever the pointer is above or below it, in both charts at once.
func TestAStepOfAChartSaysAllItsValues(t *testing.T) {
	t.Parallel()
	c := Chart{ID: "c", Series: []Series{{Name: "completed per minute", Tone: "ok"}, {Name: "failed attempts", Tone: "bad", Bare: true}}, Below: "failed", Buckets: []Bucket{
		{Label: "14:05", Values: []int64{12, 3}, Share: 0.2, Href: "/tasks?from=1"}, {Label: "14:06", Values: []int64{0, 0}, Blind: "not observed"},
	}}
	for links, want := range map[bool]string{false: `svg.over rect.hit[data-tip="%s"]`, true: `svg.over.pts a.pt[aria-label="%s"]`} {
		if c.Listing = (PlotListing{}); links {
			c.Listing = PlotListing{Tasks: "/tasks", Page: "/statistics"}
		}
		var page strings.Builder
		if err := ChartFigure(c).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(page.String()))
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{"14:05: 12 completed, 3 failed attempts, 20 % of all", "14:06: not observed"} {
			if doc.Find(fmt.Sprintf(want, words)).Length() != 1 {
				t.Errorf("links %v: no step says %q:\n%s", links, words, page.String())
			}
		}
		if marks := doc.Find("figure.plotted .readout, figure.plotted .marked-span").Length(); (marks == 2) != links {
			t.Errorf("links %v: %d places for what is pointed at and marked", links, marks)
		}
	}
}

// The rows of a heat map are named by numbers: how many tasks are in one stands before its name.
func TestAStepOfAHeatMapSaysHowManyTasksAreInEachRow(t *testing.T) {
	t.Parallel()
	step := PlotStep{Label: "11:15", Values: []PlotValue{{Y: 7, Text: "7", Known: true}, {Y: 14, Text: "14", Known: true}}}
	p := Plot{Heat: true, Series: []PlotSeries{{Name: "up to 16 ms"}, {Name: "up to 32 ms"}}, Steps: []PlotStep{step}}
	if got, want := p.spoken(step), "11:15: 7 up to 16 ms, 14 up to 32 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
