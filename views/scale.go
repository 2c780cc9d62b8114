package views

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// scale places instants between 0 and 1. It is linear, or compresses the stretches in which no worker had the task.
type scale struct {
	from, to lifecycle.Micros
	stops    []stop // At least two; between two of them it is linear.
}

type stop struct {
	at   lifecycle.Micros
	x    float64
	idle bool // What lies before it is compressed.
}

// margin is what stays free at both ends, so that marks are not cut off.
const margin = 0.012

// shortest is the shortest axis: one of microseconds would have no round time on it, and its last mark at the far end.
const shortest = 10 * time.Millisecond

func linear(from, to lifecycle.Micros) scale {
	to = max(to, from.Add(shortest))
	return scale{from: from, to: to, stops: []stop{{at: from}, {at: to, x: 1}}}
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
	s.stops = []stop{{at: from}}
	add := func(until lifecycle.Micros, d time.Duration, idle bool) {
		if until > at {
			weight += float64(d)
			at = until
			s.stops = append(s.stops, stop{at: at, x: weight, idle: idle})
		}
	}
	for _, b := range busy {
		add(b.from, min(b.from.Sub(at), most), b.from.Sub(at) > most)
		add(b.to, b.to.Sub(max(at, b.from)), false)
	}
	add(s.to, min(s.to.Sub(at), most), s.to.Sub(at) > most)
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
