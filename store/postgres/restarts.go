package postgres

import (
	"context"
	"encoding/json"

	"fleetglass/lifecycle"
	"fleetglass/restarts"

	"github.com/jackc/pgx/v5"
)

const (
	insertRestart  = `INSERT INTO restarts (id, version, at, ended, body) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING`
	updateRestart  = `UPDATE restarts SET version = $2, at = $3, ended = $4, body = $5 WHERE id = $1 AND version = $2 - 1`
	selectRestart  = `SELECT body FROM restarts WHERE id = $1`
	selectRestarts = `SELECT body FROM restarts ORDER BY at DESC, id LIMIT $1`
	openRestarts   = `SELECT body FROM restarts WHERE ended = 0 ORDER BY at DESC, id LIMIT $1`
	retainRestarts = `DELETE FROM restarts WHERE at < $1`
)

// SaveRestart implements [restarts.Store].
func (s *Store) SaveRestart(ctx context.Context, r restarts.Restart) error {
	body, err := json.Marshal(r)
	if err != nil {
		return s.wrap("save restart", err)
	}
	query := insertRestart
	if r.Version > 1 {
		query = updateRestart
	}
	done, err := s.pool.Exec(ctx, query, []byte(r.ID), int64(r.Version), int64(r.To), int64(r.EndedAt), body)
	if err == nil && done.RowsAffected() == 0 {
		err = restarts.ErrConflict
	}
	return s.wrap("save restart", err)
}

// Restart implements [restarts.Store].
func (s *Store) Restart(ctx context.Context, id string) (restarts.Restart, error) {
	found, err := bodies[restarts.Restart](ctx, s.pool, selectRestart, []byte(id))
	if err == nil && len(found) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return restarts.Restart{}, s.wrap("read restart", err)
	}
	return found[0], nil
}

// Restarts implements [restarts.Store].
func (s *Store) Restarts(ctx context.Context, open bool, limit int) ([]restarts.Restart, error) {
	query := selectRestarts
	if open {
		query = openRestarts
	}
	out, err := bodies[restarts.Restart](ctx, s.pool, query, limit)
	return out, s.wrap("read restarts", err)
}

// RetainRestarts implements [restarts.Store].
func (s *Store) RetainRestarts(ctx context.Context, cutoff lifecycle.Micros) (int64, error) {
	done, err := s.pool.Exec(ctx, retainRestarts, int64(cutoff))
	return done.RowsAffected(), s.wrap("delete old restarts", err)
}
