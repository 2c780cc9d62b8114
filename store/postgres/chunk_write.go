package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/intake"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

// chunkWrite is what a transaction changes in the table of events.
type chunkWrite struct {
	fresh   []int        // The events that are new, in the order of their tasks, times and ids.
	gone    []chunkPlace // Rows to be deleted before the others are written.
	rows    []chunkRow
	scratch *scratch
}

// scratch is memory that one transaction after another uses, because most of what a transaction writes is events. (A pool would be empty each
// time: about as many collections of garbage come by as transactions.)
type scratch struct {
	events         []lifecycle.Event
	bodies, chunks []byte
}

// scratchMax is the size in bytes above which memory is not kept.
const scratchMax = 16 << 20

func (s *Store) takeScratch() *scratch {
	if r := s.scratch.Swap(nil); r != nil {
		return r
	}
	return &scratch{}
}

func (s *Store) giveScratch(r *scratch) {
	clear(r.events)
	r.events, r.bodies, r.chunks = r.events[:0], r.bodies[:0], r.chunks[:0]
	if cap(r.bodies)+cap(r.chunks) <= scratchMax {
		s.scratch.Store(r)
	}
}

// chunkRow is a row of the table of events.
type chunkRow struct {
	task  int64
	last  rowcodec.Position
	chunk []byte
}

// chunkWrite finds out which of the events in the scratch memory are new, and readies the rows that hold them. Only what lies in the span of a task's
// events can be stored, so for most tasks nothing is read.
func (f *folding) chunkWrite(ctx context.Context, scratch *scratch) (*chunkWrite, error) {
	s := &chunkWrite{scratch: scratch}
	arrivals, err := f.arrivals(scratch)
	if err != nil {
		return nil, err
	}
	sets, err := f.openChunkSets(ctx, scratch.events, arrivals)
	if err != nil {
		return nil, err
	}
	f.moveBetween(sets)
	for some := range intake.ByTask(arrivals) {
		task := some[0].Task
		s.put(task, some, sets[task])
		delete(sets, task)
	}
	for _, task := range slices.Sorted(maps.Keys(sets)) {
		if sets[task].rewrite {
			s.put(task, nil, sets[task])
		}
	}
	return s, nil
}

// arrivals encodes the events into the scratch memory.
func (f *folding) arrivals(scratch *scratch) (out []intake.Arrival, err error) {
	stream := f.store.streams.memo()
	out, scratch.bodies, err = intake.Arrivals(scratch.bodies, scratch.events, intake.Rows{
		Task:   func(id string) int64 { return f.tasks[id].id },
		Stream: func(k lifecycle.StreamID) (int64, error) { return int64(stream(k)), nil },
	})
	return out, err
}

// put readies the rows of one task.
func (s *chunkWrite) put(task int64, arrivals []intake.Arrival, stored *chunkSet) {
	events := intake.Events(arrivals)
	old, places := stored.overlapping(events)
	all, fresh := rowcodec.MergeChunked(old, events)
	if len(fresh) == 0 && (stored == nil || !stored.rewrite) {
		return
	}
	s.fresh = intake.AppendFresh(s.fresh, arrivals, fresh)
	s.gone = append(s.gone, places...)
	for len(all) > 0 {
		from := len(s.scratch.chunks)
		var last rowcodec.Position
		s.scratch.chunks, last, all = rowcodec.AppendChunk(s.scratch.chunks, all)
		s.rows = append(s.rows, chunkRow{task, last, s.scratch.chunks[from:]})
	}
}

const (
	// The partition is named. To plan for a year of them takes longer than to delete from one, and were the days bounded as in
	// selectChunkSets, rows newer than what the database knows of a day would be taken for none, and the day be read from end to end.
	deleteChunks = `DELETE FROM %s e USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (task, at, id)
WHERE e.task = u.task AND e.at = u.at AND e.id = u.id`
	copyChunks = `COPY events (task, at, id, chunk) FROM STDIN BINARY`
)

// write changes the table of events.
func (s *chunkWrite) write(ctx context.Context, tx pgx.Tx) error {
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

func (s *chunkWrite) queueDeletes(deletes *pgx.Batch) {
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
