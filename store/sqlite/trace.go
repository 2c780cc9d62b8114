package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
)

const selectTaskOf = `SELECT t.task_id FROM messages m JOIN tasks t ON t.id = m.task WHERE m.stream = ? AND m.seq = ?`

// TaskOf implements [lifecycle.TraceReader].
func (s *Store) TaskOf(ctx context.Context, k lifecycle.MessageKey) (string, error) {
	var task string
	err := s.readShort(ctx, "read task of message", func(conn *sqlite.Conn) error {
		stream, found, err := streamID(prepare(conn, selectStream), k.Stream)
		if err != nil {
			return err
		}
		query := prepare(conn, selectTaskOf).int(stream).int(int64(k.Seq))
		if found = found && query.next(); found {
			task = query.getText()
		}
		if err := query.done(); err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("message %v: %w", k, lifecycle.ErrNotFound)
		}
		return nil
	})
	return task, err
}

const selectTaskRow = `SELECT id FROM tasks WHERE task_id = ?`

// taskRowOf returns the row id of a task.
func taskRowOf(conn *sqlite.Conn, id string) (row int64, found bool, err error) {
	query := prepare(conn, selectTaskRow).text(id)
	if found = query.next(); found {
		row = query.getInt()
	}
	return row, found, query.done()
}

const selectTask = `SELECT id, stream, seq, summary, facts FROM tasks WHERE task_id = ?`

// selectMessagesOf gives the newest messages of a task first.
const selectMessagesOf = `SELECT stream, seq, facts FROM messages INDEXED BY messages_of_task WHERE task = ?
ORDER BY generation DESC, stream DESC, seq DESC LIMIT +?`

// Task implements [lifecycle.TraceReader].
func (s *Store) Task(ctx context.Context, id string) (lifecycle.TaskRecord, error) {
	var out lifecycle.TaskRecord
	err := s.readShort(ctx, "read task", func(conn *sqlite.Conn) error {
		names, err := loadStreams(conn)
		if err != nil {
			return err
		}
		row, found := int64(0), false
		err = prepare(conn, selectTask).text(id).each(func(r *statement) error {
			row, found = r.getInt(), true
			out.Summary = lifecycle.TaskSummary{TaskID: id, Message: getKey(r, names)}
			if err := rowcodec.ReadSummary(&out.Summary, r.getBlob(), nil); err != nil {
				return err
			}
			var err error
			out.Facts, err = rowcodec.Task(id, r.getBlob())
			return err
		})
		if err == nil && !found {
			err = fmt.Errorf("task %q: %w", id, lifecycle.ErrNotFound)
		}
		if err != nil {
			return err
		}
		out.Messages, err = getMessagesOf(conn, names, row)
		return err
	})
	if err != nil {
		return lifecycle.TaskRecord{}, err
	}
	return out, nil
}

func getMessagesOf(conn *sqlite.Conn, names *streams, task int64) ([]lifecycle.MessageFacts, error) {
	var out []lifecycle.MessageFacts
	err := prepare(conn, selectMessagesOf).int(task).int(lifecycle.MessagesPerTask).each(func(r *statement) error {
		m, err := rowcodec.Message(getKey(r, names), r.getBlob())
		out = append(out, m)
		return err
	})
	slices.SortFunc(out, func(a, b lifecycle.MessageFacts) int {
		return cmp.Or(cmp.Compare(a.Generation(), b.Generation()), cmp.Compare(a.Key.Stream.Epoch, b.Key.Stream.Epoch), a.Key.Compare(b.Key))
	})
	return out, err
}

// getKey reads the columns stream and seq.
func getKey(r *statement, names *streams) lifecycle.MessageKey {
	return lifecycle.MessageKey{Stream: names.names[r.getInt()], Seq: uint64(r.getInt())}
}

const selectPayload = `SELECT p.at, p.size, p.truncated, p.headers, p.body FROM payloads p JOIN streams s ON s.id = p.stream
WHERE s.account = ? AND s.domain = ? AND s.name = ? AND s.epoch = ? AND p.seq = ?`

// Payload implements [lifecycle.TraceReader].
func (s *Store) Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error) {
	var out lifecycle.Payload
	err := s.readShort(ctx, "read payload", func(conn *sqlite.Conn) error {
		found := false
		err := bindStream(prepare(conn, selectPayload), k.Stream).int(int64(k.Seq)).each(func(r *statement) error {
			found = true
			out = lifecycle.Payload{Message: k, At: lifecycle.Micros(r.getInt()), Size: r.getInt(), Truncated: r.getFlag()}
			var err error
			out.Headers, err = rowcodec.Headers(r.getBlob())
			out.Body = bytes.Clone(r.getBlob())
			return err
		})
		if err == nil && !found {
			err = fmt.Errorf("payload of %v: %w", k, lifecycle.ErrNotFound)
		}
		return err
	})
	return out, err
}
