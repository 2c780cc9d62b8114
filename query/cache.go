package query

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"fleetglass/lifecycle"
)

// Bounds of the cache.
const (
	maxAnswers    = 256              // Answers kept; the least recently used one is dropped first.
	longestAnswer = 30 * time.Second // A computation that takes longer is cancelled, because every caller has given up by then.

	costly   = 100 * time.Millisecond // An answer that costs more is given for as long as [shownFor] while the next one is computed.
	shownFor = 15 * time.Second
)

// cache keeps answers for a while. An answer that several callers ask for at the same time is computed once. A caller that cancels, or
// whose deadline passes, does not end the computation for the others.
type cache struct {
	now     func() lifecycle.Micros
	answers *lru.Cache[string, answer]
	flights singleflight.Group

	detach  func(context.Context) (context.Context, context.CancelFunc)
	stop    context.CancelFunc
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// answer is a value and the time at which its computation began.
type answer struct {
	at    lifecycle.Micros
	value any
	cost  time.Duration // Of its computation.
}

// fresh reports whether the answer is not older than age. One from the future is not: the clock was set back.
func (a answer) fresh(now lifecycle.Micros, age time.Duration) bool {
	return a.at.Known() && now >= a.at && now.Sub(a.at) < age
}

func newCache(now func() lifecycle.Micros) (*cache, error) {
	answers, err := lru.New[string, answer](maxAnswers)
	if err != nil {
		return nil, err
	}
	root, stop := context.WithCancel(context.Background())
	c := &cache{now: now, answers: answers, stop: stop}
	c.detach = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestAnswer)
		unlink := context.AfterFunc(root, cancel)
		return ctx, func() { unlink(); cancel() }
	}
	return c, nil
}

// close ends the computations that run and waits for them. It is idempotent.
func (c *cache) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.running.Wait()
}

// begin counts a computation as running. It returns false once the cache is closed.
func (c *cache) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Add(1)
	return true
}

// ask returns the answer under key if it is at most age old, and else computes it. It errors with the error of the computation, which is
// not cached, or with the error of ctx when that ends first.
func ask[T any](ctx context.Context, c *cache, key string, age time.Duration, compute func(context.Context, lifecycle.Micros) (T, error)) (T, error) {
	var zero T
	now := c.now()
	for {
		if a, found := c.answers.Get(key); found && a.fresh(now, age) {
			return a.value.(T), nil
		}
		flight := c.flights.DoChan(key, func() (any, error) {
			return c.compute(ctx, key, func(ctx context.Context, at lifecycle.Micros) (any, error) { return compute(ctx, at) })
		})
		select {
		case <-ctx.Done():
			return zero, ctx.Err()
		case done := <-flight:
			if done.Err != nil {
				return zero, done.Err
			}
			if a := done.Val.(answer); a.fresh(now, age) || a.at >= now {
				return a.value.(T), nil
			} // It began too long before this reader asked; the next one begins after.
		}
	}
}

// askAhead is ask for answers that may cost much: one that was costly is given again, up to [shownFor], while the next one is computed, so that nobody waits
// for it.
func askAhead[T any](ctx context.Context, c *cache, key string, age time.Duration, compute func(context.Context, lifecycle.Micros) (T, error)) (T, error) {
	now := c.now()
	a, found := c.answers.Get(key)
	if !found || a.cost < costly || a.fresh(now, age) || !a.fresh(now, shownFor) {
		return ask(ctx, c, key, age, compute)
	}
	c.flights.DoChan(key, func() (any, error) {
		return c.compute(ctx, key, func(ctx context.Context, at lifecycle.Micros) (any, error) { return compute(ctx, at) })
	})
	return a.value.(T), nil
}

// compute computes an answer and keeps it. A panic becomes an error, because no request's handler would recover it.
func (c *cache) compute(ctx context.Context, key string, compute func(context.Context, lifecycle.Micros) (any, error)) (_ any, err error) {
	if !c.begin() {
		return nil, lifecycle.ErrClosed
	}
	defer c.running.Done()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("answer %q: panic: %v\n%s", key, p, debug.Stack())
		}
	}()
	ctx, cancel := c.detach(ctx)
	defer cancel()
	a, began := answer{at: c.now()}, time.Now()
	if a.value, err = compute(ctx, a.at); err != nil {
		return nil, err
	}
	a.cost = time.Since(began)
	c.answers.Add(key, a)
	return a, nil
}
