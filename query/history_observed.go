package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// Observed says how much of a step was observed.
type Observed string

// How much of a step was observed.
const (
	ObservedAll  Observed = "all"
	ObservedPart Observed = "part" // Lines were lost in it: counts are lower bounds.
	ObservedNone Observed = "none" // All of it lies in a gap, or before the first message that is known: no count means anything.
)

// ObservedTogether says how much of several steps was observed.
func ObservedTogether(steps []Observed) Observed {
	for _, s := range steps {
		if s != steps[0] {
			return ObservedPart
		}
	}
	if len(steps) == 0 {
		return ObservedNone
	}
	return steps[0]
}

// observation is what can be said of steps of time: when lines were lost or are not read yet, and when the first known message was stored.
type observation struct {
	blind     blind
	away      blind // Blind, and when the broker was away. No line was lost then: a step that is in it only in part is counted in full.
	seen, now lifecycle.Micros
}

// observation returns it for a span, with the gaps of that span that were not repaired, and in which nothing was observed of any stream.
func (s *Service) observation(ctx context.Context, from, to lifecycle.Micros) (out observation, gaps []lifecycle.Gap, err error) {
	now := s.now()
	all, err := s.cfg.Store.Gaps(ctx, from, to, maxGaps)
	if err != nil {
		return out, nil, err
	}
	out = s.observed(all, now)
	out.seen, err = s.FirstSeen(ctx)
	return out, blinding(all), err
}

// observed is what gaps leave of the time before now.
func (s *Service) observed(gaps []lifecycle.Gap, now lifecycle.Micros) observation {
	lost := blinding(gaps)
	away := append(slices.Clone(lost), ofBroker(gaps)...)
	return observation{blind: s.blindNow(lost, now), away: s.blindNow(away, now), now: now}
}

// of says how much of a step was observed. Of one in which something was counted that is a part at least.
func (o observation) of(at, end lifecycle.Micros, counted bool) Observed {
	to := min(end, o.now)
	switch {
	case !o.seen.Known(), end <= o.seen, at > o.now, o.away.covers(at, to):
		if counted {
			return ObservedPart
		}
		return ObservedNone
	case o.blind.overlaps(at, to):
		return ObservedPart
	}
	return ObservedAll
}

// setDepth sets the depth of the queue where it is known: at the end of a step, in the last one now.
func setDepth(steps []FlowStep, depth []int64, o observation) {
	for i := range steps {
		s := &steps[i]
		end := min(s.End, o.now)
		s.DepthKnown = s.Observed != ObservedNone && !o.blind.overlaps(end-1, end)
		if s.DepthKnown {
			s.Depth = depth[i]
		}
	}
}

// observedBuckets says how much of each bucket between the bounds was observed. counted says that something was counted in one.
func (s *Service) observedBuckets(ctx context.Context, bounds []lifecycle.Micros, counted func(i int) bool) ([]Observed, error) {
	seen, _, err := s.observation(ctx, bounds[0], bounds[len(bounds)-1])
	out := make([]Observed, len(bounds)-1)
	for i := range out {
		out[i] = seen.of(bounds[i], bounds[i+1], counted(i))
	}
	return out, err
}

// blind are spans in which something was not observed. They do not overlap, and ascend.
type blind []struct{ from, to lifecycle.Micros }

// blindSpans joins gaps. One that is still open ends now.
func blindSpans(gaps []lifecycle.Gap, now lifecycle.Micros) blind {
	var all blind
	for _, g := range gaps {
		to := g.To
		if !to.Known() {
			to = now
		}
		all = append(all, struct{ from, to lifecycle.Micros }{g.From, to})
	}
	slices.SortFunc(all, func(a, b struct{ from, to lifecycle.Micros }) int { return cmp.Compare(a.from, b.from) })
	out := all[:0]
	for _, b := range all {
		if n := len(out); n > 0 && b.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, b.to)
			continue
		}
		out = append(out, b)
	}
	return out
}

func (b blind) covers(from, to lifecycle.Micros) bool {
	for _, g := range b {
		if g.from <= from && g.to >= to {
			return true
		}
	}
	return false
}

func (b blind) overlaps(from, to lifecycle.Micros) bool {
	for _, g := range b {
		if g.from < to && g.to > from {
			return true
		}
	}
	return false
}

// blinding are the gaps that were not repaired, and in which nothing was observed of any stream.
func blinding(gaps []lifecycle.Gap) []lifecycle.Gap {
	return slices.DeleteFunc(OpenGaps(gaps), func(g lifecycle.Gap) bool { return !g.Everywhere() && !g.OfClock() })
}

// ofBroker are the gaps in which the broker was away.
func ofBroker(gaps []lifecycle.Gap) []lifecycle.Gap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g lifecycle.Gap) bool { return !g.OfBroker() })
}

// FirstSeen is when the first message that is known was stored, to the minute for two days, then to the hour; zero where none is.
func (s *Service) FirstSeen(ctx context.Context) (lifecycle.Micros, error) {
	return ask(ctx, s.cache, "first seen", typicalAge, func(ctx context.Context, now lifecycle.Micros) (lifecycle.Micros, error) {
		month, err := s.firstBucket(ctx, lifecycle.MetricTasksMonth, 1, now+1)
		if err != nil || !month.Known() {
			return 0, err
		}
		hour, err := s.firstBucket(ctx, lifecycle.MetricTasks, month, month.Add(31*24*time.Hour))
		if err != nil || now.Sub(hour) > lifecycle.MinutesKept-time.Hour {
			return hour, err
		}
		minute, err := s.firstBucket(ctx, lifecycle.MetricPublishedMin, hour, hour.Add(time.Hour))
		return max(hour, minute), err
	})
}

func (s *Service) firstBucket(ctx context.Context, metric lifecycle.Metric, from, to lifecycle.Micros) (first lifecycle.Micros, err error) {
	cells, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{metric}, from, to, false)
	for c := range cells {
		if !first.Known() || c.Bucket < first {
			first = c.Bucket
		}
	}
	return first, err
}
