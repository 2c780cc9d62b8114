package sqlite

import (
	"context"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

const selectAnyMessage = `SELECT 1 FROM messages WHERE stream = ? LIMIT 1`

// MessageStreams implements [reconcile.BalanceReader].
func (s *Store) MessageStreams(ctx context.Context) ([]lifecycle.StreamID, error) {
	var out []lifecycle.StreamID
	err := s.read(ctx, "list streams", func(conn *sqlite.Conn) error {
		names, err := loadStreams(conn)
		if err != nil {
			return err
		}
		for _, name := range names.sorted() {
			err := prepare(conn, selectAnyMessage).int(names.ids[name]).each(func(*statement) error {
				out = append(out, name)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

const selectWithTasks = `SELECT m.seq, m.facts, t.task_id, t.facts FROM messages m JOIN tasks t ON t.id = m.task
WHERE m.stream = ? AND m.seq BETWEEN ? AND ? ORDER BY m.seq LIMIT +?`

// MessagesWithTasks implements [reconcile.BalanceReader].
func (s *Store) MessagesWithTasks(ctx context.Context, stream lifecycle.StreamID, from, to uint64, limit int) ([]lifecycle.OpenMessage, error) {
	var out []lifecycle.OpenMessage
	err := s.read(ctx, "read messages with tasks", func(conn *sqlite.Conn) error {
		id, found, err := streamID(prepare(conn, selectStream), stream)
		if err != nil || !found {
			return err
		}
		for _, p := range columns.Spans(from, to) {
			query := prepare(conn, selectWithTasks).int(id).int(p.From).int(p.To).int(int64(limit - len(out)))
			if out, err = withTasks(query, out, stream); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// selectWithoutMessage finds tasks without a message: those that lists leave out, and those of which a publish stored nothing, which are of one
// state. Both parts come from an index, in its order.
const selectWithoutMessage = `SELECT last_event, task_id, facts FROM (
	SELECT * FROM (SELECT last_event, task_id, facts FROM tasks INDEXED BY tasks_unlisted
		WHERE listed = 0 AND stream = 0 AND last_event >= ?1 AND (last_event > ?1 OR task_id > ?2) ORDER BY last_event, task_id LIMIT +?3)
	UNION ALL
	SELECT * FROM (SELECT last_event, task_id, facts FROM tasks INDEXED BY tasks_by_state
		WHERE listed = 1 AND state = ?4 AND stream = 0 AND last_event >= ?1 AND (last_event > ?1 OR task_id > ?2) ORDER BY last_event, task_id LIMIT +?3)
) ORDER BY last_event, task_id LIMIT +?3`

// TasksWithoutMessage implements [reconcile.BalanceReader].
func (s *Store) TasksWithoutMessage(
	ctx context.Context, since lifecycle.Micros, after *lifecycle.Cursor, limit int,
) (tasks []lifecycle.TaskFacts, next *lifecycle.Cursor, err error) {
	if after == nil {
		after = &lifecycle.Cursor{At: since}
	}
	last := *after
	err = s.read(ctx, "list tasks without a message", func(conn *sqlite.Conn) error {
		query := prepare(conn, selectWithoutMessage).int(int64(after.At)).text(after.TaskID).int(int64(limit)).text(string(lifecycle.StateWithoutMessage))
		return query.each(func(r *statement) error {
			last = lifecycle.Cursor{At: lifecycle.Micros(r.getInt()), TaskID: r.getText()}
			t, err := rowcodec.Task(last.TaskID, r.getBlob())
			tasks = append(tasks, t)
			return err
		})
	})
	if err == nil && len(tasks) == limit {
		next = &last
	}
	return tasks, next, err
}
