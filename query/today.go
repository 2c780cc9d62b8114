package query

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

// Today is what was counted since midnight UTC, by agent.
type Today struct {
	Midnight lifecycle.Micros
	Tally    lifecycle.Tally // Everything that /metrics counts by the day.
}

// todayAge is how long the counts of today are shared.
const todayAge = 5 * time.Second

// Today returns what was counted since midnight UTC. Reading one day stays cheap however long the history is.
func (s *Service) Today(ctx context.Context) (Today, error) {
	return ask(ctx, s.cache, "today", todayAge, func(ctx context.Context, now lifecycle.Micros) (Today, error) {
		midnight := now.Truncate(24 * time.Hour)
		tally, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{
			lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts, lifecycle.MetricDied, lifecycle.MetricDuplicates,
			lifecycle.MetricRenewalsFailed, lifecycle.MetricKeysReused, lifecycle.MetricNoReceipt, lifecycle.MetricSentAgain, lifecycle.MetricMissed,
		}, midnight, midnight.Add(24*time.Hour), true)
		return Today{Midnight: midnight, Tally: tally}, err
	})
}
