package postgres

import (
	"context"
	"fmt"

	"fleetglass/decision"

	"github.com/jackc/pgx/v5"
)

const (
	insertAudit = `INSERT INTO audit (id, at, actor, role, token, via, action, target, outcome, reason, before, after, request)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`

	// Conditions that select everything are false for the planner, which plans for the values at hand.
	selectAudit = `SELECT id, at, actor, role, token, via, action, target, outcome, reason, before, after, request FROM audit
WHERE (actor = $4 OR $4 = ''::bytea) AND (action = $5 OR $5 = ''::bytea) AND (outcome = $6 OR $6 = '') AND `
	selectOlderAudit = selectAudit + `(at, id) < ($1, $2) AND at >= $3 ORDER BY at DESC, id DESC LIMIT $7`
	selectNewerAudit = selectAudit + `(at, id) > ($1, $2) AND at < $3 ORDER BY at, id LIMIT $7`
)

func queueAudit(writes *pgx.Batch, r *decision.AuditRecord) {
	writes.Queue(insertAudit, auditValues(r)...)
}

func auditValues(r *decision.AuditRecord) []any {
	return []any{
		[]byte(r.ID), int64(r.At), []byte(r.Actor), []byte(r.Role), []byte(r.TokenID), []byte(r.Via), []byte(r.Action), []byte(r.Target), r.Outcome,
		[]byte(r.Reason), notNull(r.Before), notNull(r.After), []byte(r.RequestID),
	}
}

// AddAudit implements [decision.Auditor].
func (s *Store) AddAudit(ctx context.Context, r decision.AuditRecord) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("add audit record: %w", err)
	}
	return s.wrap("add audit record", retry(ctx, func() error {
		_, err := s.pool.Exec(ctx, insertAudit, auditValues(&r)...)
		return err
	}))
}

// Audit implements [decision.Auditor].
func (s *Store) Audit(ctx context.Context, f decision.AuditFilter, from *decision.AuditCursor, limit int) ([]decision.AuditRecord, *decision.AuditCursor, error) {
	begin, end := f.Reading(from)
	query := selectOlderAudit
	if begin.Newer {
		query = selectNewerAudit
	}
	rows, err := s.pool.Query(ctx, query, int64(begin.At), []byte(begin.ID), int64(end), []byte(f.Actor), []byte(f.Action), f.Outcome, limit+1)
	if err != nil {
		return nil, nil, s.wrap("read audit", err)
	}
	found, err := pgx.CollectRows(rows, scanAudit)
	if err != nil {
		return nil, nil, s.wrap("read audit", err)
	}
	out, next := begin.Page(found, limit)
	return out, next, nil
}

func scanAudit(row pgx.CollectableRow) (r decision.AuditRecord, err error) {
	var id, actor, role, token, via, action, target, reason, request []byte
	err = row.Scan(&id, &r.At, &actor, &role, &token, &via, &action, &target, &r.Outcome, &reason, &r.Before, &r.After, &request)
	r.ID, r.Actor, r.Role, r.TokenID, r.Via = string(id), string(actor), string(role), string(token), string(via)
	r.Action, r.Target, r.Reason, r.RequestID = string(action), string(target), string(reason), string(request)
	return r, err
}
