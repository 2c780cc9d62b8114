package query

import (
	"context"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// consumersAge is how long the state of the consumers is shared. The synchronizer fetches it every few seconds.
const consumersAge = 500 * time.Millisecond

// Consumers are the durable consumers that are known, ordered by stream and name.
type Consumers struct {
	All    []lifecycle.ConsumerState
	SeenAt lifecycle.Micros // Up to when they were looked at.
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

// Allowed is how many attempts a task's newest message may have: by its consumer, or by those that take its subject while it has none. It is zero where that
// is not known or without limit.
func (c Consumers) Allowed(t lifecycle.TaskSummary) int {
	if t.Consumer != "" {
		return c.MaxDeliver(t.Message.Stream, t.Consumer)
	}
	if t.Agent == "" || t.Type == "" || t.Message.IsZero() {
		return 0
	}
	return lifecycle.Allowed(c.All, t.Message.Stream, func(filters []string) bool {
		return len(filters) == 0 || slices.ContainsFunc(filters, func(f string) bool { return lifecycle.MatchesAny([]string{f}, subjectBeside(f, t)) })
	})
}

// subjectBeside is the subject of a task's message under the prefix of a filter: of a summary only agent and type are known.
func subjectBeside(filter string, t lifecycle.TaskSummary) string {
	prefix, _, found := strings.Cut(filter, ".agents.")
	if !found {
		prefix, _, _ = strings.Cut(filter, ".")
	}
	return prefix + ".agents." + t.Agent + ".tasks." + t.Type
}

// Consumers returns the last known state of every consumer.
func (s *Service) Consumers(ctx context.Context) (Consumers, error) {
	return ask(ctx, s.cache, "consumers", consumersAge, func(ctx context.Context, now lifecycle.Micros) (Consumers, error) {
		seen := readBy(consumerSource, s.Parts(), now)
		all, err := s.cfg.Store.Consumers(ctx)
		if err != nil {
			return Consumers{}, err
		}
		out := Consumers{All: all, SeenAt: seen, byName: make(map[consumerKey]*lifecycle.ConsumerState, len(all))}
		for i := range all {
			out.byName[consumerKey{all[i].Stream, all[i].Name}] = &all[i]
		}
		return out, nil
	})
}
