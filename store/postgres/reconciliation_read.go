package postgres

import (
	"context"
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const selectAnyMessage = `SELECT EXISTS (SELECT FROM messages WHERE stream = $1 LIMIT 1)`

// MessageStreams implements [reconcile.BalanceReader].
func (s *Store) MessageStreams(ctx context.Context) ([]lifecycle.StreamID, error) {
	all, err := s.allStreams(ctx)
	if err != nil {
		return nil, s.wrap("list streams", err)
	}
	var out []lifecycle.StreamID
	for _, name := range all {
		id, _ := s.streams.id(name)
		var some bool
		if err := s.pool.QueryRow(ctx, selectAnyMessage, id).Scan(&some); err != nil {
			return nil, s.wrap(fmt.Sprintf("look for messages of %q", name), err)
		}
		if some {
			out = append(out, name)
		}
	}
	return out, nil
}

const selectWithTasks = `SELECT m.seq, m.facts, t.task_id, t.facts
FROM (SELECT * FROM messages WHERE stream = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq LIMIT $4) m
CROSS JOIN LATERAL (SELECT task_id, facts FROM tasks WHERE id = m.task OFFSET 0) t ORDER BY m.seq`

// MessagesWithTasks implements [reconcile.BalanceReader].
func (s *Store) MessagesWithTasks(ctx context.Context, stream lifecycle.StreamID, from, to uint64, limit int) ([]lifecycle.OpenMessage, error) {
	var out []lifecycle.OpenMessage
	err := s.eachSpan(ctx, stream, from, to, limit, selectWithTasks, func(rows pgx.CollectableRow) error {
		m, err := withTask(rows, stream)
		out = append(out, m)
		return err
	})
	return out, s.wrap(fmt.Sprintf("list messages of %q with their tasks", stream), err)
}

// selectWithoutMessage finds tasks without a message: those that lists leave out, and those of which a publish stored nothing, which are of one
// state. Both parts come from an index, in its order.
const selectWithoutMessage = `(SELECT last_event, task_id, facts FROM tasks WHERE NOT listed AND stream = 0
    AND last_event >= $1 AND (last_event, task_id) > ($1, $2) ORDER BY last_event, task_id LIMIT $3)
UNION ALL
(SELECT last_event, task_id, facts FROM tasks WHERE listed AND state = $4 AND stream = 0
    AND last_event >= $1 AND (last_event, task_id) > ($1, $2) ORDER BY last_event, task_id LIMIT $3)
ORDER BY last_event, task_id LIMIT $3`

// TasksWithoutMessage implements [reconcile.BalanceReader].
func (s *Store) TasksWithoutMessage(
	ctx context.Context, since lifecycle.Micros, after *lifecycle.Cursor, limit int,
) (tasks []lifecycle.TaskFacts, next *lifecycle.Cursor, err error) {
	if after == nil {
		after = &lifecycle.Cursor{At: since}
	}
	rows, err := s.pool.Query(ctx, selectWithoutMessage, int64(after.At), []byte(after.TaskID), limit, string(lifecycle.StateWithoutMessage))
	if err != nil {
		return nil, nil, s.wrap("list tasks without a message", err)
	}
	last := *after
	tasks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (lifecycle.TaskFacts, error) {
		var id, facts []byte
		if err := row.Scan(&last.At, &id, &facts); err != nil {
			return lifecycle.TaskFacts{}, err
		}
		last.TaskID = string(id)
		return rowcodec.Task(last.TaskID, facts)
	})
	if err != nil {
		return nil, nil, s.wrap("list tasks without a message", err)
	}
	if len(tasks) == limit {
		next = &last
	}
	return tasks, next, nil
}
