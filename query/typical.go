package query

import (
	"context"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// typicalSpan is how far back typical durations look, everywhere: of task types, of agents, and of both.
const typicalSpan = 7 * 24 * time.Hour

// typicalAge is how long typical durations are shared: one more completed task hardly changes those of a week.
const typicalAge = time.Minute

// Typical returns how long tasks take that completed in the last seven days, by task type.
func (s *Service) Typical(ctx context.Context) (map[string]lifecycle.Typical, error) {
	return ask(ctx, s.cache, "typical", typicalAge, func(ctx context.Context, now lifecycle.Micros) (map[string]lifecycle.Typical, error) {
		running, err := s.running(ctx, now, false)
		return lifecycle.TypicalDurations(running), err
	})
}

// durations are the running times of one agent.
type durations struct {
	all    lifecycle.Typical
	byType map[string]lifecycle.Typical
}

// agentDurations returns how long the tasks of each agent take that completed in the last seven days.
func (s *Service) agentDurations(ctx context.Context) (map[string]durations, error) {
	return ask(ctx, s.cache, "durations of agents", typicalAge, func(ctx context.Context, now lifecycle.Micros) (map[string]durations, error) {
		running, err := s.running(ctx, now, true)
		if err != nil {
			return nil, err
		}
		out := map[string]durations{}
		for agent, cells := range byAgent(running) {
			out[agent] = durations{all: typicalOverAll(cells), byType: lifecycle.TypicalDurations(cells)}
		}
		return out, nil
	})
}

func (s *Service) running(ctx context.Context, now lifecycle.Micros, byAgent bool) (lifecycle.Tally, error) {
	return s.cfg.Store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricRunning}, since(now, typicalSpan, time.Hour), now+1, byAgent)
}

// byAgent parts cells by agent.
func byAgent(t lifecycle.Tally) map[string]lifecycle.Tally {
	out := map[string]lifecycle.Tally{}
	for c, n := range t {
		if out[c.Agent] == nil {
			out[c.Agent] = lifecycle.Tally{}
		}
		out[c.Agent][c] = n
	}
	return out
}

// typicalOverAll is the distribution over all task types.
func typicalOverAll(t lifecycle.Tally) lifecycle.Typical {
	merged := lifecycle.Tally{}
	for c, n := range t {
		if i := strings.LastIndexByte(c.Label, '|'); c.Metric == lifecycle.MetricRunning && i >= 0 {
			merged[lifecycle.Cell{Metric: c.Metric, Label: c.Label[i:]}] += n
		}
	}
	return lifecycle.TypicalDurations(merged)[""]
}
