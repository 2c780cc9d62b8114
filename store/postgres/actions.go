package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"fleetglass/decision"

	"github.com/jackc/pgx/v5"
)

const (
	selectBusy   = `SELECT id FROM actions WHERE subject = $1 AND open AND id <> $2`
	upsertAction = `INSERT INTO actions (id, subject, kind, operation, open, created, updated, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, operation = excluded.operation, open = excluded.open, created = excluded.created,
    updated = excluded.updated, body = excluded.body`
	selectActions    = `SELECT id, subject, kind, operation, open, created, updated, body FROM actions `
	selectAction     = selectActions + `WHERE id = $1`
	selectActionsOn  = selectActions + `WHERE subject = $1 ORDER BY created DESC, id DESC LIMIT $2`
	selectOperations = selectActions + `WHERE operation = '' AND (created, id) < ($1, $2) ORDER BY created DESC, id DESC LIMIT $3`
	selectNewer      = selectActions + `WHERE operation = '' AND (created, id) > ($1, $2) ORDER BY created, id LIMIT $3`
	selectActionsOf  = selectActions + `WHERE operation = $1 AND operation <> '' AND id > $2 ORDER BY id LIMIT $3`
)

// checkFree errors with decision.ErrBusy where the action would be a second open one. The subject is locked, so none comes in between.
func (c *changing) checkFree(ctx context.Context, a *decision.Action) error {
	if !a.Open {
		return nil
	}
	var other []byte
	err := c.tx.QueryRow(ctx, selectBusy, []byte(a.Subject), []byte(a.ID)).Scan(&other)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("action %q on %s: %w", other, a.Subject, decision.ErrBusy)
}

func queueAction(writes *pgx.Batch, a *decision.Action) {
	writes.Queue(upsertAction, []byte(a.ID), []byte(a.Subject), []byte(a.Kind), []byte(a.Operation), a.Open, int64(a.CreatedAt), int64(a.UpdatedAt),
		notNull(a.Body))
}

// Action implements [decision.Reader].
func (s *Store) Action(ctx context.Context, id string) (decision.Action, error) {
	found, err := s.actions(ctx, selectAction, []byte(id))
	if err == nil && len(found) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return decision.Action{}, s.wrap(fmt.Sprintf("read action %q", id), err)
	}
	return found[0], nil
}

// ActionsOn implements [decision.Reader].
func (s *Store) ActionsOn(ctx context.Context, subject decision.Subject, limit int) ([]decision.Action, error) {
	out, err := s.actions(ctx, selectActionsOn, []byte(subject), limit)
	return out, s.wrap("read actions", err)
}

// ActionsOf implements [decision.Reader].
func (s *Store) ActionsOf(ctx context.Context, operation, after string, limit int) ([]decision.Action, error) {
	out, err := s.actions(ctx, selectActionsOf, []byte(operation), []byte(after), limit)
	return out, s.wrap("read actions", err)
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
	out, err := s.actions(ctx, query, int64(place.CreatedAt), []byte(place.ID), limit)
	if place.Newer {
		slices.Reverse(out)
	}
	return out, s.wrap("read operations", err)
}

func (s *Store) actions(ctx context.Context, query string, args ...any) ([]decision.Action, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (a decision.Action, err error) {
		var id, subject, kind, operation []byte
		err = row.Scan(&id, &subject, &kind, &operation, &a.Open, &a.CreatedAt, &a.UpdatedAt, &a.Body)
		a.ID, a.Subject, a.Kind, a.Operation = string(id), decision.Subject(subject), string(kind), string(operation)
		return a, err
	})
}
