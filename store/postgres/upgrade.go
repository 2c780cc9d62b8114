package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// An upgrade judges tasks anew, a few at a time. Who does a step holds the row of fold_version first, so that programs take turns with the
// steps; then what every append holds. It begins and ends with the table of turns to itself: no append that does not know of it is under
// way.

const (
	selectFoldVersion = `SELECT version, target, last_task, end_task, judged FROM fold_version`
	lockFoldVersion   = selectFoldVersion + ` FOR UPDATE`
	updateFoldVersion = `UPDATE fold_version SET version = $1, target = $2, last_task = $3, end_task = $4, judged = $5`
	selectLastTask    = `SELECT coalesce(max(id), 0) FROM tasks`
	startNext         = appendAlone + `;
DELETE FROM rollups_next;
INSERT INTO rollups_next SELECT * FROM rollups_ended`
	takeNext = appendAlone + `;
DELETE FROM rollups;
INSERT INTO rollups SELECT * FROM rollups_next;
DELETE FROM rollups_next`
	setFold      = `UPDATE tasks SET fold = $2 WHERE id = ANY($1)`
	setFoldOfAll = `UPDATE tasks SET fold = $1 WHERE fold <> $1`
	findOutdated = `SELECT id FROM tasks WHERE id > $1 AND id <= $2 AND fold <> $3 ORDER BY id LIMIT $4`
	lockOutdated = `SELECT id, task_id, facts, fold, events_from, events_to FROM tasks WHERE id = ANY($1) AND fold <> $2 ORDER BY key FOR UPDATE`
	selectRowsOf = `SELECT stream, seq, version, task, facts FROM messages WHERE task = ANY($1)`
	deleteLost   = `DELETE FROM messages WHERE stream = $1 AND seq = $2`
)

// foldState is the row of the table fold_version.
type foldState struct {
	version, target           int
	lastTask, endTask, judged int64
}

func (f *foldState) places() []any {
	return []any{&f.version, &f.target, &f.lastTask, &f.endTask, &f.judged}
}

func queueFoldState(writes *pgx.Batch, f foldState) {
	writes.Queue(updateFoldVersion, f.version, f.target, f.lastTask, f.endTask, f.judged)
}

func (f *foldState) progress() lifecycle.UpgradeProgress {
	p := lifecycle.UpgradeProgress{From: f.version, To: f.target, Judged: f.judged, Percent: 100}
	if !p.Done() {
		p.Percent = int(100 * f.lastTask / max(1, f.endTask))
	}
	return p
}

// check errors where the tasks are judged by rules that this program does not know.
func (f *foldState) check() error {
	if f.target > lifecycle.FoldVersion {
		return fmt.Errorf("%w: version %d, this program's is %d", lifecycle.ErrNewer, f.target, lifecycle.FoldVersion)
	}
	return nil
}

// queueFoldVersion finds out, once the transaction has its turn, whether an upgrade runs.
func (f *folding) queueFoldVersion(queries *pgx.Batch) {
	queries.Queue(selectFoldVersion).QueryRow(func(row pgx.Row) error {
		var state foldState
		if err := row.Scan(state.places()...); err != nil {
			return err
		}
		f.upgrading = state.version != state.target
		return state.check()
	})
}

// beginUpgrade prepares for this program's rules, before it appends anything.
func (s *Store) beginUpgrade(ctx context.Context) error {
	return s.withFoldState(ctx, func(tx pgx.Tx, f *foldState) error {
		if err := f.check(); err != nil || f.target == lifecycle.FoldVersion {
			return err
		}
		if _, err := tx.Exec(ctx, startNext, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		*f = foldState{version: f.version, target: lifecycle.FoldVersion}
		if err := tx.QueryRow(ctx, selectLastTask).Scan(&f.endTask); err != nil {
			return err
		}
		if f.endTask == 0 { // Nothing was judged by other rules.
			f.version = f.target
		}
		return nil
	})
}

// withFoldState runs f in a transaction that holds the row of fold_version, and stores what f makes of it.
func (s *Store) withFoldState(ctx context.Context, f func(tx pgx.Tx, state *foldState) error) error {
	return retry(ctx, func() error {
		return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			var state foldState
			if err := tx.QueryRow(ctx, lockFoldVersion).Scan(state.places()...); err != nil {
				return err
			}
			before := state
			if err := f(tx, &state); err != nil || state == before {
				return err
			}
			var writes pgx.Batch
			queueFoldState(&writes, state)
			return send(ctx, tx, &writes)
		})
	})
}

// Upgrade implements [lifecycle.Upgrader].
func (s *Store) Upgrade(ctx context.Context, limit int) (progress lifecycle.UpgradeProgress, err error) {
	err = s.withFoldState(ctx, func(tx pgx.Tx, f *foldState) error {
		defer func() { progress = f.progress() }()
		if f.version == f.target {
			return nil
		}
		tasks, err := outdated(ctx, tx, f, limit)
		if err != nil {
			return err
		}
		if len(tasks) == 0 {
			f.version = f.target
			_, err := tx.Exec(ctx, takeNext, pgx.QueryExecModeSimpleProtocol)
			return err
		}
		if err := s.judgeAnew(ctx, tx, tasks); err != nil {
			return err
		}
		f.lastTask, f.judged = slices.Max(tasks), f.judged+int64(len(tasks))
		return nil
	})
	return progress, s.wrap("upgrade", err)
}

func outdated(ctx context.Context, tx pgx.Tx, f *foldState, limit int) ([]int64, error) {
	rows, err := tx.Query(ctx, findOutdated, f.lastTask, f.endTask, f.target, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

const selectNamed = `SELECT id FROM tasks WHERE key = ANY($1)`

// appending is retry for what may append events. Tasks whose facts are of an older version are judged anew first.
func (s *Store) appending(ctx context.Context, f func() error) error {
	for {
		err := retry(ctx, f)
		var old *lifecycle.OldFactsError
		if !errors.As(err, &old) {
			return err
		}
		if err := s.judgeNamed(ctx, old.Tasks); err != nil {
			return fmt.Errorf("judge tasks anew: %w", err)
		}
	}
}

func (s *Store) judgeNamed(ctx context.Context, names []string) error {
	keys := make([][]byte, len(names))
	for i, name := range names {
		keys[i] = taskKey(name)
	}
	return s.withFoldState(ctx, func(tx pgx.Tx, _ *foldState) error {
		rows, err := tx.Query(ctx, selectNamed, keys)
		if err != nil {
			return err
		}
		tasks, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		return s.judgeAnew(ctx, tx, tasks)
	})
}
