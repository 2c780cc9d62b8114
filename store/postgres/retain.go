package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// retainedAtOnce is the number of tasks that one transaction of Retain looks at.
const retainedAtOnce = 500

// Retain implements [lifecycle.Keeper]. Days whose end is before the cutoff lose their partitions as a whole.
func (s *Store) Retain(ctx context.Context, cutoff, now lifecycle.Micros) (int64, error) {
	total := int64(0)
	for _, listed := range []bool{true, false} {
		n, err := s.retainTasks(ctx, cutoff, listed)
		total += n
		if err != nil {
			return total, s.wrap("delete old tasks", err)
		}
	}
	err := s.wrap("drop old partitions", s.dropDays(ctx, cutoff))
	return total, errors.Join(err, s.wrap("delete old lines, gaps and rollups", s.retainRest(ctx, cutoff, now)))
}

// ended is the place of Retain among the tasks that may be deleted.
type ended struct{ at, id int64 }

func (s *Store) retainTasks(ctx context.Context, cutoff lifecycle.Micros, listed bool) (int64, error) {
	total := int64(0)
	place := &ended{at: math.MinInt64}
	for place != nil {
		var next *ended
		var n int64
		err := retry(ctx, func() error {
			return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
				n, next, err = s.retainSome(ctx, tx, cutoff, listed, *place)
				return err
			})
		})
		if err != nil {
			return total, err
		}
		total, place = total+n, next
	}
	return total, nil
}

const (
	// Who appends to a task holds its row: it is not old then, and is left alone. One that an upgrade has not passed is left to be counted first.
	lockEnded = `SELECT id, last_event FROM tasks WHERE listed = $1 AND fold = $6 AND duplicates >= 0 AND last_event < $2 AND last_event >= $3 AND (last_event, id) > ($3, $4)
ORDER BY last_event, id LIMIT $5 FOR UPDATE SKIP LOCKED`
	// A task is open, or a dead letter of it is not settled.
	selectAwaited = `SELECT task FROM messages WHERE task = ANY($1) AND open UNION SELECT task FROM entries WHERE task = ANY($1) AND status = ANY($2)`
)

// retainSome deletes what has ended of the tasks beyond a place. next is nil when there are no more.
func (s *Store) retainSome(ctx context.Context, tx pgx.Tx, cutoff lifecycle.Micros, listed bool, after ended) (n int64, next *ended, err error) {
	if _, err := tx.Exec(ctx, appendBeside); err != nil { // In the order of locks of everybody.
		return 0, nil, err
	}
	rows, err := tx.Query(ctx, lockEnded, listed, int64(cutoff), after.at, after.id, retainedAtOnce, lifecycle.FoldVersion)
	if err != nil {
		return 0, nil, err
	}
	var ids []int64
	last := after
	if _, err := pgx.ForEachRow(rows, []any{&last.id, &last.at}, func() error { ids = append(ids, last.id); return nil }); err != nil {
		return 0, nil, err
	}
	if len(ids) == retainedAtOnce {
		next = &last
	}
	rows, err = tx.Query(ctx, selectAwaited, ids, dlqtriage.Unsettled())
	if err != nil {
		return 0, nil, err
	}
	awaited, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, nil, err
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(awaited, id) })
	if len(ids) == 0 {
		return 0, next, nil
	}
	return int64(len(ids)), next, s.deleteEnded(ctx, tx, ids, cutoff)
}

const (
	// Events and payloads of days that are dropped as a whole need not be deleted one by one.
	deleteEvents        = `DELETE FROM events WHERE task = ANY($1) AND at >= $2`
	deleteStrayEvents   = `DELETE FROM events_default WHERE task = ANY($1)`
	deleteOldMessages   = `DELETE FROM messages WHERE task = ANY($1) RETURNING stream, seq`
	deletePayloads      = `DELETE FROM payloads p USING unnest($1::integer[], $2::bigint[]) AS u (stream, seq) WHERE p.stream = u.stream AND p.seq = u.seq AND p.at >= $3`
	deleteStrayPayloads = `DELETE FROM payloads_default p USING unnest($1::integer[], $2::bigint[]) AS u (stream, seq) WHERE p.stream = u.stream AND p.seq = u.seq`
	deleteTheTasks      = `DELETE FROM tasks WHERE id = ANY($1)`
)

