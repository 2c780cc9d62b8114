package postgres

import (
	"context"
	"errors"
	"time"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const (
	upsertTraces = `INSERT INTO task_traces AS q (task, generation, told, due)
SELECT u.task, u.generation, -1, $3 FROM unnest($1::bigint[], $2::bigint[]) AS u (task, generation) ORDER BY u.task
ON CONFLICT (task) DO UPDATE SET generation = excluded.generation, due = excluded.due WHERE q.generation < excluded.generation`
	deleteTracesOf = `DELETE FROM task_traces WHERE task = ANY($1)`
	claimTraces    = `UPDATE task_trace_teller SET holder = $1, until = $2, token = token + (holder <> $1 OR until <= $3)::int
WHERE one = 1 AND (holder = $1 OR until <= $3) RETURNING token`
	selectDueTraces = `SELECT q.task, t.task_id, q.generation, q.told, q.due FROM task_traces q JOIN tasks t ON t.id = q.task
WHERE q.due > 0 AND q.due <= $1 ORDER BY q.due, q.task LIMIT $2`
	checkTeller = `SELECT token FROM task_trace_teller WHERE one = 1 AND token = $1 FOR UPDATE`
	lockTraces  = `SELECT task FROM task_traces WHERE task = ANY($1) ORDER BY task FOR UPDATE`
	tellTraces  = `UPDATE task_traces q SET told = CASE WHEN u.undone THEN q.told ELSE u.ended END,
    generation = CASE WHEN u.undone AND q.generation = u.ended THEN q.told ELSE q.generation END,
    due = CASE WHEN q.generation = u.ended THEN 0 ELSE q.due END
FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) AS u (task, ended, undone) WHERE q.task = u.task`
)

// queueTraces notes the tasks that have ended.
func (f *folding) queueTraces(writes *pgx.Batch, rows []lifecycle.TaskRow) {
	if f.store.taskTraces <= 0 {
		return
	}
	var tasks, generations []int64
	for _, r := range rows {
		if r.Ended() {
			tasks, generations = append(tasks, f.tasks[r.Facts.ID].id), append(generations, int64(r.Summary.Generation))
		}
	}
	if len(tasks) > 0 {
		writes.Queue(upsertTraces, tasks, generations, int64(lifecycle.MicrosOf(f.store.now()).Add(max(f.store.taskTraces, time.Microsecond))))
	}
}

// ClaimTraces implements [lifecycle.TraceQueue].
func (s *Store) ClaimTraces(ctx context.Context, c lifecycle.TraceClaim) (token uint64, claimed bool, err error) {
	err = retry(ctx, func() error {
		return s.pool.QueryRow(ctx, claimTraces, []byte(c.Holder), int64(c.Until), int64(c.Now)).Scan(&token)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return token, err == nil, s.wrap("claim traces", err)
}

// DueTraces implements [lifecycle.TraceQueue].
func (s *Store) DueTraces(ctx context.Context, now lifecycle.Micros, limit int) ([]lifecycle.DueTrace, error) {
	rows, err := s.pool.Query(ctx, selectDueTraces, int64(now), limit)
	if err != nil {
		return nil, s.wrap("read due traces", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d lifecycle.DueTrace, err error) {
		var id []byte
		err = row.Scan(&d.Key, &id, &d.Ended, &d.Told, &d.Due)
		d.TaskID = string(id)
		return d, err
	})
	return out, s.wrap("read due traces", err)
}

// TracesTold implements [lifecycle.TraceQueue].
func (s *Store) TracesTold(ctx context.Context, token uint64, told []lifecycle.ToldTrace) error {
	var tasks, ended []int64
	var undone []bool
	for _, t := range told {
		tasks, ended, undone = append(tasks, t.Key), append(ended, int64(t.Ended)), append(undone, t.Undone)
	}
	return s.wrap("note told traces", retry(ctx, func() error {
		return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			var now int64
			if err := tx.QueryRow(ctx, checkTeller, int64(token)).Scan(&now); errors.Is(err, pgx.ErrNoRows) {
				return lifecycle.ErrTakenOver
			} else if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, lockTraces, tasks); err != nil { // In the order of those who append.
				return err
			}
			_, err := tx.Exec(ctx, tellTraces, tasks, ended, undone)
			return err
		})
	}))
}
