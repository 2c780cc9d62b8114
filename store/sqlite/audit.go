package sqlite

import (
	"context"
	"fmt"

	"fleetglass/decision"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	insertAudit = `INSERT INTO audit (id, at, actor, role, token, via, action, target, outcome, reason, before, after, request)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

	// Each of the three reads its own index from the place where the page begins, towards older or newer records, and leaves out what the other conditions do
	// not select.
	auditColumns   = `SELECT id, at, actor, role, token, via, action, target, outcome, reason, before, after, request FROM audit INDEXED BY `
	selectAudit    = auditColumns + `audit_by_time WHERE`
	selectByActor  = auditColumns + `audit_by_actor WHERE actor = ? AND`
	selectByAction = auditColumns + `audit_by_action WHERE action = ? AND`
	auditRest      = ` AND (action = ? OR ? = '') AND (outcome = ? OR ? = '')`
	olderAudit     = ` (at, id) < (?, ?) AND at >= ?` + auditRest + ` ORDER BY at DESC, id DESC LIMIT +?`
	newerAudit     = ` (at, id) > (?, ?) AND at < ?` + auditRest + ` ORDER BY at, id LIMIT +?`
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
func (s *Store) Audit(ctx context.Context, f decision.AuditFilter, from *decision.AuditCursor, limit int) ([]decision.AuditRecord, *decision.AuditCursor, error) {
	begin, end := f.Reading(from)
	var found []decision.AuditRecord
	err := s.read(ctx, "read audit", func(conn *sqlite.Conn) error {
		return auditQuery(conn, f, begin, end, limit+1).each(func(r *statement) error {
			found = append(found, getAudit(r))
			return nil
		})
	})
	if err != nil {
		return nil, nil, err
	}
	out, next := begin.Page(found, limit)
	return out, next, nil
}

// auditQuery binds the query that reads the fewest rows.
func auditQuery(conn *sqlite.Conn, f decision.AuditFilter, begin decision.AuditCursor, end lifecycle.Micros, limit int) *statement {
	towards := olderAudit
	if begin.Newer {
		towards = newerAudit
	}
	var q *statement
	switch {
	case f.Actor != "":
		q = prepare(conn, selectByActor+towards).text(f.Actor)
	case f.Action != "":
		q = prepare(conn, selectByAction+towards).text(f.Action)
	default:
		q = prepare(conn, selectAudit+towards)
	}
	return q.int(int64(begin.At)).text(begin.ID).int(int64(end)).text(f.Action).text(f.Action).text(f.Outcome).text(f.Outcome).int(int64(limit))
}

func getAudit(r *statement) decision.AuditRecord {
	return decision.AuditRecord{
		ID: r.getText(), At: lifecycle.Micros(r.getInt()), Actor: r.getText(), Role: r.getText(), TokenID: r.getText(), Via: r.getText(),
		Action: r.getText(), Target: r.getText(), Outcome: r.getText(), Reason: r.getText(), Before: r.getBytes(), After: r.getBytes(),
		RequestID: r.getText(),
	}
}
