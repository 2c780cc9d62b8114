package storetest

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"fleetglass/lifecycle"
)

var orderTests = []conformanceTest{
	{"events one by one", func(t *testing.T, s Store) { inBatches(t, s, everyScenario(), 1) }},
	{"events one by one, backwards", func(t *testing.T, s Store) { inBatches(t, s, backwards(everyScenario()), 1) }},
	{"events in random order and batches 1", randomOrder(1)},
	{"events in random order and batches 2", randomOrder(2)},
	{"events in random order and batches 3", randomOrder(3)},
	{"concurrent appends on overlapping tasks", concurrent},
}

func inBatches(t *testing.T, s Store, events []lifecycle.Event, size int) {
	for batch := range slices.Chunk(events, size) {
		mustAppend(t, s, batch)
	}
	expectedOf(events).check(t, s)
}

func backwards(events []lifecycle.Event) []lifecycle.Event {
	slices.Reverse(events)
	return events
}

// randomOrder gives the events shuffled, in batches of random size, some of them more than once.
func randomOrder(seed uint64) func(t *testing.T, s Store) {
	return func(t *testing.T, s Store) {
		r := rand.New(rand.NewPCG(seed, 2))
		events := everyScenario()
		for _, batch := range partition(r, events) {
			mustAppend(t, s, batch)
		}
		expectedOf(events).check(t, s)
	}
}

// partition cuts shuffled events into batches of 0 to 12; one event in five is in a second batch as well.
func partition(r *rand.Rand, events []lifecycle.Event) [][]lifecycle.Event {
	all := slices.Clone(events)
	for _, e := range events {
		if r.IntN(5) == 0 {
			all = append(all, e)
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var out [][]lifecycle.Event
	for len(all) > 0 {
		n := min(len(all), r.IntN(13))
		out = append(out, all[:n])
		all = all[n:]
	}
	return out
}

// concurrent appends from many goroutines, whose batches share tasks and events.
func concurrent(t *testing.T, s Store) {
	events := everyScenario()
	var added atomic.Int64
	var work sync.WaitGroup
	for g := range uint64(8) {
		batches := partition(rand.New(rand.NewPCG(g, 3)), events)
		work.Go(func() {
			for _, b := range batches {
				done, err := s.Append(t.Context(), lifecycle.Batch{Events: slices.Clone(b)})
				if err != nil {
					t.Errorf("append: %v", err)
				}
				added.Add(int64(done.New))
			}
		})
	}
	work.Wait()
	if got := added.Load(); got != int64(len(events)) {
		t.Errorf("new events of all appends: got %d, want %d", got, len(events))
	}
	expectedOf(events).check(t, s)
}
