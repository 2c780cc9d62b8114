package query

import (
	"context"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// Bounds of the search for corrections.
const (
	maxCorrected   = 5000 // Entries that are looked at, those that died last.
	correctionsAge = 10 * time.Second
)

// Corrections returns what people said of why messages died, as far as the last [maxCorrected] entries tell; at most [correctionsAge] old.
func (s *Service) Corrections(ctx context.Context) ([]dlqtriage.Correction, error) {
	return ask(ctx, s.cache, "corrections", correctionsAge, func(ctx context.Context, _ lifecycle.Micros) ([]dlqtriage.Correction, error) {
		var out []dlqtriage.Correction
		page := dlqtriage.EntryPageRequest{Limit: 500}
		for seen := 0; seen < maxCorrected; seen += page.Limit {
			found, err := s.cfg.Entries.Entries(ctx, dlqtriage.EntryFilter{}, page)
			if err != nil {
				return nil, err
			}
			for _, e := range found.Entries {
				if c, corrected := dlqtriage.CorrectionOf(e); corrected {
					out = append(out, c)
				}
			}
			if page.From = found.Next; page.From == nil {
				break
			}
		}
		return out, nil
	})
}
