package views

import (
	"fmt"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// Timeline is a trace laid out as lanes: one for each message and one for each of its attempts.
type Timeline struct {
	Lanes   []Lane
	Height  float64
	Compact bool // Many attempts: low lanes.
	Ticks   []axisTick
	Gaps    []gapMark
	NowX    float64 // Zero: the story is over.
	Caption string
	Span    string // Length of the axis, in words.
	Squeeze bool   // Waiting is compressed.
	Other   string // Address of the other scale.
	Left    int    // Messages or attempts that are not drawn.
}

// Lane is one row. Message lanes head the lanes of their attempts.
type Lane struct {
	Message  bool
	Y, H     float64
	Name     string
	Note     string
	Look     look
	Bars     []bar
	Lease    *leaseLine
	Beats    []float64
	Marks    []mark
	Label    string
	LabelX   float64
	LabelEnd bool // The label ends at its place instead of beginning there.
	Sub      string
	Tone     string
}

type bar struct {
	Kind string // waiting, running, unsplit (either of both), silent or life.
	X, W float64
	Text string
}

type leaseLine struct {
	X1, X2 float64
	Out    bool // The deadline passed without an answer.
}

type mark struct {
	X     float64
	Look  look
	Href  string
	Label string
	Low   bool // Drawn at the lease line instead of the bar.
}

type gapMark struct {
	X, W  float64
	Text  string
	Title string
}

// Heights of lanes, in pixels; the stylesheet has the same.
const (
	axisHeight    = 28
	messageHeight = 36
	attemptHeight = 52
	compactHeight = 26
	manyAttempts  = 12
	maxLanes      = 120
	maxBeats      = 60
)

// LayoutTimeline places a trace. Events give heartbeats and what the facts do not keep one by one; href is the address of an event.
func LayoutTimeline(t lifecycle.Trace, events []Placed, zone *time.Location, squeeze bool, href func(lifecycle.EventID) string) Timeline {
	b := builder{trace: t, turns: map[turn][]lifecycle.Event{}, href: href, zone: zone, caught: caughtPublishes(t)}
	for _, e := range events {
		b.turns[turn{e.Index, e.Turn}] = append(b.turns[turn{e.Index, e.Turn}], e.Event)
	}
	b.tl.Squeeze = squeeze
	b.scale = b.chooseScale(squeeze)
	n := 0
	for _, m := range t.Messages {
		n += len(m.Attempts)
	}
	b.tl.Compact = n > manyAttempts
	b.y = axisHeight
	for i, m := range t.Messages {
		b.message(i, m)
	}
	b.tl.Height = b.y
	b.tl.Ticks = b.scale.ticks(zone)
	b.gaps()
	if t.Summary.State.Open() && len(t.Messages) > 0 {
		b.tl.NowX = b.scale.x(t.AsOf)
	}
	b.tl.Span = Duration(b.scale.to.Sub(b.scale.from))
	b.tl.Caption = fmt.Sprintf("Timeline of %s in %s over %s. The same facts stand in the table of attempts and in the list of events below.",
		numbered(int64(n), "attempt", "attempts"), numbered(int64(len(t.Messages)), "message", "messages"), b.tl.Span)
	return b.tl
}

type builder struct {
	trace  lifecycle.Trace
	turns  map[turn][]lifecycle.Event
	caught map[lifecycle.EventID]bool
	href   func(lifecycle.EventID) string
	zone   *time.Location
	scale  scale
	tl     Timeline
	y      float64
}

// turn is a message and an attempt of it.
type turn struct{ index, n int }

func (b *builder) chooseScale(squeeze bool) scale {
	var from, to lifecycle.Micros
	see := func(at lifecycle.Micros) {
		if at.Known() {
			if !from.Known() || at < from {
				from = at
			}
			to = max(to, at)
		}
	}
	var busy []interval
	for _, m := range b.trace.Messages {
		see(m.Facts.FirstAt)
		see(m.Facts.LastAt)
		for _, s := range m.Spans {
			see(s.From)
			see(s.To)
			if s.Kind == lifecycle.SpanRunning {
				busy = append(busy, interval{s.From, s.To})
			}
		}
		if m.Lease != nil {
			see(m.Lease.Deadline)
		}
	}
	for _, events := range b.turns {
		for _, e := range events {
			see(e.At)
		}
	}
	if squeeze {
		return squeezed(from, to, busy)
	}
	return linear(from, to)
}

func (b *builder) message(i int, m lifecycle.MessageTrace) {
	if len(b.tl.Lanes) >= maxLanes {
		b.tl.Left += 1 + len(m.Attempts)
		return
	}
	lane := Lane{Message: true, Y: b.y, H: messageHeight, Name: fmt.Sprintf("Message %d", i+1), Note: Printable(m.Facts.Key.String()), Look: stateLook(m.Verdict.State)}
	start := m.Facts.FirstAt
	if m.Facts.Stored != nil {
		start = m.Facts.Stored.At
	}
	end := b.trace.AsOf
	if !m.Verdict.State.Open() {
		end = max(m.Verdict.Since, start)
	}
	lane.Bars = append(lane.Bars, b.bar("life", start, end, ""))
	b.messageMarks(&lane, i)
	b.y += lane.H
	b.tl.Lanes = append(b.tl.Lanes, lane)
	for _, a := range m.Attempts {
		if len(b.tl.Lanes) >= maxLanes {
			b.tl.Left++
			continue
		}
		b.attempt(i, m, a)
	}
	b.waitingLane(m)
}

// waitingLane shows the time that the message waits now, for an attempt that has not begun.
func (b *builder) waitingLane(m lifecycle.MessageTrace) {
	if len(m.Spans) == 0 {
		return
	}
	s := m.Spans[len(m.Spans)-1]
	if s.Kind != lifecycle.SpanWaiting || !s.Open {
		return
	}
	lane := Lane{Y: b.y, H: b.attemptHeight(), Name: fmt.Sprintf("Attempt %d", s.Attempt), Note: "waiting " + Duration(s.To.Sub(s.From)), Look: look{"published", "wait", "waiting"}}
	lane.Bars = []bar{b.bar("waiting", s.From, s.To, "")}
	b.y += lane.H
	b.tl.Lanes = append(b.tl.Lanes, lane)
}

func (b *builder) attemptHeight() float64 {
	if b.tl.Compact {
		return compactHeight
	}
	return attemptHeight
}

func (b *builder) bar(kind string, from, to lifecycle.Micros, text string) bar {
	x1, x2 := b.scale.x(from), b.scale.x(to)
	return bar{Kind: kind, X: x1, W: max(0.002, x2-x1), Text: text}
}

// messageMarks puts what concerns the message as a whole on its lane.
func (b *builder) messageMarks(lane *Lane, i int) {
	var caught []lifecycle.Event
	for _, e := range slices.Concat(b.turns[turn{i, 0}], b.turns[turn{i, end}]) {
		switch {
		case !e.Kind.Row().Lane.On(lifecycle.LaneMessage):
		case e.Kind != lifecycle.PublishAttempted:
			lane.Marks = append(lane.Marks, b.mark(e))
		case b.caught[e.ID]:
			mk := b.mark(e)
			mk.Look = caughtLook
			mk.Label = e.At.Time().In(b.zone).Format("15:04:05") + " " + caughtLook.Word
			lane.Marks = append(lane.Marks, mk)
			caught = append(caught, e)
		}
	}
	if n := len(caught); n > 0 {
		lane.label(b.scale.x(caught[n-1].At), numbered(int64(n), "duplicate caught", "duplicates caught"), "dup")
	}
	lane.Marks = thinMarks(lane.Marks)
}

func (b *builder) mark(e lifecycle.Event) mark {
	l := kindLook(e.Kind)
	return mark{X: b.scale.x(e.At), Look: l, Href: b.href(e.ID), Label: e.At.Time().In(b.zone).Format("15:04:05") + " " + l.Word}
}

// thinMarks keeps a lane readable: at most forty marks, the first and last ones among them.
func thinMarks(in []mark) []mark {
	const most = 40
	if len(in) <= most {
		return in
	}
	out := make([]mark, 0, most)
	for i := range most {
		out = append(out, in[i*(len(in)-1)/(most-1)])
	}
	return out
}

func (l *Lane) label(x float64, text, tone string) {
	l.Label, l.LabelX, l.Tone = Cut(text, 60), x, tone
}

func (b *builder) attempt(i int, m lifecycle.MessageTrace, a lifecycle.Attempt) {
	lane := Lane{Y: b.y, H: b.attemptHeight(), Name: attemptName(a.N, m.Consumer), Look: endLook(a)}
	if a.End == lifecycle.EndOpen && m.Verdict.State.InFlight() && m.Lease != nil && m.Lease.Stale != "" {
		lane.Look = staleLook(m.Lease.Stale)
	}
	lane.Note = lane.Look.Word
	lastSign := max(a.LastBeat, a.BeganAt)
	for _, s := range m.Spans {
		if s.Attempt != a.N {
			continue
		}
		switch s.Kind {
		case lifecycle.SpanWaiting:
			lane.Bars = append(lane.Bars, b.bar("waiting", s.From, s.To, ""))
			continue
		case lifecycle.SpanUnsplit:
			lane.Bars = append(lane.Bars, b.bar("unsplit", s.From, s.To, ""))
			continue
		}
		lane.Note += ", " + Duration(s.To.Sub(s.From))
		b.runningBars(&lane, s, a, lastSign)
	}
	b.attemptLease(&lane, m, a, lastSign)
	b.attemptMarks(&lane, b.turns[turn{i, a.N}])
	lane.clearText()
	b.endLabel(&lane, a)
	b.y += lane.H
	b.tl.Lanes = append(b.tl.Lanes, lane)
}

func attemptName(n int, c *lifecycle.ConsumerState) string {
	if c != nil && c.MaxDeliver > 0 {
		return fmt.Sprintf("Attempt %d of %d", n, c.MaxDeliver)
	}
	return fmt.Sprintf("Attempt %d", n)
}

// runningBars is solid as far as there were signs of life and dashed beyond, where the attempt ended in silence.
func (b *builder) runningBars(lane *Lane, s lifecycle.Span, a lifecycle.Attempt, lastSign lifecycle.Micros) {
	text := Duration(s.To.Sub(s.From))
	if a.End != lifecycle.EndTimedOut || lastSign >= s.To {
		lane.Bars = append(lane.Bars, b.fitted("running", s.From, s.To, text))
		return
	}
	if lastSign > s.From {
		lane.Bars = append(lane.Bars, b.fitted("running", s.From, lastSign, Duration(lastSign.Sub(s.From))))
	}
	lane.Bars = append(lane.Bars, b.bar("silent", max(s.From, lastSign), s.To, ""))
}

// fitted writes the text into the bar where there is room.
func (b *builder) fitted(kind string, from, to lifecycle.Micros, text string) bar {
	r := b.bar(kind, from, to, "")
	if r.W > 0.075 {
		r.Text = text
	}
	return r
}

func (b *builder) attemptLease(lane *Lane, m lifecycle.MessageTrace, a lifecycle.Attempt, lastSign lifecycle.Micros) {
	if !a.BeganAt.Known() {
		return
	}
	end := a.EndedAt
	if a.End == lifecycle.EndOpen {
		end = b.trace.AsOf
		if m.Lease != nil && m.Lease.Deadline.Known() {
			end = m.Lease.Deadline
			lane.Marks = append(lane.Marks, mark{X: b.scale.x(end), Look: look{"m-deadline", deadlineTone(end, b.trace.AsOf), "deadline"},
				Label: "deadline " + end.Time().In(b.zone).Format("15:04:05"), Low: true})
		}
	} else if a.End == lifecycle.EndTimedOut && m.Consumer != nil {
		end = lastSign.Add(m.Consumer.Wait(a.N))
	}
	lane.Lease = &leaseLine{X1: b.scale.x(a.BeganAt), X2: b.scale.x(max(end, a.BeganAt)), Out: a.End == lifecycle.EndTimedOut}
}

func deadlineTone(at, now lifecycle.Micros) string {
	if at < now {
		return "bad"
	}
	return "run"
}

func thinBeats(in []float64) []float64 {
	if len(in) <= maxBeats {
		return in
	}
	out := make([]float64, 0, maxBeats)
	for i := range maxBeats {
		out = append(out, in[i*(len(in)-1)/(maxBeats-1)])
	}
	return out
}

func (b *builder) attemptMarks(lane *Lane, events []lifecycle.Event) {
	var marks []mark
	for _, e := range events {
		switch on := e.Kind.Row().Lane; {
		case on.On(lifecycle.LaneBeats):
			lane.Beats = append(lane.Beats, b.scale.x(e.At))
		case on.On(lifecycle.LaneAttempt):
			marks = append(marks, b.attemptMark(e))
		}
	}
	lane.Beats = thinBeats(lane.Beats)
	lane.Marks = append(lane.Marks, thinMarks(marks)...)
}

// attemptMark marks an event at its time; one about a deadline is marked low, at the deadline.
func (b *builder) attemptMark(e lifecycle.Event) mark {
	mk := b.mark(e)
	if e.Detail.Deadline.Known() {
		mk.X, mk.Low = b.scale.x(e.Detail.Deadline), true
	}
	return mk
}

// clearText takes the text out of a bar where a mark would cover it.
func (l *Lane) clearText() {
	const room = 0.08
	for i := range l.Bars {
		for _, m := range l.Marks {
			if at := m.X - l.Bars[i].X; !m.Low && at > -0.01 && at < room {
				l.Bars[i].Text = ""
			}
		}
	}
}

// endLabel says at the end of the bar how the attempt ended, where there is room; the name of the lane says it in any case.
func (b *builder) endLabel(lane *Lane, a lifecycle.Attempt) {
	if a.End == lifecycle.EndOpen || b.tl.Compact || !a.EndedAt.Known() {
		return
	}
	x := b.scale.x(a.EndedAt)
	if x > 0.72 {
		return
	}
	text := lane.Look.Word
	switch a.End {
	case lifecycle.EndTimedOut:
		text = "no answer"
	case lifecycle.EndNacked:
		text = "handed back"
		if a.NakDelayNs > 0 {
			lane.Sub = "asked for " + Duration(time.Duration(a.NakDelayNs))
		}
	}
	lane.label(x, text, lane.Look.Tone)
	if a.Reason != "" {
		lane.Sub = Cut(a.Reason, 48)
	}
	if a.Silent {
		lane.Sub = "no line of it was seen"
	}
}

func (b *builder) gaps() {
	for _, g := range b.trace.Gaps {
		to := g.To
		if !to.Known() {
			to = b.trace.AsOf
		}
		if to < b.scale.from || g.From > b.scale.to {
			continue
		}
		x1, x2 := b.scale.x(max(g.From, b.scale.from)), b.scale.x(min(to, b.scale.to))
		text := "not observed"
		if g.Repaired {
			text = "read again later"
		}
		b.tl.Gaps = append(b.tl.Gaps, gapMark{X: x1, W: max(0.004, x2-x1), Text: text, Title: g.Source + ": " + Cut(g.Reason, 120)})
	}
}
