package sqlite

import (
	"context"
	"fmt"
	"math"

	"fleetglass/decision"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	insertAudit = `INSERT INTO audit (id, at, actor, role, token, via, action, target, outcome, reason, before, after, request)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

	// Each of the three reads its own index from the place where the page begins, and leaves out what the other conditions do not select.
	auditColumns   = `SELECT id, at, actor, role, token, via, action, target, outcome, reason, before, after, request FROM audit INDEXED BY `
	auditRest      = ` (at, id) < (?, ?) AND at >= ? AND (action = ? OR ? = '') AND (outcome = ? OR ? = '') ORDER BY at DESC, id DESC LIMIT +?`
	selectAudit    = auditColumns + `audit_by_time WHERE` + auditRest
	selectByActor  = auditColumns + `audit_by_actor WHERE actor = ? AND` + auditRest
	selectByAction = auditColumns + `audit_by_action WHERE action = ? AND` + auditRest
)

func (w *writer) addAudit(r *decision.AuditRecord) error {
	return w.statement(insertAudit).text(r.ID).int(int64(r.At)).text(r.Actor).text(r.Role).text(r.TokenID).text(r.Via).text(r.Action).text(r.Target).
		text(r.Outcome).text(r.Reason).blob(r.Before).blob(r.After).text(r.RequestID).exec()
}

// AddAudit implements [decision.Auditor].
func (s *Store) AddAudit(ctx context.Context, r decision.AuditRecord) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("add audit record: %w", err)
	}
	return s.write(ctx, "add audit record", func(w *writer) error { return w.addAudit(&r) })
}

// Audit implements [decision.Auditor].
func (s *Store) Audit(ctx context.Context, f decision.AuditFilter, after *decision.AuditCursor, limit int) ([]decision.AuditRecord, *decision.AuditCursor, error) {
	var out []decision.AuditRecord
	err := s.read(ctx, "read audit", func(conn *sqlite.Conn) error {
		return auditQuery(conn, f, after, limit+1).each(func(r *statement) error {
			out = append(out, getAudit(r))
			return nil
		})
	})
	if err != nil || len(out) <= limit {
		return out, nil, err
	}
	last := out[limit-1]
	return out[:limit], &decision.AuditCursor{At: last.At, ID: last.ID}, nil
}

// auditQuery binds the query that reads the fewest rows.
func auditQuery(conn *sqlite.Conn, f decision.AuditFilter, after *decision.AuditCursor, limit int) *statement {
	place := decision.AuditCursor{At: math.MaxInt64}
	if f.To.Known() {
		place.At = f.To
	}
	if after != nil && after.At < place.At {
		place = *after
	}
	q := prepare(conn, selectAudit)
	switch {
	case f.Actor != "":
		q = prepare(conn, selectByActor).text(f.Actor)
	case f.Action != "":
		q = prepare(conn, selectByAction).text(f.Action)
	}
	return q.int(int64(place.At)).text(place.ID).int(int64(f.From)).text(f.Action).text(f.Action).text(f.Outcome).text(f.Outcome).int(int64(limit))
}

func getAudit(r *statement) decision.AuditRecord {
	return decision.AuditRecord{
		ID: r.getText(), At: lifecycle.Micros(r.getInt()), Actor: r.getText(), Role: r.getText(), TokenID: r.getText(), Via: r.getText(),
		Action: r.getText(), Target: r.getText(), Outcome: r.getText(), Reason: r.getText(), Before: r.getBytes(), After: r.getBytes(),
		RequestID: r.getText(),
	}
}
