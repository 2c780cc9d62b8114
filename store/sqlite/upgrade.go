package sqlite

import (
	"context"
	"errors"
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
)

const (
	selectFoldVersion = `SELECT version, target, last_task, end_task, judged FROM fold_version`
	updateFoldVersion = `UPDATE fold_version SET version = ?, target = ?, last_task = ?, end_task = ?, judged = ?`
	clearNext         = `DELETE FROM rollups_next`
	startNext         = `INSERT INTO rollups_next SELECT metric, bucket, agent, label, n FROM rollups_ended`
	takeNext          = `INSERT INTO rollups SELECT metric, bucket, agent, label, n FROM rollups_next`
	takeEnded         = `INSERT INTO rollups SELECT metric, bucket, agent, label, n FROM rollups_ended`
	setFold           = `UPDATE tasks SET fold = ? WHERE id = ?`
	setFoldOfAll      = `UPDATE tasks SET fold = ? WHERE fold <> ?`
	outdatedColumns   = `SELECT id, task_id, published, listed, fold, facts FROM tasks `
	selectOutdated    = outdatedColumns + `WHERE id > ? AND id <= ? AND fold <> ? ORDER BY id LIMIT +?`
	selectNamed       = outdatedColumns + `WHERE task_id = ?`
	selectRowsOf      = `SELECT stream, seq, generation, open, facts FROM messages WHERE task = ?`
	selectChunksOf    = `SELECT chunk FROM events WHERE task = ? ORDER BY at, id`
	deleteMessage     = `DELETE FROM messages WHERE stream = ? AND seq = ?`
)

// foldState is the row of the table fold_version.
type foldState struct {
	version, target           int
	lastTask, endTask, judged int64
}

func (w *writer) foldState() (f foldState, err error) {
	err = w.statement(selectFoldVersion).each(func(r *statement) error {
		f = foldState{int(r.getInt()), int(r.getInt()), r.getInt(), r.getInt(), r.getInt()}
		return nil
	})
	return f, err
}

func (w *writer) saveFoldState(f foldState) error {
	return w.statement(updateFoldVersion).int(int64(f.version)).int(int64(f.target)).int(f.lastTask).int(f.endTask).int(f.judged).exec()
}

func (f foldState) progress() lifecycle.UpgradeProgress {
	p := lifecycle.UpgradeProgress{From: f.version, To: f.target, Judged: f.judged, Percent: 100}
	if !p.Done() {
		p.Percent = int(100 * f.lastTask / max(1, f.endTask))
	}
	return p
}

// beginUpgrade prepares for this program's rules, before anything is appended. It errors with lifecycle.ErrNewer where the tasks are judged
// by rules that this program does not know.
func (w *writer) beginUpgrade() error {
	var f foldState
	err := w.transaction(func() (err error) {
		if f, err = w.foldState(); err != nil || f.target == lifecycle.FoldVersion {
			return err
		}
		if f.target > lifecycle.FoldVersion {
			return fmt.Errorf("%w: version %d, this program's is %d", lifecycle.ErrNewer, f.target, lifecycle.FoldVersion)
		}
		end := int64(0)
		if err := w.statement(lastTask).each(func(r *statement) error { end = r.getInt(); return nil }); err != nil {
			return err
		}
		f = foldState{version: f.version, target: lifecycle.FoldVersion, endTask: end}
		if end == 0 { // Nothing was judged by other rules.
			f.version = f.target
			return w.saveFoldState(f)
		}
		return w.runAll(func() error { return w.saveFoldState(f) }, clearNext, startNext)
	})
	w.upgrading = err == nil && f.version != f.target
	return err
}

// runAll runs statements without arguments, then f.
func (w *writer) runAll(f func() error, queries ...string) error {
	for _, q := range queries {
		if err := w.statement(q).exec(); err != nil {
			return err
		}
	}
	return f()
}

// Upgrade implements [lifecycle.Upgrader].
func (s *Store) Upgrade(ctx context.Context, limit int) (lifecycle.UpgradeProgress, error) {
	var f foldState
	err := s.submit(ctx, &job{do: func(w *writer) error {
		err := w.transaction(func() (err error) { f, err = w.upgrade(limit); return err })
		if err == nil {
			w.upgrading = f.version != f.target
		}
		return err
	}})
	if err != nil {
		return lifecycle.UpgradeProgress{}, fmt.Errorf("upgrade: %w", err)
	}
	return f.progress(), nil
}

// upgrade judges the next tasks, or ends the upgrade when there are none.
func (w *writer) upgrade(limit int) (foldState, error) {
	f, err := w.foldState()
	if err != nil || f.version == f.target {
		return f, err
	}
	u := &upgrading{w: w}
	if u.names, err = loadStreams(w.conn); err != nil {
		return f, err
	}
	tasks, err := u.next(f, limit)
	if err != nil {
		return f, err
	}
	if len(tasks) == 0 {
		f.version = f.target
		return f, w.runAll(func() error { return w.saveFoldState(f) }, deleteRollups, takeNext, clearNext)
	}
	for _, t := range tasks {
		if err := u.judge(t); err != nil {
			return f, fmt.Errorf("judge task %q anew: %w", t.facts.ID, err)
		}
		f.lastTask = t.row
		f.judged++
	}
	return f, w.saveFoldState(f)
}

