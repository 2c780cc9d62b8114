package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/exaring/otelpgx"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/dirlock"
	"fleetglass/internal/health"
	"fleetglass/internal/telemetry"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/restarts"
	"fleetglass/store/postgres"
	"fleetglass/store/sqlite"
)

// database is the ports of all domains, which one store serves.
type database interface {
	lifecycle.Store
	lifecycle.TraceQueue
	reconcile.RunStore
	reconcile.BalanceReader
	decision.Store
	dlqtriage.EntryStore
	access.Store
	alerts.Store
	restarts.Store
}

// lockData keeps other processes from a data directory with SQLite until the result is closed: each would have caches of its own, and judge by
// what the other has changed since. With Postgres there is nothing to keep: replicas share it.
func lockData(cfg Config) (io.Closer, error) {
	if cfg.DatabaseURL != "" {
		return io.NopCloser(nil), nil
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	return dirlock.Take(cfg.DataDir, "fleetglass.lock")
}

// sqliteFile is where the database is without Postgres.
func sqliteFile(cfg Config) string { return filepath.Join(cfg.DataDir, "fleetglass.db") }

// openStore opens the configured database and brings its schema up to date. Its calls are part of the given traces.
func openStore(ctx context.Context, cfg Config, traces *telemetry.Traces) (database, error) {
	if cfg.DatabaseURL != "" {
		settings := postgres.Config{URL: cfg.DatabaseURL.Reveal(), History: time.Duration(cfg.Retention) + 15*24*time.Hour}
		if cfg.TaskTraces {
			settings.TaskTraces = time.Duration(cfg.TaskTracesAfter)
		}
		if traces.Sent() {
			settings.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(traces.Provider()))
		}
		store, err := postgres.Open(ctx, settings)
		if err != nil {
			return nil, err
		}
		return store, nil
	}
	settings := sqlite.Config{Path: sqliteFile(cfg)}
	if cfg.TaskTraces {
		settings.TaskTraces = time.Duration(cfg.TaskTracesAfter)
	}
	if traces.Sent() {
		settings.Calls = telemetry.StoreCalls(traces.Tracer())
	}
	store, err := sqlite.Open(ctx, settings)
	if err != nil {
		return nil, err
	}
	return store, nil
}

const (
	pingEvery   = 2 * time.Second
	pingTimeout = 2 * time.Second
)

// pinger says whether a store answers. It asks at most every two seconds, however often it is asked.
type pinger struct {
	store interface{ Ping(context.Context) error }
	now   func() time.Time
	doing func() string // What the store is doing beside its work; empty for nothing.

	mu   sync.Mutex
	part health.Part
	next time.Time
}

// Health asks the store.
func (p *pinger) Health() []health.Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); !now.Before(p.next) {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		p.part = health.Part{Name: "store", Kind: "store", State: health.OK, Detail: p.doing(), LastAt: now}
		if err := p.store.Ping(ctx); err != nil {
			p.part.State, p.part.Detail = health.Down, "the database does not answer"
		}
		p.next = p.now().Add(pingEvery) // A store that does not answer is not asked again at once.
	}
	return []health.Part{p.part}
}
