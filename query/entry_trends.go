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
	from   lifecycle.Micros
	counts []dlqtriage.GroupSteps
	seen   observation
}

func (s *Service) entryTrends(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, now lifecycle.Micros) (out entryTrends, err error) {
	out.from = now.Add(-2 * dlqtriage.TrendSpan)
	if out.counts, err = s.cfg.Entries.EntrySteps(ctx, f, by, now); err != nil {
		return out, err
	}
	out.seen, _, err = s.observation(ctx, out.from, now)
	return out, err
}

// of is the trend of one group.
func (t entryTrends) of(g dlqtriage.EntryGroup) EntryTrend {
	out := EntryTrend{From: t.from, Steps: make([]TrendStep, dlqtriage.TrendSteps)}
	group := slices.IndexFunc(t.counts, func(c dlqtriage.GroupSteps) bool { return slices.Equal(c.Values, g.Values) })
	for i := range out.Steps {
		step, at := &out.Steps[i], t.from.Add(time.Duration(i)*dlqtriage.TrendStep)
		if group >= 0 {
			step.Count = t.counts[group].Counts[i]
		}
		step.Observed = t.seen.of(at, at.Add(dlqtriage.TrendStep), step.Count > 0)
	}
	return out
}
