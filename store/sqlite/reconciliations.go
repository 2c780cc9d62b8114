package sqlite

import (
	"context"
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

const (
	insertReconciliation = `INSERT INTO reconciliations (id, slot, head, rows) VALUES (?, ?, ?, ?) ON CONFLICT (slot) DO NOTHING RETURNING id`
	selectSlot           = `SELECT head, rows FROM reconciliations WHERE slot = ?`
	updateReconciliation = `UPDATE reconciliations SET head = ?, rows = ? WHERE id = ? RETURNING id`
	selectReconciliation = `SELECT head, rows FROM reconciliations WHERE id = ?`
	listReconciliations  = `SELECT head FROM reconciliations WHERE id < ? OR ? = '' ORDER BY id DESC LIMIT +?`
	trimReconciliations  = `DELETE FROM reconciliations WHERE id NOT IN (SELECT id FROM reconciliations ORDER BY id DESC LIMIT +?) RETURNING id`
)

// CreateReconciliation implements [reconcile.RunStore].
func (s *Store) CreateReconciliation(ctx context.Context, r reconcile.Run) (stored reconcile.Run, created bool, err error) {
	head, rows, err := rowcodec.EncodeReconciliation(r)
	if err != nil {
		return r, false, err
	}
	stored = r
	err = s.submit(ctx, &job{do: func(w *writer) error {
		return w.transaction(func() error {
			n, err := changed(w.statement(insertReconciliation).text(r.ID).text(r.Slot).blob(head).blob(rows))
			if created = n == 1; err != nil || created {
				return err
			}
			return w.statement(selectSlot).text(r.Slot).each(func(row *statement) error {
				stored, err = getReconciliation(row)
				return err
			})
		})
	}})
	if err != nil {
		return r, false, fmt.Errorf("create reconciliation: %w", err)
	}
	return stored, created, nil
}

// SaveReconciliation implements [reconcile.RunStore].
func (s *Store) SaveReconciliation(ctx context.Context, r reconcile.Run) error {
	head, rows, err := rowcodec.EncodeReconciliation(r)
	if err != nil {
		return err
	}
	var n int64
	err = s.submit(ctx, &job{do: func(w *writer) error {
		return w.transaction(func() (err error) {
			n, err = changed(w.statement(updateReconciliation).blob(head).blob(rows).text(r.ID))
			return err
		})
	}})
	switch {
	case err != nil:
		return fmt.Errorf("save reconciliation %s: %w", r.ID, err)
	case n == 0:
		return fmt.Errorf("save reconciliation %s: %w", r.ID, lifecycle.ErrNotFound)
	}
	return nil
}

// Reconciliation implements [reconcile.RunStore].
func (s *Store) Reconciliation(ctx context.Context, id string) (r reconcile.Run, err error) {
	err = s.read(ctx, "read reconciliation", func(conn *sqlite.Conn) error {
		found := false
		err := prepare(conn, selectReconciliation).text(id).each(func(row *statement) (err error) {
			found = true
			r, err = getReconciliation(row)
			return err
		})
		if err == nil && !found {
			err = fmt.Errorf("reconciliation %q: %w", id, lifecycle.ErrNotFound)
		}
		return err
	})
	return r, err
}

// Reconciliations implements [reconcile.RunStore].
func (s *Store) Reconciliations(ctx context.Context, before string, limit int) ([]reconcile.Run, error) {
	var out []reconcile.Run
	err := s.read(ctx, "list reconciliations", func(conn *sqlite.Conn) error {
		return prepare(conn, listReconciliations).text(before).text(before).int(int64(limit)).each(func(row *statement) error {
			r, err := rowcodec.Reconciliation(row.getBlob(), nil)
			out = append(out, r)
			return err
		})
	})
	return out, err
}

// RetainReconciliations implements [reconcile.RunStore].
func (s *Store) RetainReconciliations(ctx context.Context, keep int) (deleted int64, err error) {
	err = s.submit(ctx, &job{do: func(w *writer) error {
		return w.transaction(func() (err error) {
			deleted, err = changed(w.statement(trimReconciliations).int(int64(keep)))
			return err
		})
	}})
	if err != nil {
		return 0, fmt.Errorf("delete old reconciliations: %w", err)
	}
	return deleted, nil
}

// changed runs a statement that returns a row for everything that it changed, and counts them.
func changed(s *statement) (n int64, err error) {
	err = s.each(func(*statement) error { n++; return nil })
	return n, err
}

// getReconciliation reads the columns head and rows.
func getReconciliation(row *statement) (reconcile.Run, error) {
	head := append([]byte(nil), row.getBlob()...) // The next one takes its place.
	return rowcodec.Reconciliation(head, row.getBlob())
}
