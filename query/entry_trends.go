package query

import (
	"context"
	"slices"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// EntryTrend is when the entries of a group died: [dlqtriage.TrendSteps] steps of [dlqtriage.TrendStep], the last of which ends now.
type EntryTrend struct {
	From  lifecycle.Micros // When the first step begins.
	Steps []TrendStep      // The earliest first.
}

// TrendStep is one of the steps.
type TrendStep struct {
	Count    int64
	Observed Observed // With ObservedNone the count is zero, and says nothing.
}

// EntryTrends says when the entries of groups died, one trend for each of the given groups, which [Service.EntryGroups] made by the same filter and fields.
func (s *Service) EntryTrends(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, groups []dlqtriage.EntryGroup) ([]EntryTrend, error) {
	key := "entry trends "
	for _, field := range by {
		key += string(field) + " "
	}
	all, err := ask(ctx, s.cache, key+f.Values().Encode(), entriesAge, func(ctx context.Context, now lifecycle.Micros) (entryTrends, error) {
		return s.entryTrends(ctx, f, by, now)
	})
	out := make([]EntryTrend, len(groups))
	for i, g := range groups {
		out[i] = all.of(g)
	}
	return out, err
}

// entryTrends are those of all groups.
type entryTrends struct {
	from     lifecycle.Micros
	counts   []dlqtriage.GroupSteps
	observed []Observed // By step.
}

func (s *Service) entryTrends(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, now lifecycle.Micros) (out entryTrends, err error) {
	out.from = now.Add(-2 * dlqtriage.TrendSpan)
	if out.counts, err = s.cfg.Entries.EntrySteps(ctx, f, by, now); err != nil {
		return out, err
	}
	gaps, err := s.openGapsIn(ctx, HistorySpan{From: out.from, To: now})
	if err != nil {
		return out, err
	}
	seen, err := s.FirstSeen(ctx)
	flow := make([]FlowStep, dlqtriage.TrendSteps)
	for i := range flow {
		flow[i].At = out.from.Add(time.Duration(i) * dlqtriage.TrendStep)
		flow[i].End = flow[i].At.Add(dlqtriage.TrendStep)
	}
	observe(flow, s.blindNow(gaps, now), seen, now)
	for _, step := range flow {
		out.observed = append(out.observed, step.Observed)
	}
	return out, err
}

// of is the trend of one group. A step in which it died was observed, at least in part.
func (t entryTrends) of(g dlqtriage.EntryGroup) EntryTrend {
	out := EntryTrend{From: t.from, Steps: make([]TrendStep, len(t.observed))}
	at := slices.IndexFunc(t.counts, func(c dlqtriage.GroupSteps) bool { return slices.Equal(c.Values, g.Values) })
	for i := range out.Steps {
		out.Steps[i].Observed = t.observed[i]
		if at >= 0 && t.counts[at].Counts[i] > 0 {
			out.Steps[i].Count = t.counts[at].Counts[i]
			if t.observed[i] == ObservedNone {
				out.Steps[i].Observed = ObservedPart
			}
		}
	}
	return out
}
