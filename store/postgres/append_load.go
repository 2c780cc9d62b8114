package postgres

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	appendBeside = `LOCK TABLE turns IN ROW EXCLUSIVE MODE`       // Beside others who say the same.
	appendAlone  = `LOCK TABLE turns IN SHARE ROW EXCLUSIVE MODE` // When they have ended.

	// OFFSET 0 holds the planner to the order as written: for each key one look into the index, whatever it believes of the tables.
	selectMessages = `SELECT m.seq, m.version, m.facts, t.task_id, t.fold FROM unnest($2::bigint[]) AS u (seq)
CROSS JOIN LATERAL (SELECT seq, version, task, facts FROM messages WHERE stream = $1 AND seq = u.seq OFFSET 0) m
CROSS JOIN LATERAL (SELECT task_id, fold FROM tasks WHERE id = m.task OFFSET 0) t`
	lockTasks = `SELECT t.* FROM unnest($1::bytea[]) AS u (key)
CROSS JOIN LATERAL (SELECT id, task_id, facts, events_from, events_to, fold FROM tasks WHERE key = u.key OFFSET 0 FOR UPDATE) t`
	// One for each task, because which of them are new is not known yet: another round trip would cost more than numbers that are not used.
	newTasks = `SELECT nextval('tasks_id_seq') FROM generate_series(1, $1)`
)

// load gives the fold what is stored of the messages and tasks of the events, and locks the tasks. Every event then names its task.
func (f *folding) load(ctx context.Context, events []lifecycle.Event, alone bool) error {
	var first pgx.Batch
	if alone {
		first.Queue(appendAlone)
	} else {
		first.Queue(appendBeside)
	}
	f.queueFoldVersion(&first)
	keys := f.fold.Keys(events)
	f.queueSelects(&first, keys)
	if err := send(ctx, f.tx, &first); err != nil {
		return err
	}
	if err := f.checkFacts(); err != nil {
		return err
	}
	f.early = maps.Clone(f.stored)
	f.fold.Assign(events)
	if err := f.lock(ctx, f.fold.Tasks()); err != nil {
		return err
	}
	if err := f.checkFacts(); err != nil {
		return err
	}
	var selects pgx.Batch
	heads := f.fold.MissingHeads()
	if err := f.knowStreams(ctx, heads); err != nil {
		return err
	}
	f.queueSelects(&selects, heads)
	if err := send(ctx, f.tx, &selects); err != nil {
		return err
	}
	return f.notOvertaken(keys, heads)
}

// knowStreams reads the numbers of streams that other programs have added.
func (f *folding) knowStreams(ctx context.Context, keys []lifecycle.MessageKey) error {
	for _, k := range keys {
		if _, known := f.store.streams.id(k.Stream); !known {
			return f.store.loadStreamsBy(ctx, f.tx)
		}
	}
	return nil
}

// notOvertaken errors where a message of the events was not found before the locks and is found with them: another program was faster,
// and the events were assigned without what it knows.
func (f *folding) notOvertaken(keys, heads []lifecycle.MessageKey) error {
	for _, k := range heads {
		_, found := f.stored[k]
		if _, ours := slices.BinarySearchFunc(keys, k, lifecycle.MessageKey.Compare); found && ours {
			return errOvertaken
		}
	}
	return nil
}

// queueSelects gives the fold the stored ones of the messages, once the queue has run.
func (f *folding) queueSelects(queries *pgx.Batch, keys []lifecycle.MessageKey) {
	f.eachStream(keys, func(id int32, stream lifecycle.StreamID, seqs []int64) {
		queries.Queue(selectMessages, id, seqs).Query(func(rows pgx.Rows) error {
			var seq int64
			var version, fold int32
			var facts, task pgtype.DriverBytes // Not copied.
			_, err := pgx.ForEachRow(rows, []any{&seq, &version, &facts, &task, &fold}, func() error {
				if !f.readable(string(task), fold) {
					return nil
				}
				key := lifecycle.MessageKey{Stream: stream, Seq: uint64(seq)}
				message, err := rowcodec.Message(key, facts)
				f.fold.LoadMessage(message, string(task))
				f.stored[key] = version
				return err
			})
			return err
		})
	})
}

// lock locks the tasks, gives the fold those that are stored, and numbers the new ones.
func (f *folding) lock(ctx context.Context, tasks []string) error {
	keys := make([][]byte, len(tasks))
	for i, t := range tasks {
		keys[i] = taskKey(t)
	}
	slices.SortFunc(keys, bytes.Compare) // Rows are locked in this order.
	var ids []int64
	var queries pgx.Batch
	queries.Queue(lockTasks, keys).Query(f.loadTasks)
	queries.Queue(newTasks, len(tasks)).Query(func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err := send(ctx, f.tx, &queries); err != nil {
		return err
	}
	for i, t := range tasks {
		if f.tasks[t] == nil {
			f.tasks[t] = &taskRow{id: ids[i], from: math.MaxInt64, to: math.MinInt64}
		}
	}
	return nil
}

func (f *folding) loadTasks(rows pgx.Rows) error {
	row := taskRow{stored: true}
	var name, facts pgtype.DriverBytes // Not copied.
	var version int32
	_, err := pgx.ForEachRow(rows, []any{&row.id, &name, &facts, &row.from, &row.to, &version}, func() error {
		if !f.readable(string(name), version) {
			return nil
		}
		locked := row
		f.tasks[string(name)] = &locked
		task, err := rowcodec.Task(string(name), facts)
		f.heads = append(f.heads, task.Candidates()...)
		f.fold.LoadTask(task)
		if version != lifecycle.FoldVersion {
			f.fold.Outdated(task.ID)
		}
		return err
	})
	return err
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

// readable reports whether the facts of a task are of a version that can be joined with; others are noted for [folding.checkFacts].
func (f *folding) readable(task string, version int32) bool {
	if version >= lifecycle.FactsVersion {
		return true
	}
	f.oldFacts = append(f.oldFacts, task)
	return false
}

// checkFacts errors with [lifecycle.OldFactsError] where a task at hand has facts of an older version.
func (f *folding) checkFacts() error {
	if len(f.oldFacts) == 0 {
		return nil
	}
	return &lifecycle.OldFactsError{Tasks: f.oldFacts}
}
