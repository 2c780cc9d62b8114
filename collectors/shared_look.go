package collectors

import (
	"context"
	"sync"
)

// sharedLook lets several callers share one look at the broker. What a caller is told was asked after it came, so whoever comes while a look is under way waits
// for the next one, together with all others that came meanwhile.
type sharedLook struct {
	mu   sync.Mutex
	now  *oneLook // The look that began last; nil before the first.
	next *oneLook // The look that has not begun; nil for none.
}

// oneLook is a look, and what it saw once it is done.
type oneLook struct {
	done   chan struct{}
	saw    Streams
	err    error
	gaveUp bool // Who looked was told to stop. That says nothing of the broker.
}

// join returns what a look that begins after the call saw. The first of those who wait for it looks, with its own context. It errors when the look fails, or
// when the context ends.
func (s *sharedLook) join(ctx context.Context, look func(context.Context) (Streams, error)) (Streams, error) {
	for {
		l, before, first := s.wait()
		if first {
			s.take(ctx, l, before, look)
			return l.saw, l.err
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return Streams{}, ctx.Err()
		}
		if !l.gaveUp { // Else another one looks.
			return l.saw, l.err
		}
	}
}

// wait is the look to wait for, the one before it, and whether the caller is the first to wait.
func (s *sharedLook) wait() (next, before *oneLook, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = s.next == nil; first {
		s.next = &oneLook{done: make(chan struct{})}
	}
	return s.next, s.now, first
}

// take looks, once the look before is over. From its beginning on, callers wait for another one.
func (s *sharedLook) take(ctx context.Context, l, before *oneLook, look func(context.Context) (Streams, error)) {
	defer close(l.done)
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			s.next, l.err, l.gaveUp = nil, ctx.Err(), true
			return
		}
	}
	s.mu.Lock()
	s.now, s.next = l, nil
	s.mu.Unlock()
	l.saw, l.err = look(ctx)
	l.gaveUp = l.err != nil && ctx.Err() != nil
}
