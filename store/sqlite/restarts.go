package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/restarts"

	"zombiezen.com/go/sqlite"
)

const (
	insertRestart  = `INSERT INTO restarts (id, version, at, ended, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id`
	updateRestart  = `UPDATE restarts SET version = ?, at = ?, ended = ?, body = ? WHERE id = ? AND version = ? RETURNING id`
	selectRestart  = `SELECT body FROM restarts WHERE id = ?`
	selectRestarts = `SELECT body FROM restarts ORDER BY at DESC, id LIMIT +?`
	openRestarts   = `SELECT body FROM restarts WHERE ended = 0 ORDER BY at DESC, id LIMIT +?`
	retainRestarts = `DELETE FROM restarts WHERE at < ? RETURNING id`
)

// SaveRestart implements [restarts.Store].
func (s *Store) SaveRestart(ctx context.Context, r restarts.Restart) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("save restart: %w", err)
	}
	return s.write(ctx, "save restart", func(w *writer) error {
		query := w.statement(insertRestart).text(r.ID).int(int64(r.Version)).int(int64(r.To)).int(int64(r.EndedAt)).blob(body)
		if r.Version > 1 {
			query = w.statement(updateRestart).int(int64(r.Version)).int(int64(r.To)).int(int64(r.EndedAt)).blob(body).text(r.ID).int(int64(r.Version - 1))
		}
		n, err := changed(query)
		if err == nil && n == 0 {
			err = restarts.ErrConflict
		}
		return err
	})
}

// Restart implements [restarts.Store].
func (s *Store) Restart(ctx context.Context, id string) (r restarts.Restart, err error) {
	err = s.readShort(ctx, "read restart", func(conn *sqlite.Conn) error {
		found, err := bodies[restarts.Restart](prepare(conn, selectRestart).text(id))
		if err == nil && len(found) == 0 {
			return fmt.Errorf("restart %q: %w", id, lifecycle.ErrNotFound)
		}
		if err == nil {
			r = found[0]
		}
		return err
	})
	return r, err
}

// Restarts implements [restarts.Store].
func (s *Store) Restarts(ctx context.Context, open bool, limit int) (out []restarts.Restart, err error) {
	query := selectRestarts
	if open {
		query = openRestarts
	}
	err = s.readShort(ctx, "read restarts", func(conn *sqlite.Conn) (err error) {
		out, err = bodies[restarts.Restart](prepare(conn, query).int(int64(limit)))
		return err
	})
	return out, err
}

// RetainRestarts implements [restarts.Store].
func (s *Store) RetainRestarts(ctx context.Context, cutoff lifecycle.Micros) (n int64, err error) {
	err = s.write(ctx, "delete old restarts", func(w *writer) (err error) {
		n, err = changed(w.statement(retainRestarts).int(int64(cutoff)))
		return err
	})
	return n, err
}
