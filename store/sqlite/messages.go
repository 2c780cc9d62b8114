package sqlite

import (
	"context"
	"fmt"
	"math"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

// messagePlace is where a stored message stands in the indexes.
type messagePlace struct {
	task       int64
	generation int64
	open       bool
}

const loadMessage = `SELECT m.task, m.generation, m.open, m.facts, t.task_id, t.published, t.listed, t.facts
FROM messages m JOIN tasks t ON t.id = m.task WHERE m.stream = ? AND m.seq = ?`

// loadMessages gives the stored ones of the messages to the fold, and keeps their tasks, which it will ask for next.
func (c *commit) loadMessages(keys []lifecycle.MessageKey) error {
	load := c.w.statement(loadMessage)
	for _, k := range keys {
		stream, err := c.w.stream(k.Stream)
		if err != nil {
			return err
		}
		beyond, err := c.w.isBeyond(stream, k.Seq)
		if err != nil {
			return err
		}
		if beyond {
			continue
		}
		err = load.int(stream).int(int64(k.Seq)).each(func(r *statement) error { return c.loadMessage(k, r) })
		if err != nil {
			return err
		}
	}
	return nil
}

const highestMessage = `SELECT coalesce(max(seq), 0) FROM messages WHERE stream = ?`

// isBeyond reports whether a sequence lies beyond all stored ones of its stream, as that of a new message mostly does: it need not be
// looked for. Sequences that are kept as negative numbers are always looked for.
func (w *writer) isBeyond(stream int64, seq uint64) (bool, error) {
	if seq > math.MaxInt64 {
		return false, nil
	}
	highest, known := w.highest[stream]
	if !known {
		err := w.statement(highestMessage).int(stream).each(func(r *statement) error { highest = r.getInt(); return nil })
		if err != nil {
			return false, err
		}
		w.highest[stream] = highest
	}
	return int64(seq) > highest, nil
}

func (c *commit) loadMessage(k lifecycle.MessageKey, r *statement) error {
	place := messagePlace{task: r.getInt(), generation: r.getInt(), open: r.getFlag()}
	facts, err := rowcodec.Message(k, r.getBlob())
	if err != nil {
		return err
	}
	task := r.getText()
	c.messages[k] = place
	c.fold.LoadMessage(lifecycle.MessageRow{Facts: facts, TaskID: task, Open: place.open})
	return c.loadTask(place.task, task, r)
}

// A message that stays where it is in the indexes is written without them.
const (
	insertMessage = `INSERT INTO messages (facts, open, task, generation, stream, seq) VALUES (?, ?, ?, ?, ?, ?)`
	moveMessage   = `UPDATE messages SET facts = ?, open = ?, task = ?, generation = ? WHERE stream = ? AND seq = ?`
	settleMessage = `UPDATE messages SET facts = ?, open = ? WHERE stream = ? AND seq = ?`
	updateMessage = `UPDATE messages SET facts = ? WHERE stream = ? AND seq = ?`
)

func (c *commit) writeMessage(m *lifecycle.MessageRow) error {
	stream, err := c.w.stream(m.Facts.Key.Stream)
	if err != nil {
		return err
	}
	place := messagePlace{task: c.taskRow(m.TaskID), generation: int64(m.Facts.Generation()), open: m.Open}
	old, stored := c.messages[m.Facts.Key]
	w := c.w
	w.buffer = rowcodec.AppendMessage(w.buffer[:0], &m.Facts)
	var q *statement
	switch {
	case !stored:
		if highest, known := w.highest[stream]; known {
			w.highest[stream] = max(highest, int64(m.Facts.Key.Seq))
		}
		q = w.statement(insertMessage).blob(w.buffer).flag(place.open).int(place.task).int(place.generation)
	case place.task != old.task || place.generation != old.generation:
		q = w.statement(moveMessage).blob(w.buffer).flag(place.open).int(place.task).int(place.generation)
	case place.open != old.open:
		q = w.statement(settleMessage).blob(w.buffer).flag(place.open)
	default:
		q = w.statement(updateMessage).blob(w.buffer)
	}
	return q.int(stream).int(int64(m.Facts.Key.Seq)).exec()
}

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
