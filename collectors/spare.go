package collectors

import "sync"

// spare keeps slices that are done with for the next batches, so that a backlog does not leave a slice of events behind for each one.
// Those that nobody takes for a while are freed.
type spare[T any] struct{ pool sync.Pool }

// take returns an empty slice with room for n at least.
func (s *spare[T]) take(n int) []T {
	if kept, ok := s.pool.Get().(*[]T); ok && cap(*kept) >= n {
		return *kept
	}
	return make([]T, 0, n)
}

// give takes back a slice that nobody refers to any more, nor to any other that shares its array.
func (s *spare[T]) give(done []T) {
	if cap(done) == 0 {
		return
	}
	clear(done)
	done = done[:0]
	s.pool.Put(&done)
}
