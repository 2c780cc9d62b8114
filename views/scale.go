package views

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// scale places instants between 0 and 1. It is linear, or compresses the stretches in which no worker had the task.
type scale struct {
	from, to lifecycle.Micros
	stops    []stop // Empty: linear.
}

type stop struct {
	at lifecycle.Micros
	x  float64
}

// margin is what stays free at both ends, so that marks are not cut off.
const margin = 0.012

func linear(from, to lifecycle.Micros) scale {
	if to <= from {
		to = from.Add(time.Second)
	}
	return scale{from: from, to: to}
}

type interval struct{ from, to lifecycle.Micros }

// squeezed gives each idle stretch at most a twentieth of the width.
func squeezed(from, to lifecycle.Micros, busy []interval) scale {
	s := linear(from, to)
	busy = merged(busy)
	if len(busy) == 0 {
		return s
	}
	var worked time.Duration
	for _, b := range busy {
		worked += b.to.Sub(b.from)
	}
	most := max(worked/20, time.Millisecond)
	weight, at := 0.0, from
	s.stops = []stop{{from, 0}}
	add := func(until lifecycle.Micros, d time.Duration) {
		if until > at {
			weight += float64(d)
			at = until
			s.stops = append(s.stops, stop{at, weight})
		}
	}
	for _, b := range busy {
		add(b.from, min(b.from.Sub(at), most))
		add(b.to, b.to.Sub(max(at, b.from)))
	}
	add(s.to, min(s.to.Sub(at), most))
	for i := range s.stops {
		s.stops[i].x /= max(weight, 1)
	}
	return s
}

func merged(in []interval) []interval {
	slices.SortFunc(in, func(a, b interval) int { return int(min(1, max(-1, a.from-b.from))) })
	var out []interval
	for _, b := range in {
		if b.to <= b.from {
			continue
		}
		if n := len(out); n > 0 && b.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, b.to)
			continue
		}
		out = append(out, b)
	}
	return out
}

// x is the place of an instant, with the margins.
func (s scale) x(at lifecycle.Micros) float64 {
	return margin + (1-2*margin)*min(1, max(0, s.raw(at)))
}

func (s scale) raw(at lifecycle.Micros) float64 {
	if len(s.stops) < 2 {
		return float64(at-s.from) / float64(s.to-s.from)
	}
	for i := 1; i < len(s.stops); i++ {
		if a, b := s.stops[i-1], s.stops[i]; at <= b.at {
			if b.at == a.at {
				return a.x
			}
			return a.x + (b.x-a.x)*float64(at-a.at)/float64(b.at-a.at)
		}
	}
	return 1
}

var steps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour,
}

type axisTick struct {
	X     float64
	Label string
}

// ticks are round times along the axis, at most about ten, in the reader's zone.
func (s scale) ticks(zone *time.Location) []axisTick {
	length := s.to.Sub(s.from)
	step := steps[len(steps)-1]
	for _, c := range steps {
		if length/c <= 11 {
			step = c
			break
		}
	}
	var out []axisTick
	for at := s.from.Truncate(step).Add(step); at < s.to; at = at.Add(step) {
		x := s.x(at)
		if n := len(out); x < 0.03 || x > 0.97 || (n > 0 && x-out[n-1].X < 0.07) {
			continue
		}
		out = append(out, axisTick{x, tickLabel(at.Time().In(zone), step)})
	}
	return out
}

func tickLabel(t time.Time, step time.Duration) string {
	switch {
	case step < time.Second:
		return t.Format("05.000")
	case step < time.Minute:
		return t.Format("15:04:05")
	case step < 12*time.Hour:
		return t.Format("15:04")
	}
	return t.Format("2 Jan 15:04")
}
