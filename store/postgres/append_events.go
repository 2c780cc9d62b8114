package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

// arrival is an event of a transaction on its way into its task.
type arrival struct {
	rowcodec.ChunkedEvent
	task  *taskRow
	index int // Among the events of the transaction.
}

// shelving is what a transaction changes in the table of events.
type shelving struct {
	fresh []int        // The events that are new, in the order of their tasks, times and ids.
	gone  []chunkPlace // Rows to be deleted before the others are written.
	rows  []chunkRow
	room  *room
}

// room is memory that one transaction after another uses, because most of what a transaction writes is events. (A pool would be empty each
// time: about as many collections of garbage come by as transactions.)
type room struct {
	events         []lifecycle.Event
	bodies, chunks []byte
}

// keptRoom is the size in bytes above which memory is not kept.
const keptRoom = 16 << 20

func (s *Store) takeRoom() *room {
	if r := s.room.Swap(nil); r != nil {
		return r
	}
	return &room{}
}

func (s *Store) giveRoom(r *room) {
	clear(r.events)
	r.events, r.bodies, r.chunks = r.events[:0], r.bodies[:0], r.chunks[:0]
	if cap(r.bodies)+cap(r.chunks) <= keptRoom {
		s.room.Store(r)
	}
}

// chunkRow is a row of the table of events.
type chunkRow struct {
	task  int64
	last  rowcodec.Position
	chunk []byte
}

// shelve finds out which of the events in the room are new, and readies the rows that hold them. Only what lies in the span of a task's
// events can be stored, so for most tasks nothing is read.
func (f *folding) shelve(ctx context.Context, room *room) (*shelving, error) {
	s := &shelving{room: room}
	arrivals := f.arrivals(room)
	shelves, err := f.openShelves(ctx, arrivals)
	if err != nil {
		return nil, err
	}
	f.moveBetween(shelves)
	for len(arrivals) > 0 {
		task, n := arrivals[0].task.id, tasksEnd(arrivals)
		s.put(task, arrivals[:n], shelves[task])
		delete(shelves, task)
		arrivals = arrivals[n:]
	}
	for _, task := range slices.Sorted(maps.Keys(shelves)) {
		if shelves[task].torn {
			s.put(task, nil, shelves[task])
		}
	}
	return s, nil
}

// arrivals encodes events and sorts them by task, time and id; of several that are the same the one that was given first comes first.
func (f *folding) arrivals(room *room) []arrival {
	out := make([]arrival, len(room.events))
	stream := f.store.streams.memo()
	for i := range room.events {
		e := &room.events[i]
		from := len(room.bodies)
		room.bodies = rowcodec.AppendEvent(room.bodies, e)
		out[i] = arrival{task: f.tasks[e.TaskID], index: i, ChunkedEvent: rowcodec.ChunkedEvent{
			Position: rowcodec.Position{At: int64(e.At), ID: columns.StoredID(e.ID)},
			Stream:   int64(stream(e.Message.Stream)), // Zero where there is no message.
			Seq:      int64(e.Message.Seq),
			Body:     room.bodies[from:],
		}}
	}
	slices.SortFunc(out, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.task.id, b.task.id), a.Compare(b.ChunkedEvent), cmp.Compare(a.index, b.index))
	})
	return out
}

// tasksEnd counts the arrivals, at the front, of the first one's task.
func tasksEnd(arrivals []arrival) int {
	n := slices.IndexFunc(arrivals, func(a arrival) bool { return a.task != arrivals[0].task })
	if n < 0 {
		return len(arrivals)
	}
	return n
}

// put readies the rows of one task.
func (s *shelving) put(task int64, arrivals []arrival, stored *shelf) {
	events := make([]rowcodec.ChunkedEvent, len(arrivals))
	for i, a := range arrivals {
		events[i] = a.ChunkedEvent
	}
	old, places := stored.inTheWay(events)
	all, fresh := rowcodec.MergeChunked(old, events)
	if len(fresh) == 0 && (stored == nil || !stored.torn) {
		return
	}
	for _, a := range arrivals {
		if len(fresh) > 0 && fresh[0].Position == a.Position {
			s.fresh, fresh = append(s.fresh, a.index), fresh[1:]
		}
	}
	s.gone = append(s.gone, places...)
	for len(all) > 0 {
		from := len(s.room.chunks)
		var last rowcodec.Position
		s.room.chunks, last, all = rowcodec.AppendChunk(s.room.chunks, all)
		s.rows = append(s.rows, chunkRow{task, last, s.room.chunks[from:]})
	}
}

const (
	// The partition is named. To plan for a year of them takes longer than to delete from one, and were the days bounded as in
	// selectShelves, rows newer than what the database knows of a day would be taken for none, and the day be read from end to end.
	deleteChunks = `DELETE FROM %s e USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (task, at, id)
WHERE e.task = u.task AND e.at = u.at AND e.id = u.id`
	copyChunks = `COPY events (task, at, id, chunk) FROM STDIN BINARY`
)

// write changes the table of events.
func (s *shelving) write(ctx context.Context, tx pgx.Tx) error {
	var deletes pgx.Batch
	s.queueDeletes(&deletes)
	if err := send(ctx, tx, &deletes); err != nil {
		return err
	}
	return copyRows(ctx, tx, copyChunks, len(s.rows), func(t *tuple, i int) {
		t.columns(4)
		t.int64(s.rows[i].task)
		t.int64(s.rows[i].last.At)
		t.int64(s.rows[i].last.ID)
		t.bytes(s.rows[i].chunk)
	})
}

func (s *shelving) queueDeletes(deletes *pgx.Batch) {
	type columns struct{ tasks, ats, ids []int64 }
	in := map[string]columns{}
	for _, p := range s.gone {
		c := in[p.partition]
		in[p.partition] = columns{append(c.tasks, p.task), append(c.ats, p.last.At), append(c.ids, p.last.ID)}
	}
	for partition, c := range in {
		deletes.Queue(fmt.Sprintf(deleteChunks, partition), c.tasks, c.ats, c.ids)
	}
}
