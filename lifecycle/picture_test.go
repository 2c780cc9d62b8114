package lifecycle_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// TestAPictureAgreesWithItsFacts draws the timelines of all scenarios and of many random histories, and holds bars, marks, figures and words
// to the judged facts.
func TestAPictureAgreesWithItsFacts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		given, _, _ := strings.Cut(string(text), "\n---\n")
		checkPictures(t, filepath.Base(file), lifecycle.ScenarioEvents(t, given))
	}
	r := rand.New(rand.NewPCG(18, 3))
	for i := range lifecycle.Histories(1_000) {
		checkPictures(t, fmt.Sprintf("history %d", i), lifecycle.RandomHistory(r))
		if t.Failed() {
			return
		}
	}
}

func checkPictures(t *testing.T, name string, events []lifecycle.Event) {
	t.Helper()
	var last lifecycle.Micros
	for _, e := range events {
		last = max(last, e.At, e.Detail.Deadline)
	}
	for _, s := range lifecycle.Stories(events) {
		for _, now := range []lifecycle.Micros{last, last.Add(time.Hour)} {
			trace := lifecycle.AssembleTrace(lifecycle.TraceInput{Record: s.Record, Now: now})
			for _, squeeze := range []bool{false, true} {
				p := picture{trace: trace, events: views.Arrange(s.Events, trace)}
				p.Timeline = views.LayoutTimeline(trace, p.events, time.UTC, squeeze, func(id lifecycle.EventID) string { return id.String() })
				if problems := p.problems(); len(problems) > 0 {
					t.Errorf("%s, task %q at %v: %s\n%s", name, s.Record.Summary.TaskID, now.Time(), strings.Join(problems, "; "), p.describe())
				}
			}
		}
	}
}

// picture is a timeline with what it is drawn from.
type picture struct {
	views.Timeline
	trace  lifecycle.Trace
	events []views.Placed
	found  []string
}

