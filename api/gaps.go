package api

import (
	"context"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

// maxGapRefs bounds the gaps beside a list.
const maxGapRefs = 20

// gapRefs lists the gaps between from and to in which something may be missing still. An unknown from means lately; an unknown to
// means now.
func (a *API) gapRefs(ctx context.Context, from, to lifecycle.Micros) ([]GapRef, error) {
	gaps, err := a.cfg.Query.Gaps(ctx, from, to, maxGapRefs)
	if err != nil {
		return nil, err
	}
	return refsOf(gaps), nil
}

// recentGapRefs lists the gaps beside an answer that speaks of now.
func (a *API) recentGapRefs(ctx context.Context) ([]GapRef, error) {
	gaps, err := a.cfg.Query.RecentGaps(ctx)
	if err != nil {
		return nil, err
	}
	refs := refsOf(gaps)
	return refs[:min(len(refs), maxGapRefs)], nil
}

func refsOf(gaps []lifecycle.Gap) []GapRef {
	out := []GapRef{}
	for _, g := range query.OpenGaps(gaps) {
		out = append(out, GapRef{Source: g.Source, From: Instant(g.From), To: Instant(g.To), Reason: Text(g.Reason)})
	}
	return out
}
