package postgres

import (
	"context"
	"fmt"
	"time"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const (
	insertToken = `INSERT INTO tokens (id, name, sha256, role, scopes, agents, expires, creator, created, last_used) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT DO NOTHING`
	deleteToken    = `DELETE FROM tokens WHERE id = $1`
	selectTokens   = `SELECT id, name, sha256, role, scopes, agents, expires, creator, created, last_used FROM tokens ORDER BY name` //nolint:gosec // A statement, no secret.
	touchToken     = `UPDATE tokens SET last_used = greatest(last_used, $1) WHERE id = $2`                                           //nolint:gosec // Likewise.
	insertSession  = `INSERT INTO sessions (id, name, token, scopes, until) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
	deleteSession  = `DELETE FROM sessions WHERE id = $1`
	deleteSessions = `DELETE FROM sessions WHERE until <= $1`
	selectSessions = `SELECT id, name, token, scopes, until FROM sessions WHERE until > $1 ORDER BY id`
)

// AddToken implements [access.TokenStore].
func (s *Store) AddToken(ctx context.Context, t access.StoredToken, r decision.AuditRecord) error {
	return s.wrap("add token", s.changeToken(ctx, &r, access.ErrTokenExists, insertToken, []byte(t.ID), []byte(t.Name), []byte(t.SHA256), []byte(t.Role),
		[]byte(access.JoinScopes(t.Scopes)), []byte(access.JoinAgents(t.Agents)), int64(instantOf(t.Expires)), []byte(t.CreatedBy), int64(t.CreatedAt), int64(t.LastUsed)))
}

// RemoveToken implements [access.TokenStore].
func (s *Store) RemoveToken(ctx context.Context, id string, r decision.AuditRecord) error {
	return s.wrap("remove token", s.changeToken(ctx, &r, lifecycle.ErrNotFound, deleteToken, []byte(id)))
}

// changeToken runs a statement and adds its audit record in one transaction. It errors with nothing where no row changed.
func (s *Store) changeToken(ctx context.Context, r *decision.AuditRecord, nothing error, statement string, args ...any) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("add audit record: %w", err)
	}
	return retry(ctx, func() error {
		return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, statement, args...)
			if err == nil && tag.RowsAffected() == 0 {
				err = nothing
			}
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, insertAudit, auditValues(r)...)
			return err
		})
	})
}

// StoredTokens implements [access.TokenStore].
func (s *Store) StoredTokens(ctx context.Context) ([]access.StoredToken, error) {
	rows, err := s.pool.Query(ctx, selectTokens)
	if err != nil {
		return nil, s.wrap("read tokens", err)
	}
	out, err := pgx.CollectRows(rows, scanToken)
	return out, s.wrap("read tokens", err)
}

func scanToken(row pgx.CollectableRow) (t access.StoredToken, err error) {
	var id, name, hash, role, scopes, agents, creator []byte
	var expires int64
	err = row.Scan(&id, &name, &hash, &role, &scopes, &agents, &expires, &creator, &t.CreatedAt, &t.LastUsed)
	t.ID, t.Name, t.SHA256, t.Role, t.Scopes, t.CreatedBy = string(id), string(name), string(hash), access.Role(role), access.SplitScopes(string(scopes)), string(creator)
	t.Agents, t.Expires = access.SplitAgents(string(agents)), timeOf(expires)
	return t, err
}

// instantOf writes a time that may be unset.
func instantOf(t time.Time) lifecycle.Micros {
	if t.IsZero() {
		return 0
	}
	return lifecycle.MicrosOf(t)
}

// timeOf reads what instantOf wrote.
func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return lifecycle.Micros(micros).Time()
}

// TouchTokens implements [access.TokenStore].
func (s *Store) TouchTokens(ctx context.Context, used map[string]lifecycle.Micros) error {
	var batch pgx.Batch
	for id, at := range used {
		batch.Queue(touchToken, int64(at), []byte(id))
	}
	return s.wrap("touch tokens", s.pool.SendBatch(ctx, &batch).Close())
}

// AddSession implements [access.SessionStore].
func (s *Store) AddSession(ctx context.Context, n access.StoredSession) error {
	_, err := s.pool.Exec(ctx, insertSession, []byte(n.ID), []byte(n.Name), []byte(n.Token), []byte(access.JoinScopes(n.Scopes)), int64(n.Until))
	return s.wrap("add session", err)
}

// RemoveSession implements [access.SessionStore].
func (s *Store) RemoveSession(ctx context.Context, id string) error {
	_, err := s.pool.Exec(ctx, deleteSession, []byte(id))
	return s.wrap("remove session", err)
}

// StoredSessions implements [access.SessionStore].
func (s *Store) StoredSessions(ctx context.Context, now lifecycle.Micros) ([]access.StoredSession, error) {
	if _, err := s.pool.Exec(ctx, deleteSessions, int64(now)); err != nil {
		return nil, s.wrap("remove sessions", err)
	}
	rows, err := s.pool.Query(ctx, selectSessions, int64(now))
	if err != nil {
		return nil, s.wrap("read sessions", err)
	}
	out, err := pgx.CollectRows(rows, scanSession)
	return out, s.wrap("read sessions", err)
}

func scanSession(row pgx.CollectableRow) (n access.StoredSession, err error) {
	var id, name, token, scopes []byte
	err = row.Scan(&id, &name, &token, &scopes, &n.Until)
	n.ID, n.Name, n.Token, n.Scopes = string(id), string(name), string(token), access.SplitScopes(string(scopes))
	return n, err
}
