package query

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

const (
	recentSpan = 24 * time.Hour         // Gaps of that span concern what is so now.
	recentAge  = 500 * time.Millisecond // How long they are shared.
	maxGaps    = 1000                   // How many gaps one answer has at most, the latest.
)

// Gaps returns the gaps that overlap [from, to), latest first, at most limit, repaired ones included. An unknown to means now; an unknown
// from is a day before to.
func (s *Service) Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error) {
	if !to.Known() {
		to = s.now() + 1
	}
	if !from.Known() {
		from = to.Add(-recentSpan)
	}
	return s.cfg.Store.Gaps(ctx, from, max(to, from+1), min(limit, maxGaps))
}

// RecentGaps returns the gaps of the last 24 hours, latest first, repaired ones included. Every answer about now comes with them.
func (s *Service) RecentGaps(ctx context.Context) ([]lifecycle.Gap, error) {
	return ask(ctx, s.cache, "recent gaps", recentAge, func(ctx context.Context, now lifecycle.Micros) ([]lifecycle.Gap, error) {
		return s.cfg.Store.Gaps(ctx, now.Add(-recentSpan), now+1, maxGaps)
	})
}

// OpenGaps are the gaps that were not repaired: something may still be missing in them.
func OpenGaps(gaps []lifecycle.Gap) []lifecycle.Gap {
	var out []lifecycle.Gap
	for _, g := range gaps {
		if !g.Repaired {
			out = append(out, g)
		}
	}
	return out
}

// Quarantine returns the lines that could not be decoded, latest first, at most limit, and how many there are.
func (s *Service) Quarantine(ctx context.Context, limit int) ([]lifecycle.QuarantinedLine, int64, error) {
	return s.cfg.Store.Quarantine(ctx, limit)
}
