package sqlite

import (
	"context"
	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"
	"math"

	"zombiezen.com/go/sqlite"
)

const selectMessagesIn = `SELECT seq, facts FROM messages WHERE stream = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT +?`

// MessagesIn implements [lifecycle.OpenReader].
func (s *Store) MessagesIn(ctx context.Context, stream lifecycle.StreamID, from, to uint64, limit int) ([]lifecycle.MessageFacts, error) {
	var out []lifecycle.MessageFacts
	err := s.read(ctx, "read messages", func(conn *sqlite.Conn) error {
		id, found, err := streamID(prepare(conn, selectStream), stream)
		if err != nil || !found {
			return err
		}
		for _, p := range columns.Spans(from, to) {
			query := prepare(conn, selectMessagesIn).int(id).int(p.From).int(p.To).int(int64(limit - len(out)))
			err := query.each(func(r *statement) error {
				m, err := rowcodec.Message(lifecycle.MessageKey{Stream: stream, Seq: uint64(r.getInt())}, r.getBlob())
				out = append(out, m)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

const selectOpen = `SELECT m.seq, m.facts, t.task_id, t.facts FROM messages m INDEXED BY messages_open JOIN tasks t ON t.id = m.task
WHERE m.open = 1 AND m.stream = ? AND m.seq BETWEEN ? AND ? ORDER BY m.seq LIMIT +?`

// OpenMessages implements [lifecycle.OpenReader].
func (s *Store) OpenMessages(ctx context.Context, stream lifecycle.StreamID, from uint64, limit int) ([]lifecycle.OpenMessage, error) {
	var out []lifecycle.OpenMessage
	err := s.read(ctx, "read open messages", func(conn *sqlite.Conn) error {
		names, err := loadStreams(conn)
		if err != nil {
			return err
		}
		which := []lifecycle.StreamID{stream}
		if stream == (lifecycle.StreamID{}) {
			which, from = names.sorted(), 0
		}
		for _, name := range which {
			id, known := names.ids[name]
			if !known {
				continue
			}
			if out, err = getOpen(conn, out, name, id, from, limit); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func getOpen(conn *sqlite.Conn, out []lifecycle.OpenMessage, name lifecycle.StreamID, id int64, from uint64, limit int) ([]lifecycle.OpenMessage, error) {
	for _, p := range columns.Spans(from, math.MaxUint64) {
		query := prepare(conn, selectOpen).int(id).int(p.From).int(p.To).int(int64(limit - len(out)))
		var err error
		if out, err = withTasks(query, out, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withTasks appends the messages of a stream that a query finds as sequence and facts, each with the id and the facts of its task.
func withTasks(query *statement, out []lifecycle.OpenMessage, stream lifecycle.StreamID) ([]lifecycle.OpenMessage, error) {
	err := query.each(func(r *statement) error {
		var m lifecycle.OpenMessage
		var err error
		if m.Message, err = rowcodec.Message(lifecycle.MessageKey{Stream: stream, Seq: uint64(r.getInt())}, r.getBlob()); err != nil {
			return err
		}
		m.Task, err = rowcodec.Task(r.getText(), r.getBlob())
		out = append(out, m)
		return err
	})
	return out, err
}

const selectUnlisted = `SELECT task_id, facts FROM tasks INDEXED BY tasks_unlisted
WHERE listed = 0 AND attempted = 1 AND last_event < ? ORDER BY last_event, task_id LIMIT +?`

// UnlistedTasks implements [lifecycle.OpenReader]: the oldest first.
func (s *Store) UnlistedTasks(ctx context.Context, before lifecycle.Micros, limit int) ([]lifecycle.TaskFacts, error) {
	var out []lifecycle.TaskFacts
	err := s.read(ctx, "read unlisted tasks", func(conn *sqlite.Conn) error {
		return prepare(conn, selectUnlisted).int(int64(before)).int(int64(limit)).each(func(r *statement) error {
			t, err := rowcodec.Task(r.getText(), r.getBlob())
			out = append(out, t)
			return err
		})
	})
	return out, err
}
