package sqlite

import (
	"context"
	"fmt"
	"math"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const loadMessage = `SELECT m.open, t.task_id, m.facts FROM messages m JOIN tasks t ON t.id = m.task WHERE m.stream = ? AND m.seq = ?`

// loadMessages gives the stored ones of the messages to the fold.
func (c *commit) loadMessages(keys []lifecycle.MessageKey) error {
	load := c.w.statement(loadMessage)
	for _, k := range keys {
		stream, err := c.w.stream(k.Stream)
		if err != nil {
			return err
		}
		err = load.int(stream).int(int64(k.Seq)).each(func(r *statement) error {
			row := lifecycle.MessageRow{Open: r.getFlag(), TaskID: r.getText()}
			var err error
			if row.Facts, err = rowcodec.Message(k, r.getBlob()); err == nil {
				c.fold.LoadMessage(row)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const upsertMessage = `INSERT INTO messages (stream, seq, task, generation, open, facts) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (stream, seq) DO UPDATE SET task = excluded.task, generation = excluded.generation, open = excluded.open, facts = excluded.facts`

func (c *commit) writeMessage(m lifecycle.MessageRow) error {
	stream, err := c.w.stream(m.Facts.Key.Stream)
	if err != nil {
		return err
	}
	w := c.w
	w.buffer = rowcodec.AppendMessage(w.buffer[:0], &m.Facts)
	return w.statement(upsertMessage).int(stream).int(int64(m.Facts.Key.Seq)).int(c.taskRow(m.TaskID)).
		int(int64(generation(m.Facts))).flag(m.Open).blob(w.buffer).exec()
}

const selectTaskOf = `SELECT t.task_id FROM messages m JOIN tasks t ON t.id = m.task WHERE m.stream = ? AND m.seq = ?`

// TaskOf implements [lifecycle.TraceReader].
func (s *Store) TaskOf(ctx context.Context, k lifecycle.MessageKey) (string, error) {
	var task string
	err := s.read(ctx, "read task of message", func(conn *sqlite.Conn) error {
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

const selectMessagesIn = `SELECT seq, facts FROM messages WHERE stream = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`

// MessagesIn implements [lifecycle.OpenReader].
func (s *Store) MessagesIn(ctx context.Context, stream lifecycle.StreamID, from, to uint64, limit int) ([]lifecycle.MessageFacts, error) {
	var out []lifecycle.MessageFacts
	err := s.read(ctx, "read messages", func(conn *sqlite.Conn) error {
		id, found, err := streamID(prepare(conn, selectStream), stream)
		if err != nil || !found {
			return err
		}
		for _, p := range spans(from, to) {
			query := prepare(conn, selectMessagesIn).int(id).int(p.from).int(p.to).int(int64(limit - len(out)))
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
WHERE m.open = 1 AND m.stream = ? AND m.seq BETWEEN ? AND ? ORDER BY m.seq LIMIT ?`

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
	for _, p := range spans(from, math.MaxUint64) {
		query := prepare(conn, selectOpen).int(id).int(p.from).int(p.to).int(int64(limit - len(out)))
		err := query.each(func(r *statement) error {
			var m lifecycle.OpenMessage
			var err error
			if m.Message, err = rowcodec.Message(lifecycle.MessageKey{Stream: name, Seq: uint64(r.getInt())}, r.getBlob()); err != nil {
				return err
			}
			m.Task, err = rowcodec.Task(r.getText(), r.getBlob())
			out = append(out, m)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
