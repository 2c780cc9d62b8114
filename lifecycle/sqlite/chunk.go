package sqlite

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"fleetglass/internal/rowcodec"
)

// Events lie in chunks: a row holds some of one task's events, in the order of time and id. The chunks of a task do not overlap, so that
// they are read in order as if each event had a row. What one commit brings for a task is mostly one chunk, which is why writing costs
// about one row for each task and not one for each event.

// chunkSize is the size in bytes from which a chunk takes no further event. Beyond about 2,000 a row of this page size would need a page
// of its own.
const chunkSize = 1800

// position is the place of an event in its task. id is as stored ([storedID]).
type position struct{ at, id int64 }

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.at, o.at), cmp.Compare(p.id, o.id))
}

// storedEvent is an event as its chunk holds it.
type storedEvent struct {
	position
	stream, seq int64  // Of its message; zero stream for none.
	body        []byte // Written by rowcodec.
}

func (e storedEvent) compare(o storedEvent) int { return e.position.compare(o.position) }

// appendTo writes an event behind another one at time before.
func (e *storedEvent) appendTo(b []byte, before int64) []byte {
	b = binary.AppendVarint(b, e.at-before)
	b = binary.BigEndian.AppendUint64(b, uint64(e.id))
	b = binary.AppendUvarint(b, uint64(e.stream))
	b = binary.AppendUvarint(b, uint64(e.seq))
	b = binary.AppendUvarint(b, uint64(len(e.body)))
	return append(b, e.body...)
}

// readChunk appends the events of a chunk. Their bodies are part of it.
func readChunk(out []storedEvent, chunk []byte) ([]storedEvent, error) {
	r := chunkReader{rest: chunk, failed: len(chunk) == 0}
	for before := int64(0); r.failed || len(r.rest) > 0; {
		e := storedEvent{position: position{at: before + r.varint(), id: int64(r.fixed())}}
		e.stream, e.seq = int64(r.uvarint()), int64(r.uvarint())
		e.body = r.bytes(r.uvarint())
		if r.failed {
			return out, fmt.Errorf("read chunk of events: %w", rowcodec.ErrCorrupt)
		}
		out, before = append(out, e), e.at
	}
	return out, nil
}

// chunkReader takes numbers from the front of a chunk.
type chunkReader struct {
	rest   []byte
	failed bool
}

func (r *chunkReader) bytes(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *chunkReader) fixed() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *chunkReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	return r.skip(v, n)
}

func (r *chunkReader) varint() int64 {
	v, n := binary.Varint(r.rest)
	return int64(r.skip(uint64(v), n))
}

func (r *chunkReader) skip(v uint64, n int) uint64 {
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

const (
	insertChunk  = `INSERT INTO events (task, at, id, chunk) VALUES (?, ?, ?, ?)`
	deleteChunk  = `DELETE FROM events WHERE task = ? AND at = ? AND id = ?`
	selectChunks = `SELECT at, id, chunk FROM events WHERE task = ? AND (at, id) >= (?, ?) ORDER BY at, id`
)

// putEvents stores events of a task, which are sorted. Those that are there already stay as they are. It returns the ones that were not
// there. known says that the task may have events.
func (w *writer) putEvents(task int64, events []storedEvent, known bool) ([]storedEvent, error) {
	fresh := slices.CompactFunc(events, func(a, b storedEvent) bool { return a.position == b.position })
	if !known {
		return fresh, w.writeChunks(task, fresh)
	}
	old, places, err := w.overlapping(task, fresh[0].position, fresh[len(fresh)-1].position)
	if err != nil {
		return nil, err
	}
	fresh = slices.DeleteFunc(fresh, func(e storedEvent) bool {
		_, found := slices.BinarySearchFunc(old, e, storedEvent.compare)
		return found
	})
	if len(fresh) == 0 {
		return nil, nil
	}
	for _, p := range places {
		if err := w.statement(deleteChunk).int(task).int(p.at).int(p.id).exec(); err != nil {
			return nil, err
		}
	}
	all := fresh
	if len(old) > 0 {
		all = append(old, fresh...)
		slices.SortFunc(all, storedEvent.compare)
	}
	return fresh, w.writeChunks(task, all)
}

// overlapping reads the chunks of a task that hold any place from one position to another, and says where they are.
func (w *writer) overlapping(task int64, from, to position) (events []storedEvent, places []position, err error) {
	q := w.statement(selectChunks).int(task).int(from.at).int(from.id)
	for q.next() {
		p := position{q.getInt(), q.getInt()}
		n := len(events)
		if events, err = readChunk(events, slices.Clone(q.getBlob())); err != nil || events[n].position.compare(to) > 0 {
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

// writeChunks inserts sorted events. A chunk is found by its last event.
func (w *writer) writeChunks(task int64, events []storedEvent) error {
	w.buffer = w.buffer[:0]
	before := int64(0)
	for i, e := range events {
		w.buffer = e.appendTo(w.buffer, before)
		before = e.at
		if i+1 < len(events) && len(w.buffer)+len(events[i+1].body) < chunkSize {
			continue
		}
		if err := w.statement(insertChunk).int(task).int(e.at).int(e.id).blob(w.buffer).exec(); err != nil {
			return err
		}
		w.buffer, before = w.buffer[:0], 0
	}
	return nil
}
