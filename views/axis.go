package views

import (
	"fmt"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// Axis is the axis of a timeline, written for people and for static/js/axis.js, which writes it anew for a stretched picture.
type Axis struct {
	Ticks  []AxisTick
	Breaks []AxisBreak
	Stops  string // Pairs of microseconds since the epoch and places, between which the axis is linear.
	Zone   string // Name of the reader's time zone.
}

// AxisTick is a round time.
type AxisTick struct {
	X     float64
	Label string
	Day   string // The date, where it is another one than that of the tick before.
}

// AxisBreak is waiting that is compressed.
type AxisBreak struct {
	X, W  float64
	Title string
}

func (s scale) axis(zone *time.Location) Axis {
	a := Axis{Ticks: s.ticks(zone), Zone: zone.String()}
	var stops []string
	for i, p := range s.stops {
		stops = append(stops, fmt.Sprintf("%d:%.7f", p.at, s.x(p.at)))
		if p.idle {
			from := s.stops[i-1].at
			a.Breaks = append(a.Breaks, AxisBreak{X: s.x(from), W: s.x(p.at) - s.x(from), Title: lifecycle.Lasting(p.at.Sub(from)) + " in which no worker had the task, compressed"})
		}
	}
	a.Stops = strings.Join(stops, " ")
	return a
}

var steps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour,
}

// ticks are round times along the axis in the reader's zone, as near to each other as their words allow.
func (s scale) ticks(zone *time.Location) []AxisTick {
	var out []AxisTick
	day, end := "", 0.0
	for i := 1; i < len(s.stops); i++ {
		from, to := s.stops[i-1].at, s.stops[i].at
		step := stepFor(to.Sub(from), (s.x(to)-s.x(from))*laneWidth)
		_, offset := from.Time().In(zone).Zone()
		shift := time.Duration(offset) * time.Second
		for at := from.Add(shift).Truncate(step).Add(step - shift); at <= to; at = at.Add(step) {
			t := at.Time().In(zone)
			tick := AxisTick{X: s.x(at), Label: t.Format(tickFormat(step))}
			half := tickRoom(step) / 2 / laneWidth
			if tick.X-half < end || tick.X+half > 1 {
				continue
			}
			if d := t.Format("2 Jan"); d != day {
				day, tick.Day = d, d
			}
			end = tick.X + half
			out = append(out, tick)
		}
	}
	return out
}

// stepFor is the shortest step whose ticks have room for their words, on so many pixels.
func stepFor(length time.Duration, pixels float64) time.Duration {
	for _, step := range steps {
		if float64(length)/float64(step)*tickRoom(step) <= pixels {
			return step
		}
	}
	return max(steps[len(steps)-1], length.Truncate(24*time.Hour)+24*time.Hour)
}

func tickFormat(step time.Duration) string {
	switch {
	case step < time.Second:
		return "15:04:05.000"
	case step < time.Minute:
		return "15:04:05"
	}
	return "15:04"
}

// tickRoom is how much room a tick takes, in pixels.
func tickRoom(step time.Duration) float64 { return float64(len(tickFormat(step)))*letter + 30 }
