package postgres

import (
	"context"
	"maps"
	"math"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// outdatedTasks are tasks on their way to the present rules.
type outdatedTasks struct {
	*folding
	refold   []int64                // Those whose facts meant something else: they are folded from their events.
	names    map[int64]string       // All of them, by id.
	span     taskRow                // All events of those to be folded lie in it.
	messages []lifecycle.MessageKey // That have a row.
}

// judgeAnew writes tasks with their messages as the present rules judge them, and counts them in the rollups that the upgrade prepares.
func (s *Store) judgeAnew(ctx context.Context, tx pgx.Tx, tasks []int64) error {
	if _, err := tx.Exec(ctx, appendBeside); err != nil {
		return err
	}
	if err := s.loadStreamsBy(ctx, tx); err != nil {
		return err
	}
	o := &outdatedTasks{folding: s.newFolding(tx), names: map[int64]string{}, span: taskRow{from: math.MaxInt64, to: math.MinInt64}}
	if err := o.lockOutdated(ctx, tasks); err != nil {
		return err
	}
	tasks = slices.Collect(maps.Keys(o.names)) // Those that are still there and still outdated.
	if err := o.loadMessages(ctx, tasks); err != nil {
		return err
	}
	o.fold.Rejudge()
	if err := o.joinEvents(ctx); err != nil {
		return err
	}
	return o.writeJudged(ctx, tasks)
}

// lockOutdated locks the tasks in the order of everybody, and gives the fold those whose facts are good.
func (o *outdatedTasks) lockOutdated(ctx context.Context, tasks []int64) error {
	rows, err := o.tx.Query(ctx, lockOutdated, tasks, lifecycle.FoldVersion)
	if err != nil {
		return err
	}
	row := taskRow{stored: true}
	var name, facts pgtype.DriverBytes // Not copied.
	var version int
	_, err = pgx.ForEachRow(rows, []any{&row.id, &name, &facts, &version, &row.from, &row.to}, func() error {
		locked, id := row, string(name)
		o.tasks[id], o.names[row.id] = &locked, id
		if version < lifecycle.FactsVersion {
			o.refold = append(o.refold, row.id)
			o.span.from, o.span.to = min(o.span.from, row.from), max(o.span.to, row.to)
			return nil
		}
		task, err := rowcodec.Task(id, facts)
		o.fold.LoadTask(task)
		return err
	})
	return err
}

// loadMessages reads the rows of the messages, and gives the fold those whose facts are good.
func (o *outdatedTasks) loadMessages(ctx context.Context, tasks []int64) error {
	rows, err := o.tx.Query(ctx, selectRowsOf, tasks)
	if err != nil {
		return err
	}
	var stream, version int32
	var seq, task int64
	var facts pgtype.DriverBytes // Not copied.
	_, err = pgx.ForEachRow(rows, []any{&stream, &seq, &version, &task, &facts}, func() error {
		name, _ := o.store.streams.stream(stream)
		key := lifecycle.MessageKey{Stream: name, Seq: uint64(seq)}
		o.stored[key], o.messages = version, append(o.messages, key)
		if slices.Contains(o.refold, task) {
			return nil
		}
		m, err := rowcodec.Message(key, facts)
		o.fold.LoadMessage(m, o.names[task])
		return err
	})
	return err
}

// joinEvents folds the others from their events.
func (o *outdatedTasks) joinEvents(ctx context.Context) error {
	if len(o.refold) == 0 {
		return nil
	}
	events, err := o.eventsOf(ctx, o.names, o.refold, o.span)
	if err != nil {
		return err
	}
	o.fold.Assign(events)
	for _, e := range events {
		o.fold.Add(e)
	}
	return nil
}

// writeJudged writes the rows, without messages that no event is about.
func (o *outdatedTasks) writeJudged(ctx context.Context, tasks []int64) error {
	changes := o.fold.Changes()
	if err := o.forgetEntries(ctx, tasks); err != nil {
		return err
	}
	var writes pgx.Batch
	for _, k := range o.messages {
		if _, known := slices.BinarySearchFunc(changes.Messages, k, compareRow); !known {
			stream, _ := o.store.streams.id(k.Stream)
			writes.Queue(deleteLost, stream, int64(k.Seq))
		}
	}
	if err := o.write(ctx, changes, &writes); err != nil {
		return err
	}
	writes.Queue(setFold, tasks, lifecycle.FoldVersion)
	bounded, err := o.store.bounded(ctx, o.tx, &writes, changes.Tally)
	if err != nil {
		return err
	}
	queueTally(&writes, rollupsNext, bounded[0])
	return send(ctx, o.tx, &writes)
}

func compareRow(m lifecycle.MessageRow, k lifecycle.MessageKey) int { return m.Facts.Key.Compare(k) }
