package query

import (
	"context"
	"fmt"
	"runtime"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// queueFor is how many heavy questions may wait for each one that is answered.
const queueFor = 32

// gate lets few heavy questions run at once. The others wait, and meanwhile plain questions find processors and connections free.
type gate struct {
	running chan struct{} // Holds one for each that runs.
	all     chan struct{} // And one for each that runs or waits.
}

func newGate(atOnce int) *gate {
	return &gate{running: make(chan struct{}, atOnce), all: make(chan struct{}, atOnce*(1+queueFor))}
}

// heavyAtOnce leaves half of the processors to plain questions.
func heavyAtOnce() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// enter waits until a heavy question may run. It errors with [lifecycle.ErrCrowded] where too many wait already, and when ctx is done.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.all <- struct{}{}:
	default:
		return nil, fmt.Errorf("%d heavy questions: %w", cap(g.all), lifecycle.ErrCrowded)
	}
	select {
	case g.running <- struct{}{}:
		return func() { <-g.running; <-g.all }, nil
	case <-ctx.Done():
		<-g.all
		return nil, ctx.Err()
	}
}

// gatedStore is a store whose heavy questions pass a gate: those that look at row after row because no index finds what they ask for.
type gatedStore struct {
	Store
	gate *gate
}

// ListTasks is that of the store.
func (s gatedStore) ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error) {
	if f.Scans() {
		leave, err := s.gate.enter(ctx)
		if err != nil {
			return lifecycle.TaskPage{}, err
		}
		defer leave()
	}
	return s.Store.ListTasks(ctx, f, p)
}

// CountTasks is that of the store.
func (s gatedStore) CountTasks(ctx context.Context, f lifecycle.Filter) (counts map[lifecycle.State]int64, capped bool, err error) {
	if f.Scans() {
		leave, err := s.gate.enter(ctx)
		if err != nil {
			return nil, false, err
		}
		defer leave()
	}
	return s.Store.CountTasks(ctx, f)
}

// gatedEntries does the same for dead-letter entries.
type gatedEntries struct {
	EntryStore
	gate *gate
}

// Entries is that of the store.
func (s gatedEntries) Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error) {
	if len(f.Words)+len(f.Not.Words) > 0 {
		leave, err := s.gate.enter(ctx)
		if err != nil {
			return dlqtriage.EntryPage{}, err
		}
		defer leave()
	}
	return s.EntryStore.Entries(ctx, f, p)
}

// CountEntries is that of the store.
func (s gatedEntries) CountEntries(ctx context.Context, f dlqtriage.EntryFilter) (int64, error) {
	if len(f.Words)+len(f.Not.Words) > 0 {
		leave, err := s.gate.enter(ctx)
		if err != nil {
			return 0, err
		}
		defer leave()
	}
	return s.EntryStore.CountEntries(ctx, f)
}
