package collectors

import "sync"

// slicesKept is how many slices are kept: one is filled while the other is committed.
const slicesKept = 2

// slicePool keeps slices that are done with for the next batches, so that a backlog does not leave slices of events behind for each one.
// Slices that are far larger than what is asked for are let go: the backlog is over.
type slicePool[T any] struct {
	mu   sync.Mutex
	kept [][]T
}

// take returns an empty slice with room for n at least.
func (s *slicePool[T]) take(n int) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	for last := len(s.kept) - 1; last >= 0; last-- {
		found := s.kept[last]
		s.kept = s.kept[:last]
		if c := cap(found); c >= n && c <= 8*n {
			return found
		}
	}
	return make([]T, 0, n)
}

// give takes back a slice that nobody refers to any more, nor to any other that shares its array.
func (s *slicePool[T]) give(done []T) {
	if cap(done) == 0 {
		return
	}
	clear(done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) < slicesKept {
		s.kept = append(s.kept, done[:0])
	}
}
