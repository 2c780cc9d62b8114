package sqlite

import "fleetglass/store/internal/rowcodec"

const (
	insertChunk  = `INSERT INTO events (task, at, id, chunk) VALUES (?, ?, ?, ?)`
	deleteChunk  = `DELETE FROM events WHERE task = ? AND at = ? AND id = ?`
	selectChunks = `SELECT at, id, chunk FROM events WHERE task = ? AND (at, id) >= (?, ?) ORDER BY at, id`
)

// putEvents stores events of a task, which are sorted. Those that are there already stay as they are. It returns the ones that were not
// there. known says that the task may have events.
func (w *writer) putEvents(task int64, events []rowcodec.ChunkedEvent, known bool) ([]rowcodec.ChunkedEvent, error) {
	var old []rowcodec.ChunkedEvent
	var places []rowcodec.Position
	if known {
		var err error
		if old, places, err = w.overlapping(task, events[0].Position, events[len(events)-1].Position); err != nil {
			return nil, err
		}
	}
	all, fresh := rowcodec.MergeChunked(old, events)
	if len(fresh) == 0 {
		return nil, nil
	}
	for _, p := range places {
		if err := w.statement(deleteChunk).int(task).int(p.At).int(p.ID).exec(); err != nil {
			return nil, err
		}
	}
	return fresh, w.writeChunks(task, all)
}

// overlapping reads the chunks of a task that hold any place from one position to another, and says where they are.
func (w *writer) overlapping(task int64, from, to rowcodec.Position) (events []rowcodec.ChunkedEvent, places []rowcodec.Position, err error) {
	q := w.statement(selectChunks).int(task).int(from.At).int(from.ID)
	for q.next() {
		p := rowcodec.Position{At: q.getInt(), ID: q.getInt()}
		n := len(events)
		if events, err = rowcodec.ReadChunk(events, q.getBlob()); err != nil || events[n].Position.Compare(to) > 0 {
			events = events[:n]
			break
		}
		places = append(places, p)
	}
	if e := q.done(); err == nil {
		err = e
	}
	return events, places, err
}

// writeChunks inserts sorted events.
func (w *writer) writeChunks(task int64, events []rowcodec.ChunkedEvent) error {
	for len(events) > 0 {
		var last rowcodec.Position
		w.buffer, last, events = rowcodec.AppendChunk(w.buffer[:0], events)
		if err := w.statement(insertChunk).int(task).int(last.At).int(last.ID).blob(w.buffer).exec(); err != nil {
			return err
		}
	}
	return nil
}
