package postgres

import (
	"context"
	"fmt"

	"fleetglass/reconcile"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const (
	insertReconciliation = `INSERT INTO reconciliations (id, slot, head, rows) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
	selectSlot           = `SELECT head, rows FROM reconciliations WHERE slot = $1`
	updateReconciliation = `UPDATE reconciliations SET head = $2, rows = $3 WHERE id = $1`
	selectReconciliation = `SELECT head, rows FROM reconciliations WHERE id = $1`
	listReconciliations  = `SELECT head FROM reconciliations WHERE $1 = ''::bytea OR id < $1 ORDER BY id DESC LIMIT $2`
	trimReconciliations  = `DELETE FROM reconciliations WHERE id <= (SELECT id FROM reconciliations ORDER BY id DESC LIMIT 1 OFFSET $1)`
)

// CreateReconciliation implements [reconcile.RunStore].
func (s *Store) CreateReconciliation(ctx context.Context, r reconcile.Run) (stored reconcile.Run, created bool, err error) {
	head, rows, err := rowcodec.EncodeReconciliation(r)
	if err != nil {
		return r, false, err
	}
	tag, err := s.pool.Exec(ctx, insertReconciliation, []byte(r.ID), taskKey(r.Slot), head, notNull(rows))
	if err != nil {
		return r, false, s.wrap("create reconciliation", err)
	}
	if tag.RowsAffected() == 1 {
		return r, true, nil
	}
	stored, err = s.reconciliation(ctx, selectSlot, taskKey(r.Slot))
	return stored, false, s.wrap("read the reconciliation of a slot", err)
}

// SaveReconciliation implements [reconcile.RunStore].
func (s *Store) SaveReconciliation(ctx context.Context, r reconcile.Run) error {
	head, rows, err := rowcodec.EncodeReconciliation(r)
	if err != nil {
		return err
	}
	return s.wrap("save reconciliation "+r.ID, retry(ctx, func() error {
		tag, err := s.pool.Exec(ctx, updateReconciliation, []byte(r.ID), head, notNull(rows))
		if err == nil && tag.RowsAffected() == 0 {
			return pgx.ErrNoRows
		}
		return err
	}))
}

// Reconciliation implements [reconcile.RunStore].
func (s *Store) Reconciliation(ctx context.Context, id string) (reconcile.Run, error) {
	r, err := s.reconciliation(ctx, selectReconciliation, []byte(id))
	return r, s.wrap(fmt.Sprintf("read reconciliation %q", id), err)
}

func (s *Store) reconciliation(ctx context.Context, query string, key []byte) (reconcile.Run, error) {
	var head, rows []byte
	if err := s.pool.QueryRow(ctx, query, key).Scan(&head, &rows); err != nil {
		return reconcile.Run{}, err
	}
	return rowcodec.Reconciliation(head, rows)
}

// Reconciliations implements [reconcile.RunStore].
func (s *Store) Reconciliations(ctx context.Context, before string, limit int) ([]reconcile.Run, error) {
	rows, err := s.pool.Query(ctx, listReconciliations, []byte(before), limit)
	if err != nil {
		return nil, s.wrap("list reconciliations", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r reconcile.Run, err error) {
		var head []byte
		if err := row.Scan(&head); err != nil {
			return r, err
		}
		return rowcodec.Reconciliation(head, nil)
	})
	return out, s.wrap("list reconciliations", err)
}

// RetainReconciliations implements [reconcile.RunStore].
func (s *Store) RetainReconciliations(ctx context.Context, keep int) (int64, error) {
	tag, err := s.pool.Exec(ctx, trimReconciliations, keep)
	if err != nil {
		return 0, s.wrap("delete old reconciliations", err)
	}
	return tag.RowsAffected(), nil
}

// notNull is b, or no bytes where there is no b.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
