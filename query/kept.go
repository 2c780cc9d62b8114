package query

import (
	"context"

	"fleetglass/lifecycle"
)

// KeptSince is up to when finished tasks may have been deleted by retention: one of which nothing happened since then may be gone, and counts still count it. It is
// zero where no task can have been deleted.
func (s *Service) KeptSince(ctx context.Context) (lifecycle.Micros, error) {
	text, err := s.cfg.Store.Watermark(ctx, lifecycle.WatermarkRetained)
	if err != nil {
		return 0, err
	}
	seen, err := s.FirstSeen(ctx)
	if cutoff := lifecycle.Retained(text); err == nil && seen.Known() && seen < cutoff {
		return cutoff, nil
	}
	return 0, err
}
