package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pools are the connections to one database.
type pools struct {
	*pgxpool.Pool               // Plans every statement for the values at hand.
	ready         *pgxpool.Pool // Plans once, for questions of one shape, whose plan is the same for all values.
}

func connect(ctx context.Context, cfg Config) (pools, error) {
	config, err := poolConfig(cfg)
	if err != nil {
		return pools{}, err
	}
	mode := &config.ConnConfig.DefaultQueryExecMode
	if !strings.Contains(cfg.URL, "default_query_exec_mode") {
		pooled, err := pooled(ctx, config.ConnConfig)
		if err != nil {
			return pools{}, err
		}
		if pooled {
			*mode = pgx.QueryExecModeCacheDescribe
		}
	}
	all, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil || *mode != pgx.QueryExecModeCacheStatement { // What has no name is planned each time.
		return pools{all, all}, err
	}
	config = config.Copy()
	config.AfterConnect = settings(setUp, planOnce)
	ready, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		all.Close()
	}
	return pools{all, ready}, err
}

func (p pools) Close() {
	p.ready.Close()
	p.Pool.Close()
}

// pooled reports whether a connection pooler stands in between: the process that it names is not the one that the database names. Poolers
// hand out another session for each transaction, which then lacks the statements that were named in the one before.
func pooled(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer conn.Close(ctx) //nolint:errcheck // Only read from.
	var process int64
	err = conn.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeSimpleProtocol).Scan(&process)
	return process != int64(conn.PgConn().PID()), err
}

func poolConfig(cfg Config) (*pgxpool.Config, error) {
	if cfg.URL == "" {
		return nil, errors.New("no URL")
	}
	config, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 10
	if cfg.MaxConns > 0 {
		config.MaxConns = int32(min(cfg.MaxConns, 1000))
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	config.ConnConfig.Tracer = cfg.Tracer
	config.AfterConnect = settings(setUp)
	return config, nil
}

// settings are statements for a new connection.
func settings(statements ...string) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		for _, s := range statements {
			if _, err := conn.Exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// setUp keeps the database to the plans that the queries are written for: from an index, in its order, a few rows at a time. What it
// knows of values may be old: a state that all tasks were in then may be rare now. Statements are parsed once and planned for the values at
// hand: batches differ in size by thousands, tables grow fast after a start, and the days to look at are values too. It also makes the
// database give up a transaction whose program hangs, so that its locks do not stop the others. Databases that do not know a setting do
// without.
const setUp = `SELECT set_config(name, CASE name WHEN 'idle_in_transaction_session_timeout' THEN '60s'
    WHEN 'max_parallel_workers_per_gather' THEN '0' WHEN 'plan_cache_mode' THEN 'force_custom_plan' ELSE 'off' END, false)
FROM pg_settings WHERE name IN ('idle_in_transaction_session_timeout', 'max_parallel_workers_per_gather', 'plan_cache_mode', 'jit',
    'enable_seqscan', 'enable_bitmapscan', 'enable_mergejoin', 'enable_hashjoin')`

// planOnce makes a connection keep the plans of its statements.
const planOnce = `SELECT set_config(name, 'force_generic_plan', false) FROM pg_settings WHERE name = 'plan_cache_mode'`

// planFreely lifts setUp for a transaction that reads whole tables.
const planFreely = `SELECT set_config(name, 'on', true) FROM pg_settings
WHERE name IN ('enable_seqscan', 'enable_bitmapscan', 'enable_mergejoin', 'enable_hashjoin')`