func (p *picture) wrong(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

func (p *picture) problems() []string {
	p.sums()
	next := 0
	for i, m := range p.trace.Messages {
		p.life(p.Lanes[next], m)
		next++
		for _, part := range m.Parts() {
			for _, a := range part.Attempts {
				p.attempt(p.Lanes[next], i, part, a)
				next++
			}
			if waits(part) {
				p.waiting(p.Lanes[next], part)
				next++
			}
		}
	}
	if next != len(p.Lanes) {
		p.wrong("%d lanes, want %d", len(p.Lanes), next)
	}
	p.places()
	p.marked()
	return p.found
}

// sums holds the bars to the figures of the header. What the lanes of one message do at once is one time: it runs where any of them runs.
func (p *picture) sums() {
	sum := map[views.BarKind]time.Duration{}
	var bars []views.Bar
	add := func() {
		var ends []lifecycle.Micros
		for _, b := range bars {
			ends = append(ends, b.From, b.To)
		}
		slices.Sort(ends)
		for i := 1; i < len(ends); i++ {
			for _, kind := range []views.BarKind{views.BarRunning, views.BarSilent, views.BarUnsplit, views.BarWaiting} {
				if slices.ContainsFunc(bars, func(b views.Bar) bool { return b.Kind == kind && b.From <= ends[i-1] && ends[i] <= b.To }) {
					sum[kind] += ends[i].Sub(ends[i-1])
					break
				}
			}
		}
		bars = nil
	}
	for _, l := range p.Lanes {
		if l.Message {
			add()
		}
		bars = append(bars, l.Bars...)
	}
	add()
	if got := sum[views.BarRunning] + sum[views.BarSilent]; got != p.trace.Running {
		p.wrong("bars run for %v, the figure says %v", got, p.trace.Running)
	}
	if got := sum[views.BarWaiting]; got != p.trace.Waiting {
		p.wrong("bars wait for %v, the figure says %v", got, p.trace.Waiting)
	}
	if got := sum[views.BarUnsplit]; got != p.trace.Unsplit {
		p.wrong("bars are unsplit for %v, the figure says %v", got, p.trace.Unsplit)
	}
	p.covered()
}

// covered holds the figures to the clock: from the publish of an only message to its last answer no time may be missing.
func (p *picture) covered() {
	if len(p.trace.Messages) != 1 {
		return
	}
	m := p.trace.Messages[0]
	if n := len(m.Attempts); len(m.Others) == 0 && m.Facts.Stored != nil && !m.Facts.RecreatedAt.Known() && n > 0 && m.Attempts[n-1].EndedAt.Known() {
		want := m.Attempts[n-1].EndedAt.Sub(m.Facts.Stored.At)
		if got := p.trace.Running + p.trace.Waiting + p.trace.Unsplit; got < want {
			p.wrong("%v are accounted for, of %v from the publish to the last end", got, want)
		}
	}
}

func (p *picture) life(l views.Lane, m lifecycle.MessageTrace) {
	if !l.Message {
		p.wrong("%s: want the lane of a message", l.Name)
		return
	}
	for _, b := range l.Bars {
		if b.To > p.trace.AsOf {
			p.wrong("%s goes on after the time of looking", l.Name)
		}
		if !m.Verdict.State.Open() && b.To != max(m.Verdict.Since, b.From) {
			p.wrong("%s: its line ends at %v, its state is since %v", l.Name, b.To.Time(), m.Verdict.Since.Time())
		}
	}
}

func (p *picture) attempt(l views.Lane, index int, m lifecycle.MessageTrace, a lifecycle.Attempt) {
	end := a.EndedAt
	if a.End == lifecycle.EndOpen {
		end = p.trace.AsOf
		if !m.Verdict.State.Open() && strings.HasPrefix(l.Note, "in hand") {
			p.wrong("%s is in hand of a message that is %s", l.Name, m.Verdict.State)
		}
	}
	var held time.Duration
	for _, b := range l.Bars {
		switch b.Kind {
		case views.BarRunning, views.BarSilent:
			held += b.To.Sub(b.From)
			if b.To > end || b.From < a.BeganAt {
				p.wrong("%s: %s bar from %v to %v, the attempt is from %v to %v", l.Name, b.Kind, b.From.Time(), b.To.Time(), a.BeganAt.Time(), end.Time())
			}
		case views.BarWaiting, views.BarUnsplit:
			if a.BeganAt.Known() && b.To > a.BeganAt {
				p.wrong("%s: %s after it began", l.Name, b.Kind)
			}
		}
		if b.Kind == views.BarSilent {
			p.silent(l, index, a, b)
		}
	}
	lasted := lifecycle.Lasting(held)
	switch exact := a.BeganExact || a.BeganSaid; {
	case a.EndedLatest && exact:
		lasted = "at most " + lasted
	case a.EndedLatest:
		lasted = l.Look.Word
	case !exact:
		lasted = "at least " + lasted
	}
	if held > 0 && l.Note != lasted && !strings.HasSuffix(l.Note, ", "+lasted) {
		p.wrong("%s says %q, its bars run for %v: want %q", l.Name, l.Note, held, lasted)
	}
	p.label(l, a)
}

// silent holds a bar without a sign of life to the events: none in it may be the worker's.
func (p *picture) silent(l views.Lane, index int, a lifecycle.Attempt, b views.Bar) {
	if a.End != lifecycle.EndTimedOut {
		p.wrong("%s: no sign of life, but it ended as %s", l.Name, a.End)
	}
	for _, e := range p.events {
		own := e.Index == index && e.Turn == a.N && e.Former == a.Former && e.Consumer == a.Consumer
		if says := e.Provenance == lifecycle.Recorded || e.Provenance == lifecycle.Reported || e.Kind.IsBeat(); own && says && e.At > b.From && e.At <= b.To {
			p.wrong("%s: no sign of life from %v to %v, but %s at %v", l.Name, b.From.Time(), b.To.Time(), e.Kind, e.At.Time())
		}
	}
}

// label holds the words at the end of an attempt to how it ended.
func (p *picture) label(l views.Lane, a lifecycle.Attempt) {
	said := l.Label != nil
	if want := a.EndedAt.Known() && a.End != lifecycle.EndOpen && a.End != lifecycle.EndAcked && !p.Compact; said != want {
		p.wrong("%s: label %v of an attempt that is %s", l.Name, said, a.End)
	}
	if said && a.Reason != "" && !strings.Contains(l.Label.Whole, views.Printable(a.Reason)) {
		p.wrong("%s: the label %q leaves out %q", l.Name, l.Label.Whole, a.Reason)
	}
}

// waits reports whether there is a lane for the time that the message waits now.
func waits(m lifecycle.MessageTrace) bool {
	return len(m.Spans) > 0 && m.Spans[len(m.Spans)-1].Kind == lifecycle.SpanWaiting && (m.Spans[len(m.Spans)-1].Open || len(m.Attempts) == 0)
}

func (p *picture) waiting(l views.Lane, m lifecycle.MessageTrace) {
	if s := m.Verdict.State; s.Died() && len(m.Attempts) == 0 {
		if end := l.Bars[0].To; len(l.Bars) != 1 || end != m.Facts.OrphanedAt {
			p.wrong("%s: a message that nobody took waited until %v", l.Name, end.Time())
		}
		return
	} else if s != lifecycle.StatePublished && s != lifecycle.StateFailed {
		p.wrong("%s waits for an attempt, but the message is %s", l.Name, s)
	}
	for _, b := range l.Bars {
		if b.To != p.trace.AsOf {
			p.wrong("%s: its waiting ends at %v", l.Name, b.To.Time())
		}
	}
}

// places holds what is drawn to the picture: within it, in the order of time, and no mark on another.
func (p *picture) places() {
	for _, l := range p.Lanes {
		for _, b := range l.Bars {
			if b.X < 0 || b.W <= 0 || b.X+b.W > 1.0001 {
				p.wrong("%s: a bar at %v, %v wide", l.Name, b.X, b.W)
			}
		}
		for i, m := range l.Marks {
			if m.X < 0 || m.X > 1 {
				p.wrong("%s: a mark at %v", l.Name, m.X)
			}
			for _, o := range l.Marks[:i] {
				if d := math.Abs((m.X-o.X)*736 + m.Dx - o.Dx); !m.Folded && !o.Folded && m.Low == o.Low && d < 17.9 {
					p.wrong("%s: marks %q and %q are %.1f px apart", l.Name, m.Label, o.Label, d)
				}
			}
		}
	}
}

// marked holds the marks to the events: each that has a lane is marked, or counted by a mark that stands for it.
func (p *picture) marked() {
	want, got := 0, 0
	for _, e := range p.events {
		lane := e.Kind.Row().Lane
		onMessage := lane.On(lifecycle.LaneMessage) && (e.Turn == 0 || e.Turn > 1<<20) && e.Kind != lifecycle.PublishAttempted
		if e.Index >= 0 && (onMessage || (lane.On(lifecycle.LaneAttempt) && e.Turn > 0 && e.Turn < 1<<20 && p.has(e))) {
			want++
		}
	}
	for _, l := range p.Lanes {
		for _, m := range l.Marks {
			if caught := l.Message && strings.HasSuffix(m.Label, "duplicate caught"); m.Href != "" && !caught && !m.Folded {
				got += max(1, m.N)
			}
		}
	}
	if got < want {
		p.wrong("%d events are marked or counted, want %d", got, want)
	}
}

// has reports whether there is a lane for the attempt of an event.
func (p *picture) has(e views.Placed) bool {
	for _, a := range p.trace.Messages[e.Index].Part(e.Consumer).Attempts {
		if a.N == e.Turn && a.Former == e.Former && a.Consumer == e.Consumer {
			return true
		}
	}
	return false
}

func (p *picture) describe() string {
	var out strings.Builder
	fmt.Fprintf(&out, "running %v, waiting %v, unsplit %v\n", p.trace.Running, p.trace.Waiting, p.trace.Unsplit)
	for _, l := range p.Lanes {
		fmt.Fprintf(&out, "%s (%s)", l.Name, l.Note)
		for _, b := range l.Bars {
			fmt.Fprintf(&out, " %s %s-%s", b.Kind, b.From.Time().Format("04:05.0"), b.To.Time().Format("04:05.0"))
		}
		fmt.Fprintln(&out)
	}
	for _, e := range p.events {
		fmt.Fprintf(&out, "%s %s %d/%d %v\n", e.At.Time().Format("04:05.0"), e.Kind, e.Index, e.Turn, e.Former)
	}
	return out.String()
}
