package query

import (
	"context"
	"maps"
	"time"

	"fleetglass/lifecycle"
)

// loadAge is how long counts of the last day and hour are shared.
const loadAge = 500 * time.Millisecond

// since is where a span begins that ends with the current hour or minute. Rollups count by the hour or by the minute, so every answer
// about "the last day" covers the same 24 hours.
func since(now lifecycle.Micros, span, step time.Duration) lifecycle.Micros {
	return now.Truncate(step).Add(step - span)
}

// load is what the rollups hold about agents: tasks by state now, the last 24 hours, and the last 60 minutes.
func (s *Service) load(ctx context.Context) (lifecycle.Tally, error) {
	return ask(ctx, s.cache, "load", loadAge, func(ctx context.Context, now lifecycle.Micros) (lifecycle.Tally, error) {
		day, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{
			lifecycle.MetricState, lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts, lifecycle.MetricDied,
			lifecycle.MetricDuplicates, lifecycle.MetricRecorded, lifecycle.MetricReported,
			lifecycle.MetricNoReceipt, lifecycle.MetricSentAgain, lifecycle.MetricMissed, lifecycle.MetricCost, lifecycle.MetricCosted,
		}, since(now, 24*time.Hour, time.Hour), now+1, true)
		if err != nil {
			return nil, err
		}
		hour, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{
			lifecycle.MetricPublishedMin, lifecycle.MetricCompletedMin, lifecycle.MetricFailedMin,
		}, since(now, time.Hour, time.Minute), now+1, true)
		if err != nil {
			return nil, err
		}
		out := maps.Clone(day)
		if out == nil {
			out = lifecycle.Tally{}
		}
		maps.Copy(out, hour)
		return out, nil
	})
}
