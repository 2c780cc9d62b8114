package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

// arrival is an event of a transaction on its way into its task.
type arrival struct {
	rowcodec.ChunkedEvent
	task  int64
	index int // Among the events of the transaction.
}

// insertEvents stores the events and joins those that were not there. It returns the tasks that each job's new events touch.
func (c *commit) insertEvents(jobs []*job, events []lifecycle.Event) ([]map[string]bool, error) {
	arrivals, err := c.arrivals(events)
	if err != nil {
		return nil, err
	}
	owner := owners(jobs)
	touched := make([]map[string]bool, len(jobs))
	for i, j := range jobs {
		touched[i] = map[string]bool{}
		j.result = lifecycle.Appended{}
	}
	for len(arrivals) > 0 {
		n := slices.IndexFunc(arrivals, func(a arrival) bool { return a.task != arrivals[0].task })
		if n < 0 {
			n = len(arrivals)
		}
		fresh, err := c.insertInto(arrivals[:n], events)
		if err != nil {
			return nil, err
		}
		for _, i := range fresh {
			c.fold.Add(events[i])
			jobs[owner(i)].result.New++
			touched[owner(i)][events[i].TaskID] = true
		}
		arrivals = arrivals[n:]
	}
	return touched, nil
}

// arrivals encodes events and sorts them by task, time and id; of several that are the same the one that was given first comes first.
func (c *commit) arrivals(events []lifecycle.Event) ([]arrival, error) {
	w := c.w
	w.bodies = w.bodies[:0]
	out := make([]arrival, len(events))
	for i := range events {
		e := &events[i]
		stream, err := c.streamOf(e.Message)
		if err != nil {
			return nil, err
		}
		from := len(w.bodies)
		w.bodies = rowcodec.AppendEvent(w.bodies, e)
		out[i] = arrival{task: c.taskRow(e.TaskID), index: i, ChunkedEvent: rowcodec.ChunkedEvent{
			Position: rowcodec.Position{At: int64(e.At), ID: columns.StoredID(e.ID)}, Stream: stream, Seq: int64(e.Message.Seq), Body: w.bodies[from:],
		}}
	}
	slices.SortFunc(out, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.task, b.task), a.Compare(b.ChunkedEvent), cmp.Compare(a.index, b.index))
	})
	return out, nil
}

// insertInto stores the arrivals of one task and returns the indexes of the new ones.
func (c *commit) insertInto(arrivals []arrival, events []lifecycle.Event) ([]int, error) {
	some := make([]rowcodec.ChunkedEvent, len(arrivals))
	for i, a := range arrivals {
		some[i] = a.ChunkedEvent
	}
	_, known := c.rows[events[arrivals[0].index].TaskID]
	fresh, err := c.w.putEvents(arrivals[0].task, some, known || c.moved[arrivals[0].task])
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, len(fresh))
	for _, a := range arrivals {
		if len(fresh) > len(out) && fresh[len(out)].Position == a.Position {
			out = append(out, a.index)
		}
	}
	return out, nil
}

// owners tells which job an event of the transaction came with.
func owners(jobs []*job) func(event int) int {
	ends := make([]int, len(jobs))
	n := 0
	for i, j := range jobs {
		n += len(j.batch.Events)
		ends[i] = n
	}
	return func(event int) int { i, _ := slices.BinarySearch(ends, event+1); return i }
}

// streamOf returns the row id of a message's stream, zero for no message.
func (c *commit) streamOf(k lifecycle.MessageKey) (int64, error) {
	if k.IsZero() {
		return 0, nil
	}
	return c.w.stream(k.Stream)
}

const deleteEventsOf = `DELETE FROM events WHERE task = ?`

// moveEvents gives the stored events of messages to the tasks that they were found to belong to.
func (c *commit) moveEvents(moves []lifecycle.Move) error {
	for _, m := range moves {
		stream, err := c.w.stream(m.Key.Stream)
		if err != nil {
			return err
		}
		if err := c.w.moveEvents(c.taskRow(m.From), c.taskRow(m.To), stream, int64(m.Key.Seq)); err != nil {
			return err
		}
		c.moved[c.taskRow(m.To)] = true
	}
	return nil
}

func (w *writer) moveEvents(from, to, stream, seq int64) error {
	all, places, err := w.overlapping(from, rowcodec.Position{At: math.MinInt64, ID: math.MinInt64}, rowcodec.Position{At: math.MaxInt64, ID: math.MaxInt64})
	if err != nil || len(places) == 0 {
		return err
	}
	var stay, move []rowcodec.ChunkedEvent
	for _, e := range all {
		if e.Stream == stream && e.Seq == seq {
			move = append(move, e)
		} else {
			stay = append(stay, e)
		}
	}
	if len(move) == 0 {
		return nil
	}
	if err := w.statement(deleteEventsOf).int(from).exec(); err != nil {
		return err
	}
	if err := w.writeChunks(from, stay); err != nil {
		return err
	}
	_, err = w.putEvents(to, move, true)
	return err
}

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
