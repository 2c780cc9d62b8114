package postgres

import (
	"context"

	"fleetglass/store/internal/migrate"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// migrationTarget lends the database to package migrate.
type migrationTarget struct{ pool *pgxpool.Pool }

const createGate = `CREATE TABLE IF NOT EXISTS migration_gate (id integer PRIMARY KEY);
INSERT INTO migration_gate (id) VALUES (1) ON CONFLICT DO NOTHING`

const enterGate = `SELECT id FROM migration_gate WHERE id = 1 FOR UPDATE`

// Exclusively implements [migrate.Database] by the lock of a row.
func (t migrationTarget) Exclusively(ctx context.Context, f func(migrate.Session) error) error {
	if err := retry(ctx, func() error {
		_, err := t.pool.Exec(ctx, createGate, pgx.QueryExecModeSimpleProtocol)
		return err
	}); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, enterGate); err != nil {
			return err
		}
		return f(migrationSession{tx})
	})
}

// migrationSession is one transaction.
type migrationSession struct{ tx pgx.Tx }

// Exec implements [migrate.Session].
func (s migrationSession) Exec(ctx context.Context, script string) error {
	_, err := s.tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Records implements [migrate.Session].
func (s migrationSession) Records(ctx context.Context, query string) ([]migrate.Record, error) {
	rows, err := s.tx.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (migrate.Record, error) {
		var r migrate.Record
		err := row.Scan(&r.Number, &r.Name, &r.Checksum)
		return r, err
	})
}
