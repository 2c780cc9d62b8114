package query

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// History is the fleet over time, from the rollups: what came and went, what waited, how long tasks ran and why messages died.
type History struct {
	AsOf  lifecycle.Micros
	Span  HistorySpan
	Agent string     // Empty for all of them.
	Flow  []FlowStep // Oldest first, without holes.
	Runs  RunHistory
	Died  DeathHistory
	Costs CostHistory
	Gaps  []lifecycle.Gap // Those in the span that were not repaired, latest first.
}

// FlowStep is what came and went in one step of time.
type FlowStep struct {
	At, End              lifecycle.Micros
	Published, Completed int64            // Stored messages; acknowledged tasks.
	Failed               map[string]int64 // Attempts that ended without success, by how they ended.
	Depth                int64            // The queue at the end of the step, or now in the last one: messages that are stored and have not ended.
	DepthKnown           bool             // False where nothing was observed at that time.
	Observed             Observed
}

// FailedAttempts counts the attempts that ended without success, however they ended.
func (s FlowStep) FailedAttempts() int64 {
	var n int64
	for _, failed := range s.Failed {
		n += failed
	}
	return n
}

// historyAge is how long a history is shared. A day does not change in a second.
func historyAge(span HistorySpan) time.Duration {
	return min(max(500*time.Millisecond, span.Step/600), 10*time.Second)
}

// History returns the fleet over a span: of one agent, or of all when agent is empty.
func (s *Service) History(ctx context.Context, span HistorySpan, agent string) (History, error) {
	key := fmt.Sprintf("history %d %d %v %s", span.From, span.To, span.Step, agent)
	return ask(ctx, s.cache, key, historyAge(span), func(ctx context.Context, now lifecycle.Micros) (out History, err error) {
		out = History{AsOf: now, Span: span, Agent: agent}
		seen, gaps, err := s.observation(ctx, span.From, span.To)
		if err != nil {
			return out, err
		}
		out.Gaps = gaps
		if out.Flow, err = s.flow(ctx, span, agent, seen); err != nil {
			return out, err
		}
		depth, err := s.depth(ctx, span, agent)
		if err != nil {
			return out, err
		}
		setDepth(out.Flow, depth, seen)
		if out.Runs, err = s.runs(ctx, span, agent); err != nil {
			return out, err
		}
		if out.Costs, err = s.costs(ctx, span, agent); err != nil {
			return out, err
		}
		out.Died, err = s.deaths(ctx, span, agent)
		return out, err
	})
}

// flow counts what came and went in each step, and says how much of it was observed.
func (s *Service) flow(ctx context.Context, span HistorySpan, agent string, seen observation) ([]FlowStep, error) {
	published, completed, failed := lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts
	if span.minutes() {
		published, completed, failed = lifecycle.MetricPublishedMin, lifecycle.MetricCompletedMin, lifecycle.MetricFailedMin
	}
	cells, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{published, completed, failed}, span.From, span.To, agent != "")
	if err != nil {
		return nil, err
	}
	out := make([]FlowStep, span.Steps())
	for i := range out {
		at := span.At(i)
		out[i] = FlowStep{At: at, End: at.Add(span.Step), Failed: map[string]int64{}}
	}
	for c, n := range cells {
		i, inside := span.step(c.Bucket)
		if !inside || (agent != "" && c.Agent != agent) {
			continue
		}
		switch c.Metric {
		case published:
			out[i].Published += n
		case completed:
			out[i].Completed += n
		case failed:
			out[i].Failed[c.Label] += n
		}
	}
	for i := range out {
		f := &out[i]
		f.Observed = seen.of(f.At, f.End, f.Published+f.Completed+f.FailedAttempts() > 0)
	}
	return out, nil
}
