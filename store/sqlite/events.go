package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

const selectEvents = `SELECT chunk FROM events WHERE task = ? AND (at, id) > (?, ?) ORDER BY at, id`

// Events implements [lifecycle.TraceReader].
func (s *Store) Events(ctx context.Context, taskID string, after lifecycle.EventPosition, limit int) ([]lifecycle.Event, error) {
	from := rowcodec.Position{At: int64(after.At), ID: columns.StoredID(after.ID)}
	if after == (lifecycle.EventPosition{}) {
		from = rowcodec.Position{At: math.MinInt64, ID: math.MinInt64}
	}
	var out []lifecycle.Event
	err := s.eachEvent(ctx, "read events", taskID, from, func(e rowcodec.ChunkedEvent, names *streams) (bool, error) {
		event, err := getEvent(e, names, taskID)
		out = append(out, event)
		return len(out) < limit, err
	})
	return out, err
}

// Event implements [lifecycle.TraceReader].
func (s *Store) Event(ctx context.Context, taskID string, id lifecycle.EventID) (lifecycle.Event, error) {
	var out lifecycle.Event
	found := false
	err := s.eachEvent(ctx, "read event", taskID, rowcodec.Position{At: math.MinInt64, ID: math.MinInt64}, func(e rowcodec.ChunkedEvent, names *streams) (bool, error) {
		if found = e.ID == columns.StoredID(id); !found {
			return true, nil
		}
		var err error
		out, err = getEvent(e, names, taskID)
		return false, err
	})
	if err == nil && !found {
		err = fmt.Errorf("event %v of task %q: %w", id, taskID, lifecycle.ErrNotFound)
	}
	return out, err
}

// eachEvent reads the events of a task behind a position, in order, while f says so.
func (s *Store) eachEvent(
	ctx context.Context, what, taskID string, after rowcodec.Position, f func(rowcodec.ChunkedEvent, *streams) (more bool, err error),
) error {
	return s.readShort(ctx, what, func(conn *sqlite.Conn) error {
		task, found, err := taskRowOf(conn, taskID)
		if err != nil || !found {
			return err
		}
		names, err := loadStreams(conn)
		if err != nil {
			return err
		}
		query := prepare(conn, selectEvents).int(task).int(after.At).int(after.ID)
		more := true
		for more && err == nil && query.next() {
			var events []rowcodec.ChunkedEvent
			events, err = rowcodec.ReadChunk(nil, query.getBlob())
			for _, e := range events {
				if err == nil && more && e.Position.Compare(after) > 0 {
					more, err = f(e, names)
				}
			}
		}
		return cmp.Or(err, query.done())
	})
}

func getEvent(e rowcodec.ChunkedEvent, names *streams, taskID string) (lifecycle.Event, error) {
	out := lifecycle.Event{
		TaskID: taskID, At: lifecycle.Micros(e.At), ID: columns.LoadedID(e.ID),
		Message: lifecycle.MessageKey{Stream: names.names[e.Stream], Seq: uint64(e.Seq)},
	}
	return out, rowcodec.ReadEvent(&out, e.Body)
}