func (s *Store) deleteEnded(ctx context.Context, tx pgx.Tx, tasks []int64, cutoff lifecycle.Micros) error {
	floor := int64(dayOf(cutoff).begin())
	var streams []int32
	var seqs []int64
	gone, err := s.ended(ctx, tx, tasks)
	if err != nil {
		return err
	}
	var deletes pgx.Batch
	deletes.Queue(deleteEvents, tasks, floor)
	deletes.Queue(deleteStrayEvents, tasks)
	deletes.Queue(deleteOldMessages, tasks).Query(func(rows pgx.Rows) error {
		var stream int32
		var seq int64
		_, err := pgx.ForEachRow(rows, []any{&stream, &seq}, func() error {
			streams, seqs = append(streams, stream), append(seqs, seq)
			return nil
		})
		return err
	})
	deletes.Queue(deleteEntriesOf, tasks)
	deletes.Queue(deleteFollowUpsOf, tasks)
	deletes.Queue(deleteTracesOf, tasks)
	deletes.Queue(deleteTheTasks, tasks)
	if err := tx.SendBatch(ctx, &deletes).Close(); err != nil {
		return err
	}
	var rest pgx.Batch
	rest.Queue(deletePayloads, streams, seqs, floor)
	rest.Queue(deleteStrayPayloads, streams, seqs)
	history, err := s.bounded(ctx, tx, &rest, gone.history)
	if err != nil {
		return err
	}
	gone.history = history[0]
	gone.queue(&rest)
	return tx.SendBatch(ctx, &rest).Close()
}

const (
	deleteQuarantined = `DELETE FROM quarantine WHERE at < $1`
	deleteGaps        = `DELETE FROM gaps WHERE until <> 0 AND until < $1`
	deleteMinutes     = `DELETE FROM %s WHERE metric = ANY($1) AND bucket < $2`
)

func (s *Store) retainRest(ctx context.Context, cutoff, now lifecycle.Micros) error {
	if _, err := s.pool.Exec(ctx, deleteQuarantined, int64(cutoff)); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, deleteGaps, int64(min(cutoff, now.Add(-lifecycle.GapsKept)))); err != nil {
		return err
	}
	return retry(ctx, func() error {
		for _, table := range []string{"rollups", "rollups_next", "rollups_ended"} {
			_, err := s.pool.Exec(ctx, fmt.Sprintf(deleteMinutes, table), metricNames(lifecycle.MinuteMetrics()), int64(now.Add(-lifecycle.MinutesKept)))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	selectOldDays = `SELECT day FROM days WHERE day < $1 ORDER BY day`
	deleteDay     = `DELETE FROM days WHERE day = $1`

	// What belongs to a task or message that stays moves to the default partition.
	dropEvents = `LOCK TABLE events IN ACCESS EXCLUSIVE MODE;
ALTER TABLE events DETACH PARTITION %[1]s;
INSERT INTO events SELECT e.* FROM %[1]s e JOIN tasks t ON t.id = e.task WHERE t.events_from < %[2]d;
DROP TABLE %[1]s`
	dropPayloads = `LOCK TABLE payloads IN ACCESS EXCLUSIVE MODE;
ALTER TABLE payloads DETACH PARTITION %[1]s;
INSERT INTO payloads SELECT p.* FROM %[1]s p JOIN messages m ON m.stream = p.stream AND m.seq = p.seq;
DROP TABLE %[1]s`
)

// dropDays drops the partitions of the days that end before the cutoff. Everybody else waits meanwhile. It errors with errInUse where somebody uses the tables
// for longer than that may take.
func (s *Store) dropDays(ctx context.Context, cutoff lifecycle.Micros) error {
	rows, err := s.pool.Query(ctx, selectOldDays, int32(dayOf(cutoff)))
	if err != nil {
		return err
	}
	days, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return err
	}
	for _, d := range days {
		err := retry(ctx, func() error {
			return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error { return dropDay(ctx, tx, day(d)) })
		})
		if err != nil {
			return err
		}
		s.days.forget(day(d))
	}
	return nil
}

func dropDay(ctx context.Context, tx pgx.Tx, d day) error {
	tag, err := tx.Exec(ctx, deleteDay, int32(d))
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	script := waitBriefly + ";\n" + planFreely + ";\n" + fmt.Sprintf(dropEvents+";\n", d.partition("events"), d.end()) + fmt.Sprintf(dropPayloads, d.partition("payloads"))
	_, err = tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
	return inUse(err)
}
