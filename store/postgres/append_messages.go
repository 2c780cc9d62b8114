package postgres

import (
	"context"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// write stores the rows that are new and queues the changes of the others.
func (f *folding) write(ctx context.Context, c lifecycle.Changes, writes *pgx.Batch) error {
	if err := f.writeMessages(ctx, c.Messages, writes); err != nil {
		return err
	}
	f.queueHeads(writes, c)
	if err := f.writeTasks(ctx, c, writes); err != nil {
		return err
	}
	return f.writeEntries(ctx, c.Fallen, writes)
}

const countMessages = `SELECT count(*) FROM unnest($1::integer[], $2::bigint[], $3::integer[]) AS u (stream, seq, version)
CROSS JOIN LATERAL (SELECT FROM messages WHERE stream = u.stream AND seq = u.seq AND version = u.version OFFSET 0) m`

// queueHeads checks the messages by which tasks are shown and judged, where they were read before the locks were held and do not
// change themselves: another program may have changed them in between.
func (f *folding) queueHeads(writes *pgx.Batch, c lifecycle.Changes) {
	var streams, versions []int32
	var seqs []int64
	stream := f.store.streams.memo()
	for _, key := range f.heads {
		version, early := f.early[key]
		_, changes := slices.BinarySearchFunc(c.Messages, key, func(m lifecycle.MessageRow, k lifecycle.MessageKey) int { return m.Facts.Key.Compare(k) })
		if early && !changes {
			streams, seqs, versions = append(streams, stream(key.Stream)), append(seqs, int64(key.Seq)), append(versions, version)
		}
	}
	if len(seqs) == 0 {
		return
	}
	writes.Queue(countMessages, streams, seqs, versions).QueryRow(func(row pgx.Row) error {
		var same int
		if err := row.Scan(&same); err != nil {
			return err
		}
		if same != len(seqs) {
			return errOvertaken
		}
		return nil
	})
}

const (
	copyMessages   = `COPY messages (stream, seq, task, open, generation, facts, publisher, given) FROM STDIN BINARY`
	updateMessages = `UPDATE messages m SET task = u.task, open = u.open, generation = u.generation, facts = u.facts,
    publisher = u.publisher, given = u.given, version = m.version + 1
FROM unnest($1::integer[], $2::bigint[], $3::integer[], $4::bigint[], $5::boolean[], $6::bigint[], $7::bytea[], $8::bytea[], $9::bigint[])
AS u (stream, seq, version, task, open, generation, facts, publisher, given)
WHERE m.stream = u.stream AND m.seq = u.seq AND m.version = u.version`
)

func (f *folding) writeMessages(ctx context.Context, rows []lifecycle.MessageRow, writes *pgx.Batch) error {
	var added, changed []*lifecycle.MessageRow
	for i := range rows {
		if _, stored := f.stored[rows[i].Facts.Key]; stored {
			changed = append(changed, &rows[i])
		} else {
			added = append(added, &rows[i])
		}
	}
	f.queueMessages(writes, changed)
	stream := f.store.streams.memo()
	return copyRows(ctx, f.tx, copyMessages, len(added), func(t *tuple, i int) {
		m := added[i]
		publisher, given := m.Facts.Given()
		t.columns(8)
		t.int32(stream(m.Facts.Key.Stream))
		t.int64(int64(m.Facts.Key.Seq))
		t.int64(f.tasks[m.TaskID].id)
		t.bool(m.Open)
		t.int64(int64(m.Facts.Generation()))
		t.value(func(b []byte) []byte { return rowcodec.AppendMessage(b, m.Facts) })
		t.text(publisher)
		t.int64(int64(given))
	})
}

func (f *folding) queueMessages(writes *pgx.Batch, rows []*lifecycle.MessageRow) {
	if len(rows) == 0 {
		return
	}
	var (
		streams, versions        []int32
		seqs, tasks, generations []int64
		times                    []int64
		publishers               [][]byte
		open                     []bool
		facts                    [][]byte
		all                      byteArena
		stream                   = f.store.streams.memo()
	)
	for _, m := range rows {
		streams, seqs = append(streams, stream(m.Facts.Key.Stream)), append(seqs, int64(m.Facts.Key.Seq))
		versions, tasks = append(versions, f.stored[m.Facts.Key]), append(tasks, f.tasks[m.TaskID].id)
		open, generations = append(open, m.Open), append(generations, int64(m.Facts.Generation()))
		publisher, given := m.Facts.Given()
		publishers, times = append(publishers, []byte(publisher)), append(times, int64(given))
		facts = append(facts, all.add(func(b []byte) []byte { return rowcodec.AppendMessage(b, m.Facts) }))
	}
	writes.Queue(updateMessages, streams, seqs, versions, tasks, open, generations, facts, publishers, times).Exec(func(done pgconn.CommandTag) error {
		if done.RowsAffected() != int64(len(rows)) {
			return errOvertaken
		}
		return nil
	})
}
