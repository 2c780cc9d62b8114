package postgres

import (
	"context"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

// shelf is what is stored of a task's events in the way of what comes. A nil shelf is empty.
type shelf struct {
	from, to lifecycle.Micros // The chunks that end in this span were read.
	chunks   []storedChunk
	moved    []rowcodec.ChunkedEvent // On their way here from other tasks.
	torn     bool                    // Events go to or come from other tasks: all that was read is written anew.
}

// storedChunk is a row of the table of events.
type storedChunk struct {
	chunkPlace
	events []rowcodec.ChunkedEvent
}

// chunkPlace is where a row of the table of events is: its key, and the partition, as SQL names it.
type chunkPlace struct {
	task      int64
	last      rowcodec.Position
	partition string
}

// inTheWay returns what must be written anew together with the events, which are sorted, and the places of its rows.
func (s *shelf) inTheWay(events []rowcodec.ChunkedEvent) (stored []rowcodec.ChunkedEvent, places []chunkPlace) {
	if s == nil {
		return nil, nil
	}
	for _, c := range s.chunks {
		if !s.torn && len(c.events) > 0 && c.events[0].Compare(events[len(events)-1]) > 0 {
			break
		}
		stored, places = append(stored, c.events...), append(places, c.chunkPlace)
	}
	slices.SortFunc(s.moved, rowcodec.ChunkedEvent.Compare)
	stored, _ = rowcodec.MergeChunked(stored, s.moved)
	return stored, places
}

// openShelves reads the chunks that events may have to be joined with, and all of the tasks between which messages move.
func (f *folding) openShelves(ctx context.Context, arrivals []arrival) (map[int64]*shelf, error) {
	shelves := map[int64]*shelf{}
	for _, m := range f.fold.Moves() {
		for _, name := range []string{m.From, m.To} {
			t := f.tasks[name]
			shelves[t.id] = &shelf{from: t.from, to: t.to}
		}
	}
	for rest := arrivals; len(rest) > 0; {
		row, n := rest[0].task, tasksEnd(rest)
		first, last := lifecycle.Micros(rest[0].At), lifecycle.Micros(rest[n-1].At)
		if first <= row.to && last >= row.from && shelves[row.id] == nil {
			shelves[row.id] = &shelf{from: first, to: row.to}
		}
		rest = rest[n:]
	}
	return shelves, f.readShelves(ctx, shelves)
}

// The last two arguments bound the others. Days outside of them are left out at once; to plan for a year of days takes longer than to
// read a few rows of one.
const selectShelves = `SELECT e.task, e.at, e.id, e.tableoid::regclass::text, e.chunk
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (task, since, until) CROSS JOIN LATERAL (
    SELECT tableoid, * FROM events WHERE task = u.task AND at BETWEEN u.since AND u.until AND at BETWEEN $4 AND $5 OFFSET 0) e`

func (f *folding) readShelves(ctx context.Context, shelves map[int64]*shelf) error {
	var tasks, since, until []int64
	for task, s := range shelves {
		if s.from <= s.to {
			tasks, since, until = append(tasks, task), append(since, int64(s.from)), append(until, int64(s.to))
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	rows, err := f.tx.Query(ctx, selectShelves, tasks, since, until, slices.Min(since), slices.Max(until))
	if err != nil {
		return err
	}
	var place chunkPlace
	var chunk []byte
	_, err = pgx.ForEachRow(rows, []any{&place.task, &place.last.At, &place.last.ID, &place.partition, &chunk}, func() error {
		events, err := rowcodec.ReadChunk(nil, chunk)
		s := shelves[place.task]
		s.chunks = append(s.chunks, storedChunk{place, events})
		return err
	})
	for _, s := range shelves {
		slices.SortFunc(s.chunks, func(a, b storedChunk) int { return a.last.Compare(b.last) })
	}
	return err
}

// moveBetween gives the stored events of messages that turn out to belong to another task to that task.
func (f *folding) moveBetween(shelves map[int64]*shelf) {
	stream := f.store.streams.memo()
	for _, m := range f.fold.Moves() {
		target := f.tasks[m.To]
		from, to := shelves[f.tasks[m.From].id], shelves[target.id]
		moved := from.take(int64(stream(m.Key.Stream)), int64(m.Key.Seq))
		if len(moved) == 0 {
			continue
		}
		from.torn, to.torn = true, true
		to.moved = append(to.moved, moved...)
		for _, e := range moved {
			target.widen(lifecycle.Micros(e.At))
		}
	}
}

// take removes the events of a message.
func (s *shelf) take(stream, seq int64) (taken []rowcodec.ChunkedEvent) {
	for i := range s.chunks {
		c := &s.chunks[i]
		c.events = slices.DeleteFunc(c.events, func(e rowcodec.ChunkedEvent) bool {
			of := e.Stream == stream && e.Seq == seq
			if of {
				taken = append(taken, e)
			}
			return of
		})
	}
	return taken
}
