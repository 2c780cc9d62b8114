package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

const (
	quotaEvery   = 2 * time.Second
	quotaTimeout = 5 * time.Second
	// quotaRoom is the part of the quota that must be free before lines are taken in again, so that the state does not flutter.
	quotaRoom = 0.03
)

// sized is a store that knows how large it is.
type sized interface {
	Size(ctx context.Context) (int64, error)
}

// quota bounds how much the store holds. Where the bound is reached nothing is taken in any more: lines wait in their capture streams, reports are
// refused, and all that was stored stays readable. Decisions go on, because they are few and somebody waits for them. It continues by itself
// when retention, or somebody who raises the bound, made room.
type quota struct {
	lifecycle.Appender // The store.

	store sized
	most  int64 // Bytes; zero for no bound.
	now   func() time.Time
	log   *slog.Logger
	full  atomic.Bool

	mu   sync.Mutex
	part health.Part
}

// limitStore puts the quota of the settings before a store, and follows its size.
func (a *App) limitStore(ctx context.Context, cfg Config, store database, now func() time.Time) lifecycle.Appender {
	if cfg.StoreQuota == 0 {
		return store
	}
	q := &quota{Appender: store, store: store, most: int64(cfg.StoreQuota), now: now, log: a.log}
	q.look(ctx)
	a.watch(q)
	a.work("quota", q.Run)
	return q
}

// Run looks at the size again and again until ctx is done.
func (q *quota) Run(ctx context.Context) error {
	return again(ctx, quotaEvery, func() { q.look(ctx) })
}

// Append hands a batch to the store, or errors with [lifecycle.ErrUnable] where the quota is reached.
func (q *quota) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	if q.full.Load() {
		return lifecycle.Appended{}, fmt.Errorf("the storage quota is reached: %w", lifecycle.ErrUnable)
	}
	return q.Appender.Append(ctx, b)
}

// look compares the size with the quota. What cannot be found out changes nothing: the part "store" says that the store does not answer.
func (q *quota) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quotaTimeout)
	defer cancel()
	size, err := q.store.Size(ctx)
	if err != nil {
		q.log.Debug("the size of the store is not known", "error", err)
		return
	}
	full := size >= q.most || q.full.Load() && float64(size) > float64(q.most)*(1-quotaRoom)
	if was := q.full.Swap(full); was != full {
		text := "there is room again below the storage quota"
		if full {
			text = "the storage quota is reached; nothing more is taken in"
		}
		q.log.Warn(text, "bytes", size, "quota", q.most)
	}
	q.set(size, full)
}

func (q *quota) set(size int64, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.part = health.Part{Name: "quota", Kind: "quota", State: health.OK, LastAt: q.now(), Detail: fmt.Sprintf("The store holds %s of %s.", inMB(size), inMB(q.most))}
	if full {
		q.part.State = health.Down
		q.part.Detail += " Nothing is taken in until there is room: raise --store-quota, or shorten --retention. Lines wait in their capture streams, for a day at most."
	}
}

// inMB writes bytes for people.
func inMB(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// Health says how full the store is.
func (q *quota) Health() []health.Part {
	q.mu.Lock()
	defer q.mu.Unlock()
	return []health.Part{q.part}
}
