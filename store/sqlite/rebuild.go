package sqlite

import (
	"context"
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
)

// rebuildStep is the number of events after which the facts of whole tasks are written.
const rebuildStep = 5000

// Rebuild implements [lifecycle.Keeper], in one transaction, holding the facts of a few tasks at a time. A stored event names the
// task that its message was found to belong to, so each task is folded from its own events.
func (s *Store) Rebuild(ctx context.Context) (int64, error) {
	var n int64
	err := s.submit(ctx, &job{do: func(w *writer) error {
		err := w.transaction(func() (err error) { n, err = w.rebuild(ctx); return err })
		if err == nil {
			w.upgrading = false
		}
		return err
	}})
	if err != nil {
		return 0, fmt.Errorf("rebuild: %w", err)
	}
	return n, nil
}

const (
	deleteMessages  = `DELETE FROM messages`
	deleteEntries   = `DELETE FROM entries`
	deleteFollowUps = `DELETE FROM follow_ups`
	deleteRollups   = `DELETE FROM rollups`
	selectAllEvents = `SELECT e.task, t.task_id, t.published, t.listed, e.chunk
FROM events e JOIN tasks t ON t.id = e.task ORDER BY e.task, e.at, e.id`
)

func (w *writer) rebuild(ctx context.Context) (n int64, err error) {
	if err := w.runAll(w.foldIsCurrent, deleteMessages, deleteEntries, deleteFollowUps, deleteRollups, takeEnded, clearNext); err != nil {
		return 0, err
	}
	names, err := loadStreams(w.conn)
	if err != nil {
		return 0, err
	}
	r := &rebuilding{w: w, tally: lifecycle.Tally{}}
	r.begin()
	err = w.statement(selectAllEvents).each(func(row *statement) error {
		some, err := r.chunk(ctx, row, names)
		n += some
		return err
	})
	if err == nil {
		err = r.write()
	}
	if err == nil {
		err = w.addTo(rollups, r.tally)
	}
	return n, err
}

// foldIsCurrent says that every task is judged by the rules of this program.
func (w *writer) foldIsCurrent() error {
	err := w.statement(setFoldOfAll).int(lifecycle.FoldVersion).int(lifecycle.FoldVersion).exec()
	if err != nil {
		return err
	}
	return w.saveFoldState(foldState{version: lifecycle.FoldVersion, target: lifecycle.FoldVersion})
}

// rebuilding folds tasks, one after the other.
type rebuilding struct {
	w      *writer
	commit *commit
	task   int64 // The task at hand.
	events int   // Since the last write.
	tally  lifecycle.Tally
}

func (r *rebuilding) begin() {
	r.events = 0
	r.commit = r.w.newCommit()
}

// chunk folds the events of a row and returns their number.
func (r *rebuilding) chunk(ctx context.Context, row *statement, names *streams) (int64, error) {
	task := row.getInt()
	if task != r.task {
		if err := r.next(ctx, task); err != nil {
			return 0, err
		}
	}
	id := row.getText()
	r.commit.ids[id] = task
	r.commit.rows[id] = taskPlace{published: lifecycle.Micros(row.getInt()), listed: row.getFlag()}
	stored, err := rowcodec.ReadChunk(nil, row.getBlob())
	if err != nil {
		return 0, err
	}
	for _, s := range stored {
		e, err := getEvent(s, names, id)
		if err != nil {
			return 0, err
		}
		r.event(e)
	}
	return int64(len(stored)), nil
}

func (r *rebuilding) event(e lifecycle.Event) {
	r.events++
	events := []lifecycle.Event{e.WithoutPlaceholder()}
	r.commit.fold.Assign(events)
	r.commit.fold.Add(events[0])
}

// next goes on to another task, and writes what is folded when it is enough.
func (r *rebuilding) next(ctx context.Context, task int64) error {
	r.task = task
	if r.events < rebuildStep {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.write()
}

func (r *rebuilding) write() error {
	changes := r.commit.fold.Changes()
	for cell, n := range changes.Tally {
		r.tally[cell] += n
	}
	changes.Tally = nil
	if err := r.commit.write(changes); err != nil {
		return err
	}
	r.begin()
	return nil
}
