package postgres

import (
	"context"
	"slices"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// Append implements [lifecycle.Appender]. Batches that touch the same tasks, here or in other programs, take turns.
func (s *Store) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	var done lifecycle.Appended
	if b.Empty() {
		return done, nil
	}
	err := retry(ctx, func() error {
		if err := s.registerStreams(ctx, b); err != nil {
			return err
		}
		if err := s.openDays(ctx, b); err != nil {
			return err
		}
		return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
			done, err = s.appendIn(ctx, tx, b)
			return err
		})
	})
	if err != nil {
		return lifecycle.Appended{}, s.wrap("append", err)
	}
	return done, nil
}

func (s *Store) appendIn(ctx context.Context, tx pgx.Tx, b lifecycle.Batch) (lifecycle.Appended, error) {
	var writes pgx.Batch
	done, tally, err := s.appendEvents(ctx, tx, b.Events, &writes)
	if err != nil {
		return done, err
	}
	if err := s.queueRest(&writes, b); err != nil {
		return done, err
	}
	queueTally(&writes, tally) // Last: all batches meet at these rows, which should be held for as short as possible.
	if writes.Len() == 0 {
		return done, nil
	}
	return done, tx.SendBatch(ctx, &writes).Close()
}

// folding is one batch of events on its way into the tables.
//
// Locks are taken in one order by everybody, so that nobody waits in a circle: claims of new messages by key, claims of new tasks
// by id, rows of tasks by id, rollups by cell. Rows of messages need no lock: whoever holds a task's row has its messages. A claim
// is an empty row, which makes the second of two transactions that create the same thing wait for the first. Which task a message
// belongs to is read before tasks are locked and again after it; in the rare case that it changed, the transaction starts over.
type folding struct {
	store   *Store
	tx      pgx.Tx
	fold    *lifecycle.Fold
	keys    []lifecycle.MessageKey
	claimed map[lifecycle.MessageKey]bool // New messages, whose rows are empty.
	home    map[lifecycle.MessageKey]home // Stored messages.
	tasks   map[string]*taskRow           // Locked tasks.
	ids     map[int64]string              // Their names by number.
}

// home is what decides the task of a stored message.
type home struct {
	task  int64
	named bool
}

// taskRow is a locked task.
type taskRow struct {
	id       int64
	claimed  bool             // The row is empty.
	from, to lifecycle.Micros // All its events lie in this span; the wrong way round while it has none.
}

func (s *Store) newFolding(tx pgx.Tx) *folding {
	return &folding{
		store: s, tx: tx, fold: lifecycle.NewFold(), claimed: map[lifecycle.MessageKey]bool{}, home: map[lifecycle.MessageKey]home{},
		tasks: map[string]*taskRow{}, ids: map[int64]string{},
	}
}

// appendEvents folds the events in and queues the changes of rows. It returns what to add to the rollups.
func (s *Store) appendEvents(
	ctx context.Context, tx pgx.Tx, given []lifecycle.Event, writes *pgx.Batch,
) (lifecycle.Appended, lifecycle.Tally, error) {
	var done lifecycle.Appended
	if len(given) == 0 {
		return done, nil, nil
	}
	events := slices.Clone(given) // Assign writes into them, and the batch may be tried again.
	f := s.newFolding(tx)
	f.keys = f.fold.Keys(events)
	if err := f.load(ctx, events); err != nil {
		return done, nil, err
	}
	if err := f.move(ctx); err != nil {
		return done, nil, err
	}
	fresh, err := f.insertEvents(ctx, events)
	if err != nil {
		return done, nil, err
	}
	for _, i := range fresh {
		f.tasks[events[i].TaskID].widen(events[i].At)
		f.fold.Add(events[i])
	}
	changes := f.fold.Changes()
	done.New = len(fresh)
	for _, t := range changes.Tasks {
		change := lifecycle.TaskChange{TaskID: t.Facts.ID, State: t.Summary.State, Agent: t.Summary.Agent, At: t.Summary.LastEventAt}
		done.Changed = append(done.Changed, change)
	}
	f.queue(writes, changes)
	return done, changes.Tally, nil
}

// widen notes that the task has an event at the given time.
func (t *taskRow) widen(at lifecycle.Micros) { t.from, t.to = min(t.from, at), max(t.to, at) }
