package postgres

import (
	"context"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/intake"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

// chunkSet is what is stored of a task's events where new ones come in. A nil set is empty.
type chunkSet struct {
	from, to lifecycle.Micros // The chunks that end in this span were read.
	chunks   []storedChunk
	arriving []rowcodec.ChunkedEvent // On their way here from other tasks.
	rewrite  bool                    // Events go to or come from other tasks: all that was read is written anew.
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

// overlapping returns what must be written anew together with the events, which are sorted, and the places of its rows.
func (s *chunkSet) overlapping(events []rowcodec.ChunkedEvent) (stored []rowcodec.ChunkedEvent, places []chunkPlace) {
	if s == nil {
		return nil, nil
	}
	for _, c := range s.chunks {
		if !s.rewrite && len(c.events) > 0 && c.events[0].Compare(events[len(events)-1]) > 0 {
			break
		}
		stored, places = append(stored, c.events...), append(places, c.chunkPlace)
	}
	slices.SortFunc(s.arriving, rowcodec.ChunkedEvent.Compare)
	stored, _ = rowcodec.MergeChunked(stored, s.arriving)
	return stored, places
}

// openChunkSets reads the chunks that events may have to be joined with, and all of the tasks between which messages move.
func (f *folding) openChunkSets(ctx context.Context, events []lifecycle.Event, arrivals []intake.Arrival) (map[int64]*chunkSet, error) {
	sets := map[int64]*chunkSet{}
	for _, m := range f.fold.Moves() {
		for _, name := range []string{m.From, m.To} {
			t := f.tasks[name]
			sets[t.id] = &chunkSet{from: t.from, to: t.to}
		}
	}
	for some := range intake.ByTask(arrivals) {
		row := f.tasks[events[some[0].Index].TaskID]
		first, last := lifecycle.Micros(some[0].At), lifecycle.Micros(some[len(some)-1].At)
		if first <= row.to && last >= row.from && sets[row.id] == nil {
			sets[row.id] = &chunkSet{from: first, to: row.to}
		}
	}
	return sets, f.readChunkSets(ctx, sets)
}

// The last two arguments bound the others. Days outside of them are left out at once; to plan for a year of days takes longer than to
// read a few rows of one.
const selectChunkSets = `SELECT e.task, e.at, e.id, e.tableoid::regclass::text, e.chunk
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (task, since, until) CROSS JOIN LATERAL (
    SELECT tableoid, * FROM events WHERE task = u.task AND at BETWEEN u.since AND u.until AND at BETWEEN $4 AND $5 OFFSET 0) e`

func (f *folding) readChunkSets(ctx context.Context, sets map[int64]*chunkSet) error {
	var tasks, since, until []int64
	for task, s := range sets {
		if s.from <= s.to {
			tasks, since, until = append(tasks, task), append(since, int64(s.from)), append(until, int64(s.to))
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	rows, err := f.tx.Query(ctx, selectChunkSets, tasks, since, until, slices.Min(since), slices.Max(until))
	if err != nil {
		return err
	}
	var place chunkPlace
	var chunk []byte
	_, err = pgx.ForEachRow(rows, []any{&place.task, &place.last.At, &place.last.ID, &place.partition, &chunk}, func() error {
		events, err := rowcodec.ReadChunk(nil, chunk)
		s := sets[place.task]
		s.chunks = append(s.chunks, storedChunk{place, events})
		return err
	})
	for _, s := range sets {
		slices.SortFunc(s.chunks, func(a, b storedChunk) int { return a.last.Compare(b.last) })
	}
	return err
}

// moveBetween gives the stored events of messages that turn out to belong to another task to that task.
func (f *folding) moveBetween(sets map[int64]*chunkSet) {
	stream := f.store.streams.memo()
	for _, m := range f.fold.Moves() {
		target := f.tasks[m.To]
		from, to := sets[f.tasks[m.From].id], sets[target.id]
		moved := from.take(int64(stream(m.Key.Stream)), int64(m.Key.Seq))
		if len(moved) == 0 {
			continue
		}
		from.rewrite, to.rewrite = true, true
		to.arriving = append(to.arriving, moved...)
		for _, e := range moved {
			target.widen(lifecycle.Micros(e.At))
		}
	}
}

// take removes the events of a message.
func (s *chunkSet) take(stream, seq int64) (taken []rowcodec.ChunkedEvent) {
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
