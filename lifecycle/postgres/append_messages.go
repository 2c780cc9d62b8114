package postgres

import (
	"context"

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

// write stores the rows that are new and queues the changes of the others.
func (f *folding) write(ctx context.Context, c lifecycle.Changes, writes *pgx.Batch) error {
	if err := f.writeMessages(ctx, c.Messages, writes); err != nil {
		return err
	}
	return f.writeTasks(ctx, c, writes)
}

const (
	copyMessages   = `COPY messages (stream, seq, task, open, generation, facts) FROM STDIN BINARY`
	updateMessages = `UPDATE messages m SET task = u.task, open = u.open, generation = u.generation, facts = u.facts, version = m.version + 1
FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::boolean[], $5::bigint[], $6::bytea[]) AS u (stream, seq, task, open, generation, facts)
WHERE m.stream = u.stream AND m.seq = u.seq`
)

func (f *folding) writeMessages(ctx context.Context, rows []lifecycle.MessageRow, writes *pgx.Batch) error {
	var added, changed []*lifecycle.MessageRow
	for i := range rows {
		if f.stored[rows[i].Facts.Key] {
			changed = append(changed, &rows[i])
		} else {
			added = append(added, &rows[i])
		}
	}
	f.queueMessages(writes, changed)
	stream := f.store.streams.memo()
	return copyRows(ctx, f.tx, copyMessages, len(added), func(t *tuple, i int) {
		m := added[i]
		t.columns(6)
		t.int32(stream(m.Facts.Key.Stream))
		t.int64(int64(m.Facts.Key.Seq))
		t.int64(f.tasks[m.TaskID].id)
		t.bool(m.Open)
		t.int64(generationOf(m))
		t.value(func(b []byte) []byte { return rowcodec.AppendMessage(b, &m.Facts) })
	})
}

func (f *folding) queueMessages(writes *pgx.Batch, rows []*lifecycle.MessageRow) {
	if len(rows) == 0 {
		return
	}
	var (
		streams                  []int32
		seqs, tasks, generations []int64
		open                     []bool
		facts                    [][]byte
		stream                   = f.store.streams.memo()
	)
	for _, m := range rows {
		streams, seqs = append(streams, stream(m.Facts.Key.Stream)), append(seqs, int64(m.Facts.Key.Seq))
		tasks, generations = append(tasks, f.tasks[m.TaskID].id), append(generations, generationOf(m))
		open, facts = append(open, m.Open), append(facts, bytesOf(rowcodec.AppendMessage(nil, &m.Facts)))
	}
	writes.Queue(updateMessages, streams, seqs, tasks, open, generations, facts)
}

func generationOf(m *lifecycle.MessageRow) int64 {
	if m.Facts.Stored == nil {
		return 0
	}
	return int64(m.Facts.Stored.Generation)
}
