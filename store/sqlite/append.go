package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/intake"
)

// Append implements [lifecycle.Appender]. Batches that arrive while the writer is busy are committed together, each with its own
// result.
func (s *Store) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	if err := ctx.Err(); err != nil {
		return lifecycle.Appended{}, fmt.Errorf("append: %w", err)
	}
	j := &job{batch: &b}
	if err := s.submit(ctx, j); err != nil {
		return lifecycle.Appended{}, fmt.Errorf("append: %w", err)
	}
	return j.result, nil
}

// append stores batches within a transaction, in the steps of [lifecycle.Fold].
func (w *writer) append(jobs []*job) error {
	for _, j := range jobs {
		if err := w.putRest(j.batch); err != nil {
			return err
		}
	}
	events := w.events[:0] // A copy, because the fold names the task of every event.
	for _, j := range jobs {
		events = append(events, j.batch.Events...)
	}
	c := w.newCommit()
	if len(events) == 0 {
		return w.putPayloads(jobs, c.fold)
	}
	w.events = events
	defer clear(events)
	if err := c.run(jobs, events); err != nil {
		return err
	}
	return w.putPayloads(jobs, c.fold)
}

// commit is one transaction's work on events.
type commit struct {
	w        *writer
	fold     *lifecycle.Fold
	ids      map[string]int64     // Row ids of the tasks at hand, those of new ones included.
	rows     map[string]taskPlace // The stored tasks at hand.
	messages map[lifecycle.MessageKey]messagePlace
	moved    map[int64]bool // Tasks that were given the events of a message.
	oldFacts []string       // Tasks at hand whose stored facts are of an older version.
	last     int64          // The highest row id given to a task.
}

func (w *writer) newCommit() *commit {
	return &commit{
		w: w, fold: lifecycle.NewFold(), ids: map[string]int64{}, rows: map[string]taskPlace{},
		messages: map[lifecycle.MessageKey]messagePlace{}, moved: map[int64]bool{},
	}
}

func (c *commit) run(jobs []*job, events []lifecycle.Event) error {
	if err := c.begin(); err != nil {
		return err
	}
	if err := c.loadMessages(c.fold.Keys(events)); err != nil {
		return fmt.Errorf("load messages: %w", err)
	}
	if err := c.checkFacts(); err != nil {
		return err
	}
	c.fold.Assign(events)
	if err := c.loadTasks(c.fold.Tasks()); err != nil {
		return fmt.Errorf("load tasks: %w", err)
	}
	if err := c.checkFacts(); err != nil {
		return err
	}
	if err := c.loadMessages(c.fold.MissingHeads()); err != nil {
		return fmt.Errorf("load newest messages: %w", err)
	}
	if err := c.moveEvents(c.fold.Moves()); err != nil {
		return fmt.Errorf("move events: %w", err)
	}
	log := intake.ChangeLog{}
	for _, j := range jobs {
		log.Batch(len(j.batch.Events))
	}
	if err := c.insertEvents(events, &log); err != nil {
		return fmt.Errorf("insert events: %w", err)
	}
	changes := c.fold.Changes()
	if err := c.write(changes); err != nil {
		return err
	}
	if err := c.noteTraces(changes.Tasks); err != nil {
		return fmt.Errorf("note the ends of tasks: %w", err)
	}
	for i, result := range log.Results(changes.Tasks) {
		jobs[i].result = result
	}
	return nil
}

func (c *commit) write(changes lifecycle.Changes) error {
	for i := range changes.Messages {
		m := &changes.Messages[i]
		if err := c.writeMessage(m); err != nil {
			return fmt.Errorf("write message %v: %w", m.Facts.Key, err)
		}
	}
	for _, t := range c.byRow(changes.Tasks) {
		if err := c.writeTask(t); err != nil {
			return fmt.Errorf("write task %q: %w", t.Facts.ID, err)
		}
	}
	if err := c.writeEntries(changes.Fallen); err != nil {
		return fmt.Errorf("write entries: %w", err)
	}
	for _, id := range changes.Removed {
		if err := c.w.statement(deleteTask).int(c.ids[id]).exec(); err != nil {
			return fmt.Errorf("delete task %q: %w", id, err)
		}
		if err := c.w.statement(deleteTraceOf).int(c.ids[id]).exec(); err != nil {
			return fmt.Errorf("delete task %q: %w", id, err)
		}
	}
	return c.w.count(changes)
}

// byRow sorts tasks by row id, so that new rows are added at the end.
func (c *commit) byRow(tasks []lifecycle.TaskRow) []*lifecycle.TaskRow {
	out := make([]*lifecycle.TaskRow, len(tasks))
	for i := range tasks {
		out[i] = &tasks[i]
	}
	slices.SortFunc(out, func(a, b *lifecycle.TaskRow) int { return cmp.Compare(c.taskRow(a.Facts.ID), c.taskRow(b.Facts.ID)) })
	return out
}
