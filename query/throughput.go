package query

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// throughputAge is how long a chart is shared.
const throughputAge = 500 * time.Millisecond

// Throughput returns what came and went in a span that ends now, in the steps of [LastHistory], oldest first: of one agent, or of all when agent is empty.
// The depth of the queue is not computed.
func (s *Service) Throughput(ctx context.Context, length time.Duration, agent string) ([]FlowStep, error) {
	return ask(ctx, s.cache, fmt.Sprintf("throughput %v %s", length, agent), throughputAge, func(ctx context.Context, now lifecycle.Micros) ([]FlowStep, error) {
		span := LastHistory(now, length)
		seen, _, err := s.observation(ctx, span.From, span.To)
		if err != nil {
			return nil, err
		}
		return s.flow(ctx, span, agent, seen)
	})
}
