package postgres

import (
	"context"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/intake"

	"github.com/jackc/pgx/v5"
)

// Append implements [lifecycle.Appender]. Batches that arrive while others are being committed are committed together afterwards,
// each with its own result. Batches of other programs that touch the same tasks take turns with them.
func (s *Store) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	if b.Empty() {
		return lifecycle.Appended{}, nil
	}
	done, err := s.commits.run(ctx, b)
	if err != nil {
		return lifecycle.Appended{}, s.wrap("append", err)
	}
	return done, nil
}

// commit stores batches in one transaction. A second try, after another program was faster with the same tasks, keeps the others out,
// so that this cannot happen again.
func (s *Store) commit(ctx context.Context, jobs []*job) error {
	alone := false
	return s.appending(ctx, func() error {
		for _, j := range jobs {
			if err := s.registerStreams(ctx, j.batch); err != nil {
				return err
			}
			if err := s.openDays(ctx, j.batch); err != nil {
				return err
			}
		}
		err := s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error { return s.appendIn(ctx, tx, jobs, alone) })
		alone = true
		return err
	})
}

func (s *Store) appendIn(ctx context.Context, tx pgx.Tx, jobs []*job, alone bool) error {
	var writes pgx.Batch
	f := s.newFolding(tx)
	counts, err := f.appendEvents(ctx, jobs, alone, &writes)
	if err != nil {
		return err
	}
	if err := f.writePayloads(ctx, jobs, alone, &writes); err != nil {
		return err
	}
	for _, j := range jobs {
		if err := s.queueRest(&writes, j.batch); err != nil {
			return err
		}
	}
	if err := f.queueCounts(ctx, &writes, counts); err != nil { // Last: all batches meet at these rows, which should be held for as short as possible.
		return err
	}
	return send(ctx, tx, &writes)
}

// appendEvents folds the events in, and writes or queues the changes of rows. It returns what changed, for the rollups.
func (f *folding) appendEvents(ctx context.Context, jobs []*job, alone bool, writes *pgx.Batch) (lifecycle.Changes, error) {
	log := intake.ChangeLog{}
	for _, j := range jobs { // What an earlier try found is forgotten.
		j.result = lifecycle.Appended{}
		log.Batch(len(j.batch.Events))
	}
	if !slices.ContainsFunc(jobs, func(j *job) bool { return len(j.batch.Events) > 0 }) {
		return lifecycle.Changes{}, nil
	}
	scratch := f.store.takeScratch()
	for _, j := range jobs { // A copy: Assign writes into them, and the batches may be tried again.
		scratch.events = append(scratch.events, j.batch.Events...)
	}
	events := scratch.events
	if err := f.load(ctx, events, alone); err != nil {
		return lifecycle.Changes{}, err
	}
	chunks, err := f.chunkWrite(ctx, scratch)
	if err != nil {
		return lifecycle.Changes{}, err
	}
	written := make(chan error, 1) // The server takes the events in while they are joined.
	go func() { written <- chunks.write(ctx, f.tx) }()
	for _, i := range chunks.fresh {
		e := events[i]
		f.tasks[e.TaskID].widen(e.At)
		f.fold.Add(e)
		log.Added(i, e.TaskID)
	}
	changes := f.fold.Changes()
	for i, result := range log.Results(changes.Tasks) {
		jobs[i].result = result
	}
	if err := <-written; err != nil {
		return lifecycle.Changes{}, err
	}
	f.store.giveScratch(scratch)
	err = f.write(ctx, changes, writes)
	f.queueTraces(writes, changes.Tasks)
	return changes, err
}

// folding is a transaction's events on their way into the tables.
//
// Who holds the lock of a task's row may write the row, and those of its messages and events; nobody else does. Locks are taken in one
// order by everybody, so that nobody waits in a circle: the table of turns, which is shared; rows of tasks by key; new messages by
// key and new tasks by id, of which a second inserter waits for the first; rollups by cell. Messages are read before their tasks are
// locked, and rows are taken for new that were not found: should another program have been faster, their versions and the unique
// indexes tell, and the transaction starts over with the table of turns to itself.
type folding struct {
	store  *Store
	tx     pgx.Tx
	fold   *lifecycle.Fold
	stored map[lifecycle.MessageKey]int32 // Messages that have a row, and its version as it was read.
	early  map[lifecycle.MessageKey]int32 // Those of them that were read before the locks were held.
	heads  []lifecycle.MessageKey         // The messages by which the tasks may be shown, as these were stored.
	tasks  map[string]*taskRow            // Tasks that are locked or new.

	upgrading bool     // Tasks are being judged anew; see upgrade.go.
	oldFacts  []string // Tasks at hand whose stored facts are of an older version.
}

// taskRow is the row of a task that is locked or new.
type taskRow struct {
	id       int64
	stored   bool
	from, to lifecycle.Micros // All its events lie in this span; the wrong way round while it has none.
}

func (s *Store) newFolding(tx pgx.Tx) *folding {
	return &folding{store: s, tx: tx, fold: lifecycle.NewFold(), stored: map[lifecycle.MessageKey]int32{}, tasks: map[string]*taskRow{}}
}

// widen notes that the task has an event at the given time.
func (t *taskRow) widen(at lifecycle.Micros) { t.from, t.to = min(t.from, at), max(t.to, at) }

// send runs queued statements, if there are any.
func send(ctx context.Context, tx pgx.Tx, statements *pgx.Batch) error {
	if statements.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, statements).Close()
}
