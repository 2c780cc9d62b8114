package views

import (
	"fmt"
	"slices"

	"fleetglass/lifecycle"
)

// Mark is an event, or a deadline, on a lane.
type Mark struct {
	X      float64 // Where it happened.
	Dx     float64 // How far beside that it is drawn, in pixels, so that it does not cover another.
	Look   look
	Href   string
	Label  string
	Low    bool // Drawn at the lease line instead of the bar.
	Rank   int  // Of marks at one place, the one with the highest rank stands for all.
	N      int  // So many stand here, this one among them; zero for one.
	Folded bool // Another one stands for it.
}

// clock is an instant of the lanes, in the reader's zone.
func (b *builder) clock(at lifecycle.Micros) string { return at.Time().In(b.zone).Format("15:04:05") }

func (b *builder) mark(e lifecycle.Event, l look) Mark {
	label := b.clock(e.At) + " " + l.Word
	if text := e.Detail.Reason; text != "" {
		label += ": " + Cut(text, 200)
	}
	mk := Mark{X: b.scale.x(e.At), Look: l, Href: b.href(e.ID), Label: label}
	switch e.Kind.Row().Phase {
	case lifecycle.PhaseAnswered, lifecycle.PhaseExpired, lifecycle.PhaseGone:
		mk.Rank = 2
	case lifecycle.PhaseStored, lifecycle.PhaseDecided:
		mk.Rank = 1
	}
	return mk
}

// messageMarks puts what concerns the message as a whole on its lane.
func (b *builder) messageMarks(lane *Lane, i int) {
	caught, generation := 0, 0
	for _, e := range slices.Concat(b.turns[turn{index: i}], b.turns[turn{index: i, n: end}]) {
		switch {
		case !e.Kind.Row().Lane.On(lifecycle.LaneMessage):
		case e.Kind != lifecycle.PublishAttempted:
			lane.Marks = append(lane.Marks, b.mark(e, kindLook(e.Kind)))
			generation = max(generation, e.Detail.Generation)
		case b.caught[e.ID]:
			lane.Marks = append(lane.Marks, b.mark(e, caughtLook))
			caught++
		}
	}
	lane.Marks = spread(lane.Marks)
	lane.messageLabel(caught, generation)
}

func (b *builder) attemptMarks(lane *Lane, events []lifecycle.Event) {
	var marks []Mark
	for _, e := range events {
		switch on := e.Kind.Row().Lane; {
		case on.On(lifecycle.LaneBeats):
			lane.Beats = append(lane.Beats, b.scale.x(e.At))
		case on.On(lifecycle.LaneAttempt):
			marks = append(marks, b.attemptMark(e))
		}
	}
	lane.Beats = thinBeats(lane.Beats)
	lane.Marks = append(lane.Marks, spread(marks)...)
}

// attemptMark marks an event at its time; one about a deadline is marked low, at the deadline.
func (b *builder) attemptMark(e lifecycle.Event) Mark {
	mk := b.mark(e, kindLook(e.Kind))
	if e.Detail.Deadline.Known() {
		mk.X, mk.Low = b.scale.x(e.Detail.Deadline), true
	}
	return mk
}

// spread moves marks beside each other where they would cover each other. Where too many stand at one place, one stands for all with
// their number. static/js/spread.js does the same for a stretched picture.
func spread(marks []Mark) []Mark {
	slices.SortStableFunc(marks, func(a, b Mark) int { return int(min(1, max(-1, 1e9*(a.X-b.X)))) })
	for _, low := range []bool{true, false} {
		var row []*Mark
		for i := range marks {
			if marks[i].Low == low {
				row = append(row, &marks[i])
			}
		}
		spreadRow(row)
	}
	return marks
}

const (
	markGap    = 18 // Marks are this far apart at least, in pixels.
	markEdge   = 9  // And this far from the edges.
	mostSpread = 4  // So many are moved beside each other at one place.
)

func spreadRow(row []*Mark) {
	blocks := crowds(row)
	for _, c := range blocks {
		if len(c.marks) > mostSpread {
			c.fold()
			spreadRow(unfolded(row))
			return
		}
	}
	for _, c := range blocks {
		for i, m := range c.marks {
			m.Dx = c.at + float64(i)*markGap - m.X*laneWidth
		}
	}
}

func unfolded(row []*Mark) []*Mark {
	return slices.DeleteFunc(slices.Clone(row), func(m *Mark) bool { return m.Folded })
}

// crowd is a run of marks that stand side by side; at is the place of the first, in pixels.
type crowd struct {
	marks []*Mark
	at    float64
}

// crowds puts marks side by side, as near to their places as they can be: runs that would overlap become one.
func crowds(row []*Mark) []crowd {
	var out []crowd
	for _, m := range row {
		c := crowd{marks: []*Mark{m}, at: min(max(m.X*laneWidth, markEdge), laneWidth-markEdge)}
		for len(out) > 0 && out[len(out)-1].at+float64(len(out[len(out)-1].marks))*markGap > c.at {
			before := out[len(out)-1]
			out = out[:len(out)-1]
			c = before.with(c)
		}
		out = append(out, c)
	}
	return out
}

// with joins a crowd that follows: the marks are moved by as little as possible in the mean.
func (c crowd) with(o crowd) crowd {
	n, k := float64(len(c.marks)), float64(len(o.marks))
	at := (n*c.at + k*(o.at-n*markGap)) / (n + k)
	return crowd{marks: append(slices.Clone(c.marks), o.marks...), at: max(markEdge, min(at, laneWidth-markEdge-(n+k-1)*markGap))}
}

// fold lets one mark stand for all of the crowd.
func (c crowd) fold() {
	head := slices.MaxFunc(c.marks, func(a, b *Mark) int { return a.Rank - b.Rank })
	n := 0
	for _, m := range c.marks {
		n += max(1, m.N)
		m.Folded, m.N = m != head, 0
	}
	head.N = n
}

// words say what stands at the mark.
func (m Mark) words() string {
	if m.N < 2 {
		return m.Label
	}
	return fmt.Sprintf("%s, and %s near it", m.Label, numbered(int64(m.N-1), "other event", "other events"))
}
