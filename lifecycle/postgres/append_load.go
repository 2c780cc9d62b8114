package postgres

import (
	"context"
	"slices"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// OFFSET 0 holds the planner to the order as written: for each key one look into the index, whatever it believes of the tables.
const (
	claimMessages = `INSERT INTO messages (stream, seq) SELECT $1, unnest($2::bigint[]) ON CONFLICT DO NOTHING RETURNING seq`
	selectHomes   = `SELECT m.seq, m.task, m.named, t.task_id FROM unnest($2::bigint[]) AS u (seq)
CROSS JOIN LATERAL (SELECT seq, task, named FROM messages WHERE stream = $1 AND seq = u.seq OFFSET 0) m
CROSS JOIN LATERAL (SELECT task_id FROM tasks WHERE id = m.task OFFSET 0) t`
	claimTasks = `INSERT INTO tasks (key, task_id) SELECT u.key, u.task_id FROM unnest($1::bytea[], $2::bytea[]) AS u (key, task_id)
WHERE NOT EXISTS (SELECT FROM tasks t WHERE t.key = u.key) ORDER BY u.key ON CONFLICT DO NOTHING`
	lockTasks = `SELECT id, task_id, facts, events_from, events_to, claimed FROM tasks
WHERE key = ANY($1) ORDER BY key FOR UPDATE`
	selectMessages = `SELECT m.seq, m.task, m.named, m.open, m.facts FROM unnest($2::bigint[]) AS u (seq)
CROSS JOIN LATERAL (SELECT seq, task, named, open, facts FROM messages WHERE stream = $1 AND seq = u.seq OFFSET 0) m`
)

// load claims what is new, locks the tasks and gives the fold what is stored.
func (f *folding) load(ctx context.Context, events []lifecycle.Event) error {
	if err := f.findHomes(ctx); err != nil {
		return err
	}
	// Which tasks to lock depends on the homes alone; the facts are read under the locks.
	scout := lifecycle.NewFold()
	for k, h := range f.home {
		row := lifecycle.MessageRow{Facts: lifecycle.MessageFacts{Key: k}, TaskID: f.ids[h.task]}
		if h.named {
			row.Facts.TaskID = row.TaskID
		}
		scout.LoadMessage(row)
	}
	said := make([]string, len(events)) // Assign writes over what events say, and must see it the second time too.
	for i := range events {
		said[i] = events[i].TaskID
	}
	scout.Assign(events)
	for i := range events {
		events[i].TaskID = said[i]
	}
	tasks, err := f.lock(ctx, scout.Tasks())
	if err != nil {
		return err
	}
	if err := f.loadMessages(ctx, f.known()); err != nil {
		return err
	}
	f.fold.Assign(events)
	for _, t := range tasks {
		f.fold.LoadTask(t)
	}
	return f.loadMessages(ctx, f.fold.MissingHeads())
}

// known lists the messages that were not claimed.
func (f *folding) known() []lifecycle.MessageKey {
	if len(f.claimed) == len(f.keys) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.keys), func(k lifecycle.MessageKey) bool { return f.claimed[k] })
}

// findHomes claims the messages that are new and finds the tasks of the others.
func (f *folding) findHomes(ctx context.Context) error {
	var claims pgx.Batch
	f.eachStream(f.keys, func(stream int32, k lifecycle.StreamID, seqs []int64) {
		claims.Queue(claimMessages, stream, seqs).Query(func(rows pgx.Rows) error {
			var seq int64
			_, err := pgx.ForEachRow(rows, []any{&seq}, func() error {
				f.claimed[lifecycle.MessageKey{Stream: k, Seq: uint64(seq)}] = true
				return nil
			})
			return err
		})
	})
	if err := f.send(ctx, &claims); err != nil {
		return err
	}
	var homes pgx.Batch
	f.eachStream(f.known(), func(stream int32, k lifecycle.StreamID, seqs []int64) {
		homes.Queue(selectHomes, stream, seqs).Query(func(rows pgx.Rows) error {
			var seq int64
			var h home
			var task []byte
			_, err := pgx.ForEachRow(rows, []any{&seq, &h.task, &h.named, &task}, func() error {
				f.home[lifecycle.MessageKey{Stream: k, Seq: uint64(seq)}] = h
				f.ids[h.task] = string(task)
				return nil
			})
			return err
		})
	})
	return f.send(ctx, &homes)
}

