package query

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// ThroughputStep is one step of a chart over time.
type ThroughputStep struct {
	At                lifecycle.Micros // Its beginning.
	Completed, Failed int64            // Completed tasks and failed attempts.
}

// throughputAge is how long a chart is shared.
const throughputAge = 500 * time.Millisecond

// Throughput returns the last span in steps, oldest first, empty ones included: of one agent, or of all when agent is empty. Steps below
// an hour are read from the counters of minutes, which reach back two days.
func (s *Service) Throughput(ctx context.Context, span, step time.Duration, agent string) ([]ThroughputStep, error) {
	key := fmt.Sprintf("throughput %v %v %s", span, step, agent)
	return ask(ctx, s.cache, key, throughputAge, func(ctx context.Context, now lifecycle.Micros) ([]ThroughputStep, error) {
		completed, failed := lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts
		if step < time.Hour {
			completed, failed = lifecycle.MetricCompletedMin, lifecycle.MetricFailedMin
		}
		from := since(now, span, step)
		cells, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{completed, failed}, from, now+1, agent != "")
		if err != nil {
			return nil, err
		}
		out := make([]ThroughputStep, span/step)
		for i := range out {
			out[i].At = from.Add(time.Duration(i) * step)
		}
		for c, n := range cells {
			i := int(c.Bucket.Sub(from) / step)
			if i < 0 || i >= len(out) || (agent != "" && c.Agent != agent) {
				continue
			}
			if c.Metric == completed {
				out[i].Completed += n
			} else {
				out[i].Failed += n
			}
		}
		return out, nil
	})
}
