package sqlite

import (
	"context"
	"time"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	insertToken = `INSERT INTO tokens (id, name, sha256, role, scopes, agents, expires, creator, created, last_used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING id`
	deleteToken    = `DELETE FROM tokens WHERE id = ? RETURNING id`
	selectTokens   = `SELECT id, name, sha256, role, scopes, agents, expires, creator, created, last_used FROM tokens ORDER BY name` //nolint:gosec // A statement, no secret.
	touchToken     = `UPDATE tokens SET last_used = max(last_used, ?) WHERE id = ?`                                                  //nolint:gosec // Likewise.
	insertSession  = `INSERT INTO sessions (id, name, token, scopes, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	deleteSession  = `DELETE FROM sessions WHERE id = ?`
	deleteSessions = `DELETE FROM sessions WHERE until <= ?`
	selectSessions = `SELECT id, name, token, scopes, until FROM sessions WHERE until > ? ORDER BY id`
)

// AddToken implements [access.TokenStore].
func (s *Store) AddToken(ctx context.Context, t access.StoredToken, r decision.AuditRecord) error {
	return s.write(ctx, "add token", func(w *writer) error {
		n, err := changed(w.statement(insertToken).text(t.ID).text(t.Name).text(t.SHA256).text(string(t.Role)).text(access.JoinScopes(t.Scopes)).text(access.JoinAgents(t.Agents)).
			int(int64(instantOf(t.Expires))).text(t.CreatedBy).int(int64(t.CreatedAt)).int(int64(t.LastUsed)))
		if err == nil && n == 0 {
			err = access.ErrTokenExists
		}
		if err != nil {
			return err
		}
		return w.addAudit(&r)
	})
}

// RemoveToken implements [access.TokenStore].
func (s *Store) RemoveToken(ctx context.Context, id string, r decision.AuditRecord) error {
	return s.write(ctx, "remove token", func(w *writer) error {
		n, err := changed(w.statement(deleteToken).text(id))
		if err == nil && n == 0 {
			err = lifecycle.ErrNotFound
		}
		if err != nil {
			return err
		}
		return w.addAudit(&r)
	})
}

// StoredTokens implements [access.TokenStore].
func (s *Store) StoredTokens(ctx context.Context) (out []access.StoredToken, err error) {
	err = s.readShort(ctx, "read tokens", func(conn *sqlite.Conn) error {
		return prepare(conn, selectTokens).each(func(r *statement) error {
			t := access.StoredToken{ID: r.getText()}
			t.Name, t.SHA256, t.Role, t.Scopes = r.getText(), r.getText(), access.Role(r.getText()), access.SplitScopes(r.getText())
			t.Agents, t.Expires = access.SplitAgents(r.getText()), timeOf(r.getInt())
			t.CreatedBy, t.CreatedAt, t.LastUsed = r.getText(), lifecycle.Micros(r.getInt()), lifecycle.Micros(r.getInt())
			out = append(out, t)
			return nil
		})
	})
	return out, err
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
	return s.write(ctx, "touch tokens", func(w *writer) error {
		for id, at := range used {
			if err := w.statement(touchToken).int(int64(at)).text(id).exec(); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddSession implements [access.SessionStore].
func (s *Store) AddSession(ctx context.Context, n access.StoredSession) error {
	return s.write(ctx, "add session", func(w *writer) error {
		return w.statement(insertSession).text(n.ID).text(n.Name).text(n.Token).text(access.JoinScopes(n.Scopes)).int(int64(n.Until)).exec()
	})
}

// RemoveSession implements [access.SessionStore].
func (s *Store) RemoveSession(ctx context.Context, id string) error {
	return s.write(ctx, "remove session", func(w *writer) error { return w.statement(deleteSession).text(id).exec() })
}

// StoredSessions implements [access.SessionStore].
func (s *Store) StoredSessions(ctx context.Context, now lifecycle.Micros) (out []access.StoredSession, err error) {
	ended := false
	err = s.readShort(ctx, "read sessions", func(conn *sqlite.Conn) error {
		err := prepare(conn, `SELECT 1 FROM sessions WHERE until <= ? LIMIT 1`).int(int64(now)).each(func(*statement) error { ended = true; return nil })
		if err != nil {
			return err
		}
		return prepare(conn, selectSessions).int(int64(now)).each(func(r *statement) error {
			out = append(out, access.StoredSession{
				ID: r.getText(), Name: r.getText(), Token: r.getText(), Scopes: access.SplitScopes(r.getText()), Until: lifecycle.Micros(r.getInt()),
			})
			return nil
		})
	})
	if err == nil && ended {
		err = s.write(ctx, "remove sessions", func(w *writer) error { return w.statement(deleteSessions).int(int64(now)).exec() })
	}
	return out, err
}
