package sqlite

import (
	"context"
	"fmt"
	"math"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const insertEvent = `INSERT INTO events (task, at, id, stream, seq, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

// insertEvent inserts an event and reports whether it was new.
func (c *commit) insertEvent(e lifecycle.Event) (bool, error) {
	stream, err := c.streamOf(e.Message)
	if err != nil {
		return false, err
	}
	w := c.w
	w.buffer = rowcodec.AppendEvent(w.buffer[:0], &e)
	err = w.statement(insertEvent).int(c.taskRow(e.TaskID)).int(int64(e.At)).int(storedID(e.ID)).
		int(stream).int(int64(e.Message.Seq)).blob(w.buffer).exec()
	return w.conn.Changes() > 0, err
}

// streamOf returns the row id of a message's stream, zero for no message.
func (c *commit) streamOf(k lifecycle.MessageKey) (int64, error) {
	if k.IsZero() {
		return 0, nil
	}
	return c.w.stream(k.Stream)
}

const moveEvents = `UPDATE OR IGNORE events SET task = ? WHERE task = ? AND stream = ? AND seq = ?`

const dropMovedEvents = `DELETE FROM events WHERE task = ? AND stream = ? AND seq = ?`

// moveEvents gives the stored events of messages to the tasks that they were found to belong to.
func (c *commit) moveEvents(moves []lifecycle.Move) error {
	for _, m := range moves {
		stream, err := c.w.stream(m.Key.Stream)
		if err != nil {
			return err
		}
		from, to, seq := c.taskRow(m.From), c.taskRow(m.To), int64(m.Key.Seq)
		if err := c.w.statement(moveEvents).int(to).int(from).int(stream).int(seq).exec(); err != nil {
			return err
		}
		if err := c.w.statement(dropMovedEvents).int(from).int(stream).int(seq).exec(); err != nil {
			return err
		}
	}
	return nil
}

const selectEvents = `SELECT e.at, e.id, e.stream, e.seq, e.body FROM events e
WHERE e.task = ? AND (e.at, e.id) > (?, ?) ORDER BY e.at, e.id LIMIT ?`

const selectEvent = `SELECT e.at, e.id, e.stream, e.seq, e.body FROM events e WHERE e.task = ? AND e.id = ? ORDER BY e.at LIMIT 1`

// Events implements [lifecycle.TraceReader].
func (s *Store) Events(ctx context.Context, taskID string, after lifecycle.EventPosition, limit int) ([]lifecycle.Event, error) {
	var out []lifecycle.Event
	err := s.read(ctx, "read events", func(conn *sqlite.Conn) error {
		task, found, err := taskRowOf(conn, taskID)
		if err != nil || !found {
			return err
		}
		at, id := int64(after.At), storedID(after.ID)
		if after == (lifecycle.EventPosition{}) {
			at, id = math.MinInt64, math.MinInt64
		}
		out, err = getEvents(conn, prepare(conn, selectEvents).int(task).int(at).int(id).int(int64(limit)), taskID)
		return err
	})
	return out, err
}

// Event implements [lifecycle.TraceReader].
func (s *Store) Event(ctx context.Context, taskID string, id lifecycle.EventID) (lifecycle.Event, error) {
	var out lifecycle.Event
	err := s.read(ctx, "read event", func(conn *sqlite.Conn) error {
		task, found, err := taskRowOf(conn, taskID)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("event %v of task %q: %w", id, taskID, lifecycle.ErrNotFound)
		}
		events, err := getEvents(conn, prepare(conn, selectEvent).int(task).int(storedID(id)), taskID)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return fmt.Errorf("event %v of task %q: %w", id, taskID, lifecycle.ErrNotFound)
		}
		out = events[0]
		return nil
	})
	return out, err
}

func getEvents(conn *sqlite.Conn, query *statement, taskID string) ([]lifecycle.Event, error) {
	names, err := loadStreams(conn)
	if err != nil {
		return nil, err
	}
	var out []lifecycle.Event
	err = query.each(func(r *statement) error {
		e := lifecycle.Event{TaskID: taskID}
		err := getEvent(r, names, &e)
		out = append(out, e)
		return err
	})
	return out, err
}

func getEvent(r *statement, names *streams, e *lifecycle.Event) error {
	e.At, e.ID = lifecycle.Micros(r.getInt()), loadedID(r.getInt())
	e.Message = lifecycle.MessageKey{Stream: names.names[r.getInt()], Seq: uint64(r.getInt())}
	return rowcodec.ReadEvent(e, r.getBlob())
}
