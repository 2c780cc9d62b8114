package query

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

// consumersAge is how long the state of the consumers is shared. The synchronizer fetches it every few seconds.
const consumersAge = 500 * time.Millisecond

// Consumers are the durable consumers that are known, ordered by stream and name.
type Consumers struct {
	All    []lifecycle.ConsumerState
	byName map[consumerKey]*lifecycle.ConsumerState
}

type consumerKey struct {
	stream lifecycle.StreamID
	name   string
}

// Of returns what is known of a consumer, or nil.
func (c Consumers) Of(stream lifecycle.StreamID, name string) *lifecycle.ConsumerState {
	return c.byName[consumerKey{stream, name}]
}

// MaxDeliver is how often a consumer delivers a message at most; zero when that is not known or without limit.
func (c Consumers) MaxDeliver(stream lifecycle.StreamID, name string) int {
	if found := c.Of(stream, name); found != nil {
		return max(0, found.MaxDeliver)
	}
	return 0
}

// Consumers returns the last known state of every consumer.
func (s *Service) Consumers(ctx context.Context) (Consumers, error) {
	return ask(ctx, s.cache, "consumers", consumersAge, func(ctx context.Context, _ lifecycle.Micros) (Consumers, error) {
		all, err := s.cfg.Store.Consumers(ctx)
		if err != nil {
			return Consumers{}, err
		}
		out := Consumers{All: all, byName: make(map[consumerKey]*lifecycle.ConsumerState, len(all))}
		for i := range all {
			out.byName[consumerKey{all[i].Stream, all[i].Name}] = &all[i]
		}
		return out, nil
	})
}
