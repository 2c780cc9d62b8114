package postgres

import (
	"context"
	"maps"
	"slices"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const moveEvents = `WITH moved AS (DELETE FROM events WHERE task = $1 AND at BETWEEN $3 AND $4 AND stream = $5 AND seq = $6 RETURNING *)
INSERT INTO events (task, at, id, stream, seq, body) SELECT $2, at, id, stream, seq, body FROM moved
ON CONFLICT DO NOTHING RETURNING at`

// move gives the stored events of messages that turn out to belong to another task to that task.
func (f *folding) move(ctx context.Context) error {
	for _, m := range f.fold.Moves() {
		from, to := f.tasks[m.From], f.tasks[m.To]
		stream, _ := f.store.streams.id(m.Key.Stream)
		rows, err := f.tx.Query(ctx, moveEvents, from.id, to.id, from.from, from.to, stream, int64(m.Key.Seq))
		if err != nil {
			return err
		}
		var at lifecycle.Micros
		if _, err := pgx.ForEachRow(rows, []any{&at}, func() error { to.widen(at); return nil }); err != nil {
			return err
		}
	}
	return nil
}

const (
	upsertMessages = `INSERT INTO messages (stream, seq, task, named, open, generation, facts)
SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::boolean[], $5::boolean[], $6::bigint[], $7::bytea[])
ON CONFLICT (stream, seq) DO UPDATE SET
    task = excluded.task, named = excluded.named, open = excluded.open, generation = excluded.generation, facts = excluded.facts`
	deleteMessages = `DELETE FROM messages WHERE stream = $1 AND seq = ANY($2)`
	deleteTasks    = `DELETE FROM tasks WHERE id = ANY($1)`
)

// queue queues the changes of rows, and takes back the claims that came to nothing.
func (f *folding) queue(writes *pgx.Batch, c lifecycle.Changes) {
	f.queueMessages(writes, c.Messages)
	f.queueTasks(writes, c.Tasks)
	for _, m := range c.Messages {
		delete(f.claimed, m.Facts.Key)
	}
	for _, t := range c.Tasks {
		f.tasks[t.Facts.ID].claimed = false
	}
	var gone []int64
	for _, t := range c.Removed {
		gone = append(gone, f.tasks[t].id)
	}
	for _, t := range f.tasks {
		if t.claimed {
			gone = append(gone, t.id)
		}
	}
	if len(gone) > 0 {
		writes.Queue(deleteTasks, gone)
	}
	f.eachStream(slices.SortedFunc(maps.Keys(f.claimed), lifecycle.MessageKey.Compare), func(stream int32, _ lifecycle.StreamID, seqs []int64) {
		writes.Queue(deleteMessages, stream, seqs)
	})
}

func (f *folding) queueMessages(writes *pgx.Batch, rows []lifecycle.MessageRow) {
	if len(rows) == 0 {
		return
	}
	var (
		streams                  []int32
		seqs, tasks, generations []int64
		named, open              []bool
		facts                    [][]byte
	)
	for i := range rows {
		m := &rows[i]
		stream, _ := f.store.streams.id(m.Facts.Key.Stream)
		generation := int64(0)
		if m.Facts.Stored != nil {
			generation = int64(m.Facts.Stored.Generation)
		}
		streams, seqs = append(streams, stream), append(seqs, int64(m.Facts.Key.Seq))
		tasks, generations = append(tasks, f.tasks[m.TaskID].id), append(generations, generation)
		named, open = append(named, m.Facts.TaskID != ""), append(open, m.Open)
		facts = append(facts, bytesOf(rowcodec.AppendMessage(nil, &m.Facts)))
	}
	writes.Queue(upsertMessages, streams, seqs, tasks, named, open, generations, facts)
}