// appending is transaction for what may append events. Tasks whose facts are of an older version are judged anew first.
func (w *writer) appending(f func() error) error {
	for {
		err := w.transaction(f)
		var old *lifecycle.OldFactsError
		if !errors.As(err, &old) {
			return err
		}
		if err := w.transaction(func() error { return w.judgeNamed(old.Tasks) }); err != nil {
			return fmt.Errorf("judge tasks anew: %w", err)
		}
	}
}

func (w *writer) judgeNamed(names []string) error {
	u := &upgrading{w: w}
	var err error
	if u.names, err = loadStreams(w.conn); err != nil {
		return err
	}
	for _, name := range names {
		var tasks []outdatedTask
		err := w.statement(selectNamed).text(name).each(func(r *statement) error {
			t, err := getOutdated(r)
			tasks = append(tasks, t)
			return err
		})
		if err == nil && len(tasks) == 1 && tasks[0].fold != lifecycle.FoldVersion {
			err = u.judge(tasks[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// upgrading is one transaction of an upgrade.
type upgrading struct {
	w     *writer
	names *streams
}

// outdatedTask is a task that was judged by an older version of the rules.
type outdatedTask struct {
	row   int64
	fold  int
	place taskPlace
	facts lifecycle.TaskFacts
}

func (u *upgrading) next(f foldState, limit int) ([]outdatedTask, error) {
	var out []outdatedTask
	err := u.w.statement(selectOutdated).int(f.lastTask).int(f.endTask).int(int64(f.target)).int(int64(limit)).each(func(r *statement) error {
		t, err := getOutdated(r)
		out = append(out, t)
		return err
	})
	return out, err
}

// getOutdated reads outdatedColumns.
func getOutdated(r *statement) (t outdatedTask, err error) {
	t.row = r.getInt()
	name := r.getText()
	t.place, t.fold = taskPlace{published: lifecycle.Micros(r.getInt()), listed: r.getFlag()}, int(r.getInt())
	if t.facts.ID = name; t.refolds() {
		return t, nil
	}
	t.facts, err = rowcodec.Task(name, r.getBlob())
	return t, err
}

// refolds reports whether the task must be folded from its events: what is stored of it may not even be readable.
func (t outdatedTask) refolds() bool { return t.fold < lifecycle.FactsVersion }

// judge writes a task with its messages as the present rules judge them, and counts it in the rollups that the upgrade prepares.
func (u *upgrading) judge(t outdatedTask) error {
	c := u.w.newCommit()
	if err := c.begin(); err != nil {
		return err
	}
	c.ids[t.facts.ID], c.rows[t.facts.ID] = t.row, t.place
	for _, query := range []string{deleteEntriesOf, deleteFollowUpsOf} {
		if err := u.w.statement(query).int(t.row).exec(); err != nil {
			return err
		}
	}
	messages, err := u.load(c, t)
	if err != nil {
		return err
	}
	if t.refolds() {
		if err := u.refold(c, t); err != nil {
			return err
		}
	} else {
		c.fold.LoadTask(t.facts)
		for _, m := range messages {
			c.fold.LoadMessage(m, t.facts.ID)
		}
		c.fold.Rejudge()
	}
	return u.write(c, t)
}

// load reads the messages of the task, and where they stand in the indexes.
func (u *upgrading) load(c *commit, t outdatedTask) ([]lifecycle.MessageFacts, error) {
	var out []lifecycle.MessageFacts
	err := u.w.statement(selectRowsOf).int(t.row).each(func(r *statement) error {
		k := getKey(r, u.names)
		c.messages[k] = messagePlace{task: t.row, generation: r.getInt(), open: r.getFlag()}
		if t.refolds() {
			return nil
		}
		facts, err := rowcodec.Message(k, r.getBlob())
		out = append(out, facts)
		return err
	})
	return out, err
}

// refold joins the stored events of a task anew.
func (u *upgrading) refold(c *commit, t outdatedTask) error {
	var events []lifecycle.Event
	err := u.w.statement(selectChunksOf).int(t.row).each(func(r *statement) error {
		stored, err := rowcodec.ReadChunk(nil, r.getBlob())
		for _, s := range stored {
			e, err := getEvent(s, u.names, t.facts.ID)
			if err != nil {
				return err
			}
			events = append(events, e.WithoutPlaceholder())
		}
		return err
	})
	if err != nil {
		return err
	}
	c.fold.Assign(events)
	for _, e := range events {
		c.fold.Add(e)
	}
	return nil
}

// write writes the rows, without messages that no event is about.
func (u *upgrading) write(c *commit, t outdatedTask) error {
	changes := c.fold.Changes()
	known := map[lifecycle.MessageKey]bool{}
	for i := range changes.Messages {
		known[changes.Messages[i].Facts.Key] = true
	}
	for k := range c.messages {
		if known[k] {
			continue
		}
		if err := u.w.statement(deleteMessage).int(u.names.ids[k.Stream]).int(int64(k.Seq)).exec(); err != nil {
			return err
		}
	}
	tally := changes.Tally
	changes.Tally = nil // The rollups at hand stay as they are until the end.
	if err := c.write(changes); err != nil {
		return err
	}
	if err := u.w.statement(setFold).int(lifecycle.FoldVersion).int(t.row).exec(); err != nil {
		return err
	}
	return u.w.addTo(rollupsNext, tally)
}