// send runs queued statements, if there are any.
func (f *folding) send(ctx context.Context, statements *pgx.Batch) error {
	if statements.Len() == 0 {
		return nil
	}
	return f.tx.SendBatch(ctx, statements).Close()
}

// lock claims the tasks that are new, locks all and returns the facts of those that were stored. Tasks are sorted.
func (f *folding) lock(ctx context.Context, tasks []string) ([]lifecycle.TaskFacts, error) {
	names, keys := make([][]byte, len(tasks)), make([][]byte, len(tasks))
	for i, t := range tasks {
		names[i], keys[i] = []byte(t), taskKey(t)
	}
	var stored []lifecycle.TaskFacts
	var queries pgx.Batch
	queries.Queue(claimTasks, keys, names)
	queries.Queue(lockTasks, keys).Query(func(rows pgx.Rows) error {
		var row taskRow
		var task, facts []byte
		_, err := pgx.ForEachRow(rows, []any{&row.id, &task, &facts, &row.from, &row.to, &row.claimed}, func() error {
			locked := row
			f.tasks[string(task)], f.ids[row.id] = &locked, string(task)
			if locked.claimed {
				return nil
			}
			t, err := rowcodec.Task(string(task), facts)
			stored = append(stored, t)
			return err
		})
		return err
	})
	if err := f.send(ctx, &queries); err != nil {
		return nil, err
	}
	if len(f.tasks) != len(tasks) {
		return nil, errOvertaken // One was deleted between claim and lock.
	}
	return stored, nil
}

// loadMessages gives the fold the stored ones of the messages, whose tasks are locked.
func (f *folding) loadMessages(ctx context.Context, keys []lifecycle.MessageKey) error {
	found := 0
	var queries pgx.Batch
	f.eachStream(keys, func(stream int32, k lifecycle.StreamID, seqs []int64) {
		queries.Queue(selectMessages, stream, seqs).Query(func(rows pgx.Rows) error {
			var seq int64
			var h home
			var open bool
			var facts []byte
			_, err := pgx.ForEachRow(rows, []any{&seq, &h.task, &h.named, &open, &facts}, func() error {
				found++
				return f.loadMessage(lifecycle.MessageKey{Stream: k, Seq: uint64(seq)}, h, open, facts)
			})
			return err
		})
	})
	if err := f.send(ctx, &queries); err != nil {
		return err
	}
	if found != len(keys) {
		return errOvertaken // One was deleted since its home was read.
	}
	return nil
}

func (f *folding) loadMessage(k lifecycle.MessageKey, h home, open bool, facts []byte) error {
	if before, known := f.home[k]; known && before != h {
		return errOvertaken
	}
	task, locked := f.ids[h.task]
	if !locked || f.tasks[task] == nil {
		return errOvertaken
	}
	message, err := rowcodec.Message(k, facts)
	if err != nil {
		return err
	}
	f.fold.LoadMessage(lifecycle.MessageRow{Facts: message, TaskID: task, Open: open})
	return nil
}

// eachStream calls do for every stream of the keys, which are sorted, with the stored sequences.
func (f *folding) eachStream(keys []lifecycle.MessageKey, do func(id int32, k lifecycle.StreamID, seqs []int64)) {
	for len(keys) > 0 {
		stream := keys[0].Stream
		var seqs []int64
		for len(keys) > 0 && keys[0].Stream == stream {
			seqs = append(seqs, int64(keys[0].Seq))
			keys = keys[1:]
		}
		id, _ := f.store.streams.id(stream)
		do(id, stream, seqs)
	}
}
