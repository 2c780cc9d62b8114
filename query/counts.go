package query

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

// StateCounts are tasks by state.
type StateCounts struct {
	ByState map[lifecycle.State]int64
	Capped  bool // Only the first [lifecycle.CountLimit] rows were counted: the numbers are lower bounds.
}

// Of adds the counts of some states.
func (c StateCounts) Of(states ...lifecycle.State) int64 {
	var n int64
	for _, s := range states {
		n += c.ByState[s]
	}
	return n
}

// That adds the counts of the states that have a trait.
func (c StateCounts) That(have func(lifecycle.State) bool) int64 {
	return c.Of(lifecycle.StatesThat(have)...)
}

// Total is all tasks.
func (c StateCounts) Total() int64 { return c.Of(lifecycle.States()...) }

// Counts returns the tasks that a filter selects by state; it ignores the states of the filter.
func (s *Service) Counts(ctx context.Context, f lifecycle.Filter) (StateCounts, error) {
	counts, capped, err := s.cfg.Store.CountTasks(ctx, f)
	return StateCounts{ByState: counts, Capped: capped}, err
}

// CountsAge is how long the counts of all tasks, and the values that filters offer, are shared.
const CountsAge = 500 * time.Millisecond

// AllCounts returns all tasks by state.
func (s *Service) AllCounts(ctx context.Context) (StateCounts, error) {
	return ask(ctx, s.cache, "counts", CountsAge, func(ctx context.Context, _ lifecycle.Micros) (StateCounts, error) {
		return s.Counts(ctx, lifecycle.Filter{})
	})
}

// Facets returns the values that the filters of lists offer.
func (s *Service) Facets(ctx context.Context) (lifecycle.Facets, error) {
	return ask(ctx, s.cache, "facets", CountsAge, func(ctx context.Context, _ lifecycle.Micros) (lifecycle.Facets, error) {
		facets, err := s.cfg.Store.Facets(ctx)
		delete(facets.Types, lifecycle.OtherNames) // No task has that type.
		return facets, err
	})
}
