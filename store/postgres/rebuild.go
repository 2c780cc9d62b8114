package postgres

import (
	"context"
	"maps"
	"math"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

// rebuiltAtOnce is the number of tasks that are held in memory.
const rebuiltAtOnce = 500

// Rebuild implements [lifecycle.Keeper]. It is one transaction: readers see the old answers until it ends, and appends wait.
func (s *Store) Rebuild(ctx context.Context) (int64, error) {
	total := int64(0)
	err := s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockFoldVersion); err != nil { // First, as upgrades do.
			return err
		}
		if _, err := tx.Exec(ctx, planFreely+";\n"+clearForRebuild, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if err := s.loadStreamsBy(ctx, tx); err != nil {
			return err
		}
		tally := lifecycle.Tally{}
		for after, more := int64(0), true; more; {
			f := s.newFolding(tx)
			n, last, err := f.rebuild(ctx, after, tally)
			if err != nil {
				return err
			}
			total, after, more = total+n, last, len(f.tasks) > 0
		}
		var writes pgx.Batch
		bounded, err := s.bounded(ctx, tx, &writes, tally)
		if err != nil {
			return err
		}
		queueTally(&writes, rollups, bounded[0])
		writes.Queue(setFoldOfAll, lifecycle.FoldVersion)
		queueFoldState(&writes, foldState{version: lifecycle.FoldVersion, target: lifecycle.FoldVersion})
		return tx.SendBatch(ctx, &writes).Close()
	})
	if err != nil {
		return 0, s.wrap("rebuild", err)
	}
	return total, nil
}

const (
	// Locks are taken in the order in which appends take them.
	clearForRebuild = `LOCK TABLE turns IN EXCLUSIVE MODE;
LOCK TABLE messages IN EXCLUSIVE MODE;
LOCK TABLE tasks IN EXCLUSIVE MODE;
LOCK TABLE rollups IN EXCLUSIVE MODE;
DELETE FROM messages;
DELETE FROM entries;
DELETE FROM follow_ups;
DELETE FROM rollups;
DELETE FROM rollups_next;
INSERT INTO rollups SELECT * FROM rollups_ended`
	selectTasksBeyond = `SELECT id, task_id, events_from, events_to FROM tasks WHERE id > $1 ORDER BY id LIMIT $2`
	selectAllChunks   = `SELECT task, chunk FROM events WHERE task = ANY($1) AND at BETWEEN $2 AND $3 ORDER BY task, at, id`
)

// rebuild folds the next tasks anew from their events. It returns the number of events and the last task.
func (f *folding) rebuild(ctx context.Context, after int64, tally lifecycle.Tally) (n, last int64, err error) {
	rows, err := f.tx.Query(ctx, selectTasksBeyond, after, rebuiltAtOnce)
	if err != nil {
		return 0, 0, err
	}
	row := taskRow{stored: true}
	var id []byte
	names := map[int64]string{}
	var ids []int64
	all := taskRow{from: math.MaxInt64, to: math.MinInt64}
	_, err = pgx.ForEachRow(rows, []any{&row.id, &id, &row.from, &row.to}, func() error {
		found := row
		f.tasks[string(id)], names[row.id] = &found, string(id)
		ids = append(ids, row.id)
		all.from, all.to = min(all.from, row.from), max(all.to, row.to)
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	events, err := f.eventsOf(ctx, names, ids, all)
	if err != nil {
		return 0, 0, err
	}
	f.fold.Assign(events)
	for _, e := range events {
		f.fold.Add(e)
	}
	changes := f.fold.Changes()
	for cell, n := range changes.Tally {
		tally[cell] += n
	}
	var writes pgx.Batch
	changes.Removed = f.unknown(changes.Tasks)
	if err := f.write(ctx, changes, &writes); err != nil {
		return 0, 0, err
	}
	return int64(len(events)), ids[len(ids)-1], send(ctx, f.tx, &writes)
}

// unknown lists the tasks of which no event is kept.
func (f *folding) unknown(known []lifecycle.TaskRow) []string {
	gone := maps.Clone(f.tasks)
	for i := range known {
		delete(gone, known[i].Facts.ID)
	}
	return slices.Collect(maps.Keys(gone))
}

// eventsOf reads all events of the tasks.
func (f *folding) eventsOf(ctx context.Context, names map[int64]string, tasks []int64, in taskRow) ([]lifecycle.Event, error) {
	rows, err := f.tx.Query(ctx, selectAllChunks, tasks, in.from, in.to)
	if err != nil {
		return nil, err
	}
	var events []lifecycle.Event
	var task int64
	var chunk []byte
	_, err = pgx.ForEachRow(rows, []any{&task, &chunk}, func() error {
		stored, err := rowcodec.ReadChunk(nil, chunk)
		for _, s := range stored {
			e := lifecycle.Event{ID: columns.LoadedID(s.ID), At: lifecycle.Micros(s.At), TaskID: names[task]}
			if s.Stream != 0 {
				stream, _ := f.store.streams.stream(int32(s.Stream))
				e.Message = lifecycle.MessageKey{Stream: stream, Seq: uint64(s.Seq)}
			}
			if err := rowcodec.ReadEvent(&e, s.Body); err != nil {
				return err
			}
			events = append(events, e.WithoutPlaceholder())
		}
		return err
	})
	return events, err
}
