package views

import (
	"time"

	"fleetglass/lifecycle"
)

// BarKind says what a bar of a lane shows.
type BarKind string

// The kinds of bars.
const (
	BarLife    BarKind = "life"    // The message was there.
	BarWaiting BarKind = "waiting" // Stored, and in nobody's hands.
	BarUnsplit BarKind = "unsplit" // Waiting or running: the moment of delivery was not observed.
	BarRunning BarKind = "running" // In a worker's hands.
	BarSilent  BarKind = "silent"  // In the hands of a worker that gave no sign of life any more.
)

// Bar is a span on a lane.
type Bar struct {
	Kind     BarKind
	From, To lifecycle.Micros
	X, W     float64
	Text     string // Its length, in words.
	Fits     bool   // There is room for the text.
}

type leaseLine struct {
	X1, X2 float64
	Out    bool // The deadline passed without an answer.
}

// leastBar is the width of a bar that would be too short to see.
const leastBar = 0.002

func (b *builder) bar(kind BarKind, from, to lifecycle.Micros) Bar {
	x1, x2 := b.scale.x(from), b.scale.x(to)
	x1 = min(x1, 1-margin-leastBar)
	return Bar{Kind: kind, From: from, To: to, X: x1, W: max(leastBar, x2-x1), Text: lifecycle.Lasting(to.Sub(from))}
}

// spanBars draws a span. A running one is solid as far as there were signs of life, and dashed beyond, where the attempt ended in silence.
func (b *builder) spanBars(lane *Lane, s lifecycle.Span, a lifecycle.Attempt, sign lifecycle.Micros) {
	switch {
	case s.Kind == lifecycle.SpanWaiting && s.To.Sub(s.From) < time.Millisecond: // It reads "0 ms": there is nothing to draw.
	case s.Kind == lifecycle.SpanWaiting:
		lane.Bars = append(lane.Bars, b.bar(BarWaiting, s.From, s.To))
	case s.Kind == lifecycle.SpanUnsplit:
		lane.Bars = append(lane.Bars, b.bar(BarUnsplit, s.From, s.To))
	case a.End != lifecycle.EndTimedOut || sign >= s.To:
		lane.Bars = append(lane.Bars, b.bar(BarRunning, s.From, s.To))
	case sign <= s.From:
		lane.Bars = append(lane.Bars, b.bar(BarSilent, s.From, s.To))
	default:
		lane.Bars = append(lane.Bars, b.bar(BarRunning, s.From, sign), b.bar(BarSilent, sign, s.To))
	}
}

// lastSign is when the worker of an attempt was last known to be at work: by what it sent, reported, or left in a record, up to the end.
func lastSign(a lifecycle.Attempt, events []lifecycle.Event) lifecycle.Micros {
	last := max(a.LastBeat, a.BeganAt)
	for _, e := range events {
		if signOfWorker(e) && (e.At <= a.EndedAt || !a.EndedAt.Known()) {
			last = max(last, e.At)
		}
	}
	return last
}

// signOfWorker reports whether an event of an attempt is something that its worker did.
func signOfWorker(e lifecycle.Event) bool {
	row := e.Kind.Row()
	switch e.Provenance {
	case lifecycle.Observed, lifecycle.Reported:
		return row.Lane.On(lifecycle.LaneAttempt) || row.Lane.On(lifecycle.LaneBeats) || row.About == lifecycle.AboutAttempt
	case lifecycle.Recorded:
		return row.Lane.On(lifecycle.LaneAttempt)
	}
	return false
}

func (b *builder) attemptLease(lane *Lane, m lifecycle.MessageTrace, a lifecycle.Attempt) {
	if !a.BeganAt.Known() {
		return
	}
	end := a.EndedAt
	switch {
	case a.End == lifecycle.EndOpen:
		end = b.openLease(lane, m)
	case a.End == lifecycle.EndTimedOut && m.Consumer != nil:
		end = min(max(a.LastBeat, a.BeganAt).Add(m.Consumer.Wait(a.N)), a.EndedAt)
	}
	lane.Lease = &leaseLine{X1: b.scale.x(a.BeganAt), X2: b.scale.x(max(end, a.BeganAt)), Out: a.End == lifecycle.EndTimedOut}
}

// openLease marks the deadline of an attempt that has not ended, and is where its lease ends.
func (b *builder) openLease(lane *Lane, m lifecycle.MessageTrace) lifecycle.Micros {
	if m.Lease == nil || !m.Lease.Deadline.Known() {
		return b.trace.AsOf
	}
	at := m.Lease.Deadline
	lane.Marks = append(lane.Marks, Mark{X: b.scale.x(at), Look: look{"m-deadline", deadlineTone(at, b.trace.AsOf), "deadline"}, Label: "deadline " + b.clock(at), Low: true})
	return at
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

// fitTexts keeps the text of a bar where no mark covers it and there is room.
func (l *Lane) fitTexts() {
	for i := range l.Bars {
		bar := &l.Bars[i]
		end := bar.X + textRoom(bar.Text)
		bar.Fits = bar.Kind == BarRunning && end < bar.X+bar.W
		for _, m := range l.Marks {
			if at := m.X + m.Dx/laneWidth; !m.Low && !m.Folded && at > bar.X-0.01 && at < end+0.012 {
				bar.Fits = false
			}
		}
	}
}

// letter is about the width of a letter in the lanes, in pixels.
const letter = 6.2

// textRoom is how much of the axis a text in a bar takes, with the space around it.
func textRoom(text string) float64 { return (float64(len([]rune(text)))*letter + 20) / laneWidth }
