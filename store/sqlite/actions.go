package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fleetglass/decision"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	selectBusy   = `SELECT id FROM actions WHERE subject = ? AND open = 1`
	upsertAction = `INSERT INTO actions (id, subject, kind, operation, open, created, updated, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, operation = excluded.operation, open = excluded.open, created = excluded.created,
	updated = excluded.updated, body = excluded.body`
	actionColumns       = `id, subject, kind, operation, open, created, updated, body`
	selectAction        = `SELECT ` + actionColumns + ` FROM actions WHERE id = ?`
	selectActionsOn     = `SELECT ` + actionColumns + ` FROM actions WHERE subject = ? ORDER BY created DESC, id DESC LIMIT +?`
	selectOperations    = `SELECT ` + actionColumns + ` FROM actions WHERE operation = '' AND (created, id) < (?, ?) ORDER BY created DESC, id DESC LIMIT +?`
	selectNewer         = `SELECT ` + actionColumns + ` FROM actions WHERE operation = '' AND (created, id) > (?, ?) ORDER BY created, id LIMIT +?`
	selectActionsOfMany = `SELECT ` + actionColumns + ` FROM actions WHERE operation = ? AND operation <> '' AND id > ? ORDER BY id LIMIT +?`
)

// putAction stores an action. It errors with decision.ErrBusy where it would be a second open one.
func (w *writer) putAction(a *decision.Action) error {
	if a.Open {
		err := w.statement(selectBusy).text(string(a.Subject)).each(func(r *statement) error {
			if id := r.getText(); id != a.ID {
				return fmt.Errorf("action %q on %s: %w", id, a.Subject, decision.ErrBusy)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return w.statement(upsertAction).text(a.ID).text(string(a.Subject)).text(a.Kind).text(a.Operation).flag(a.Open).int(int64(a.CreatedAt)).
		int(int64(a.UpdatedAt)).blob(a.Body).exec()
}

// Action implements [decision.Reader].
func (s *Store) Action(ctx context.Context, id string) (decision.Action, error) {
	found, err := s.actions(ctx, func(conn *sqlite.Conn) *statement { return prepare(conn, selectAction).text(id) })
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("action %q: %w", id, lifecycle.ErrNotFound)
	}
	if err != nil {
		return decision.Action{}, err
	}
	return found[0], nil
}

// ActionsOn implements [decision.Reader].
func (s *Store) ActionsOn(ctx context.Context, subject decision.Subject, limit int) ([]decision.Action, error) {
	return s.actions(ctx, func(conn *sqlite.Conn) *statement {
		return prepare(conn, selectActionsOn).text(string(subject)).int(int64(limit))
	})
}

// ActionsOf implements [decision.Reader].
func (s *Store) ActionsOf(ctx context.Context, operation, after string, limit int) ([]decision.Action, error) {
	return s.actions(ctx, func(conn *sqlite.Conn) *statement {
		return prepare(conn, selectActionsOfMany).text(operation).text(after).int(int64(limit))
	})
}

// Operations implements [decision.Reader].
func (s *Store) Operations(ctx context.Context, from *decision.ActionPlace, limit int) ([]decision.Action, error) {
	place, query := decision.ActionPlace{CreatedAt: math.MaxInt64}, selectOperations
	if from != nil {
		place = *from
	}
	if place.Newer {
		query = selectNewer
	}
	out, err := s.actions(ctx, func(conn *sqlite.Conn) *statement {
		return prepare(conn, query).int(int64(place.CreatedAt)).text(place.ID).int(int64(limit))
	})
	if place.Newer {
		slices.Reverse(out)
	}
	return out, err
}

// actions reads actions by a query of actionColumns.
func (s *Store) actions(ctx context.Context, query func(*sqlite.Conn) *statement) ([]decision.Action, error) {
	var out []decision.Action
	err := s.readShort(ctx, "read actions", func(conn *sqlite.Conn) error {
		return query(conn).each(func(r *statement) error {
			out = append(out, decision.Action{
				ID: r.getText(), Subject: decision.Subject(r.getText()), Kind: r.getText(), Operation: r.getText(), Open: r.getFlag(),
				CreatedAt: lifecycle.Micros(r.getInt()), UpdatedAt: lifecycle.Micros(r.getInt()), Body: r.getBytes(),
			})
			return nil
		})
	})
	return out, err
}
