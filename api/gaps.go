package api

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

// maxGapRefs bounds the gaps beside a list.
const maxGapRefs = 20

// recently is the span of gaps beside an answer that speaks of now.
const recently = 24 * time.Hour

// gapRefs lists the gaps between from and to in which something may be missing still. An unknown from means lately; an unknown to
// means now.
func (a *API) gapRefs(ctx context.Context, from, to lifecycle.Micros) ([]GapRef, error) {
	now := a.now()
	if !to.Known() {
		to = now
	}
	if !from.Known() {
		from = to.Add(-recently)
	}
	gaps, err := a.cfg.Store.Gaps(ctx, from, max(to, from)+1, maxGapRefs)
	if err != nil {
		return nil, err
	}
	return refsOf(gaps), nil
}

func refsOf(gaps []lifecycle.Gap) []GapRef {
	out := []GapRef{}
	for _, g := range gaps {
		if !g.Repaired {
			out = append(out, GapRef{Source: g.Source, From: Instant(g.From), To: Instant(g.To)})
		}
	}
	return out
}
