package sqlite

import (
	"context"

	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	upsertTrace = `INSERT INTO task_traces (task, generation, told, due) VALUES (?, ?, -1, ?)
ON CONFLICT (task) DO UPDATE SET generation = excluded.generation, due = excluded.due WHERE generation < excluded.generation`
	deleteTraceOf = `DELETE FROM task_traces WHERE task = ?`
	claimTraces   = `UPDATE task_trace_teller SET token = token + (holder <> ? OR until <= ?), holder = ?, until = ?
WHERE one = 1 AND (holder = ? OR until <= ?) RETURNING token`
	selectDueTraces = `SELECT q.task, t.task_id, q.generation, q.told, q.due FROM task_traces q INDEXED BY task_traces_due JOIN tasks t ON t.id = q.task
WHERE q.due > 0 AND q.due <= ? ORDER BY q.due, q.task LIMIT +?`
	checkTeller = `SELECT token FROM task_trace_teller WHERE one = 1 AND token = ?`
	tellTrace   = `UPDATE task_traces SET told = ?, due = CASE WHEN generation = ? THEN 0 ELSE due END WHERE task = ?`
	undoTrace   = `UPDATE task_traces SET generation = told, due = 0 WHERE task = ? AND generation = ?`
)

// noteTraces notes the tasks that have ended.
func (c *commit) noteTraces(rows []lifecycle.TaskRow) error {
	if c.w.traceDue == nil {
		return nil
	}
	for _, r := range rows {
		if !r.Ended() {
			continue
		}
		if err := c.w.statement(upsertTrace).int(c.taskRow(r.Facts.ID)).int(int64(r.Summary.Generation)).int(int64(c.w.traceDue())).exec(); err != nil {
			return err
		}
	}
	return nil
}

// ClaimTraces implements [lifecycle.TraceQueue].
func (s *Store) ClaimTraces(ctx context.Context, c lifecycle.TraceClaim) (token uint64, claimed bool, err error) {
	now := int64(c.Now)
	err = s.write(ctx, "claim traces", func(w *writer) error {
		claimed = false
		return w.statement(claimTraces).text(c.Holder).int(now).text(c.Holder).int(int64(c.Until)).text(c.Holder).int(now).each(func(row *statement) error {
			token, claimed = uint64(row.getInt()), true
			return nil
		})
	})
	return token, claimed, err
}

// DueTraces implements [lifecycle.TraceQueue].
func (s *Store) DueTraces(ctx context.Context, now lifecycle.Micros, limit int) (out []lifecycle.DueTrace, err error) {
	err = s.readShort(ctx, "read due traces", func(conn *sqlite.Conn) error {
		return prepare(conn, selectDueTraces).int(int64(now)).int(int64(limit)).each(func(r *statement) error {
			out = append(out, lifecycle.DueTrace{Key: r.getInt(), TaskID: r.getText(), Ended: int(r.getInt()), Told: int(r.getInt()), Due: lifecycle.Micros(r.getInt())})
			return nil
		})
	})
	return out, err
}

// TracesTold implements [lifecycle.TraceQueue].
func (s *Store) TracesTold(ctx context.Context, token uint64, told []lifecycle.ToldTrace) error {
	return s.write(ctx, "note told traces", func(w *writer) error {
		latest := false
		if err := w.statement(checkTeller).int(int64(token)).each(func(*statement) error { latest = true; return nil }); err != nil {
			return err
		}
		if !latest {
			return lifecycle.ErrTakenOver
		}
		for _, t := range told {
			q := w.statement(tellTrace).int(int64(t.Ended)).int(int64(t.Ended)).int(t.Key)
			if t.Undone {
				q = w.statement(undoTrace).int(t.Key).int(int64(t.Ended))
			}
			if err := q.exec(); err != nil {
				return err
			}
		}
		return nil
	})
}
