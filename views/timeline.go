package views

import (
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// Timeline is a trace laid out as lanes: one for each message and one for each of its attempts. Places are fractions of the axis, so that
// the picture may be stretched.
type Timeline struct {
	Lanes   []Lane
	Height  float64
	Compact bool // Many attempts: low lanes.
	Axis    Axis
	Gaps    []GapMark
	NowX    float64 // Zero: the story is over.
	Caption string
	Span    string // Length of the axis, in words.
	Squeeze bool   // Waiting is compressed.
	Other   string // Address of the other scale.
	Left    int    // Messages or attempts that are not drawn.
	Legend  []LegendItem
}

// Lane is one row. Message lanes head the lanes of their attempts.
type Lane struct {
	Message bool
	Y, H    float64
	Name    string
	Note    string
	Look    look
	Bars    []Bar
	Lease   *leaseLine
	Beats   []float64
	Marks   []Mark
	Label   *EndLabel // Why the attempt ended; nil where nothing is to be said or there is no room.
}

// GapMark is a span in which nothing was observed.
type GapMark struct {
	X, W  float64
	Text  string
	Title string
}

// Heights of lanes, in pixels; the stylesheet has the same.
const (
	axisHeight    = 32
	messageHeight = 36
	attemptHeight = 52
	compactHeight = 26
	manyAttempts  = 12
	maxLanes      = 120
	maxBeats      = 60
)

// laneWidth is the least width of the lanes, in pixels; the stylesheet has the same. Marks and labels are placed so that they stand clear of
// each other at this width, and with it at every larger one.
const laneWidth = 736

// LayoutTimeline places a trace. Events give heartbeats and what the facts do not keep one by one; href is the address of an event.
func LayoutTimeline(t lifecycle.Trace, events []Placed, zone *time.Location, squeeze bool, href func(lifecycle.EventID) string) Timeline {
	b := builder{trace: t, turns: map[turn][]lifecycle.Event{}, href: href, zone: zone, caught: caughtPublishes(t)}
	for _, e := range events {
		b.turns[e.turn()] = append(b.turns[e.turn()], e.Event)
	}
	b.tl.Squeeze = squeeze
	b.scale = b.chooseScale(squeeze)
	n := 0
	for _, m := range t.Messages {
		n += attemptsOfAll(m)
	}
	b.tl.Compact = n > manyAttempts
	b.y = axisHeight
	for i, m := range t.Messages {
		b.message(i, m)
	}
	b.tl.Height = b.y
	b.tl.Axis = b.scale.axis(zone)
	b.gaps()
	if t.Summary.State.Open() && len(t.Messages) > 0 {
		b.tl.NowX = b.scale.x(t.AsOf)
	}
	b.tl.Span = lifecycle.Lasting(b.scale.to.Sub(b.scale.from))
	b.tl.Legend = legendOf(b.tl)
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
type turn struct {
	index, n int
	former   bool   // Of a former incarnation of the consumer.
	consumer string // Whose attempt it is, where several take the message.
}

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
		switch {
		case g.OfBroker():
			text = "the broker was away"
		case g.Repaired:
			text = "read again later"
		}
		b.tl.Gaps = append(b.tl.Gaps, GapMark{X: x1, W: max(0.004, x2-x1), Text: text, Title: g.Source + ": " + Cut(g.Reason, 120)})
	}
}
