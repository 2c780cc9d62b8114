// Package postgres keeps the lifecycle in Postgres, through pgx. Several programs may share one database: every batch is one
// transaction that locks the tasks it touches in one order. Events are partitioned by day. The SQL keeps to what
// Postgres-compatible distributed databases run: no extensions, no LISTEN, no advisory locks.
package postgres

import (
	"context"
	"embed"
	"fmt"
	"sync/atomic"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/store/internal/migrate"

	"github.com/jackc/pgx/v5"
)

var (
	_ lifecycle.Store         = (*Store)(nil)
	_ lifecycle.TraceQueue    = (*Store)(nil)
	_ reconcile.RunStore      = (*Store)(nil)
	_ reconcile.BalanceReader = (*Store)(nil)
	_ decision.Store          = (*Store)(nil)
	_ dlqtriage.EntryStore    = (*Store)(nil)
)

//go:embed migrations/*.sql
var migrations embed.FS

// Config says where the store is.
type Config struct {
	URL        string           // Required. A postgres:// URL or key=value words, as pgx reads them.
	MaxConns   int              // Optional; default 10. Connections at most, and as many for simple questions.
	History    time.Duration    // Optional; default 45 days. Days further back, and more than one ahead, have no partition of their own.
	ScanLimit  int              // Optional; default 500,000. Rows that one page of a list may look through; see [Store.ListTasks].
	Now        func() time.Time // Optional; default time.Now.
	TaskTraces time.Duration    // Optional. How long after a task has ended it is due in the queue of traces; zero notes none.
	Tracer     pgx.QueryTracer  // Optional. Hears of every statement, as pgx tells it.
}

// Store is every domain's store in a Postgres database. It is safe for concurrent use.
type Store struct {
	pool       pools
	scanLimit  int
	now        func() time.Time
	history    time.Duration
	streams    streamTable
	names      labelNames
	scratch    atomic.Pointer[scratch] // Nil while it is used.
	days       dayTable
	commits    *commitQueue
	taskTraces time.Duration
	closed     atomic.Bool
}

// Open connects, brings the schema up to date, and returns the store. It errors when the database does not answer, and with
// [migrate.ErrNewer] when a newer program wrote it, and with [lifecycle.ErrNewer] when one judged it.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	pool, err := connect(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	s := &Store{pool: pool, now: cfg.Now, history: cfg.History, scanLimit: cfg.ScanLimit, taskTraces: cfg.TaskTraces}
	s.commits = newCommitQueue(s.commit)
	if s.scanLimit <= 0 {
		s.scanLimit = 500_000
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.history <= 0 {
		s.history = 45 * 24 * time.Hour
	}
	if err := s.migrate(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	if err := s.beginUpgrade(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	return s, nil
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.wrap("ping", s.pool.Ping(ctx)) }

// Size implements [lifecycle.Keeper]. Rows that were deleted count until their partition is dropped or the database uses their space again.
func (s *Store) Size(ctx context.Context) (size int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&size)
	return size, s.wrap("read size", err)
}

// Close waits for running calls and disconnects. It is idempotent.
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		s.pool.Close()
	}
	return nil
}

func (s *Store) migrate(ctx context.Context) error {
	files, err := migrate.Read(migrations, "migrations")
	if err != nil {
		return err
	}
	_, err = migrate.Run(ctx, migrationTarget{s.pool.Pool}, files)
	return err
}

// SchemaVersion is the number of the newest migration, which every database has that Open opened.
func SchemaVersion() int {
	files, err := migrate.Read(migrations, "migrations")
	if err != nil || len(files) == 0 {
		return 0
	}
	return files[len(files)-1].Number
}

// querier is the pool, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// inTransaction runs f in a transaction of the given kind.
func (s *Store) inTransaction(ctx context.Context, options pgx.TxOptions, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, options, f)
}

// snapshot is a transaction whose statements all see the same moment.
var snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
