package sqlite

import (
	"context"
	"fmt"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
)

// retainStep is the number of tasks that one transaction deletes.
const retainStep = 200

// Retain implements [lifecycle.Keeper].
func (s *Store) Retain(ctx context.Context, cutoff, now lifecycle.Micros) (int64, error) {
	var deleted int64
	for _, listed := range []int64{1, 0} {
		for from := (place{}); ; {
			var step retained
			err := s.submit(ctx, &job{do: func(w *writer) error {
				return w.transaction(func() (err error) { step, err = w.retainTasks(listed, from, cutoff); return err })
			}})
			if err != nil {
				return deleted, fmt.Errorf("retain: %w", err)
			}
			deleted += step.deleted
			if step.looked < retainStep {
				break
			}
			from = step.last
		}
	}
	err := s.submit(ctx, &job{do: func(w *writer) error {
		return w.transaction(func() error { return w.retainRest(cutoff, now) })
	}})
	if err == nil {
		err = s.retainPayloads(ctx, cutoff)
	}
	if err != nil {
		return deleted, fmt.Errorf("retain: %w", err)
	}
	return deleted, nil
}

// place is where a step of retention ended.
type place struct{ at, id int64 }

type retained struct {
	looked, deleted int64
	last            place
}

const (
	selectOldListed = `SELECT id, last_event, agent, state, task_id, listed, fold, facts FROM tasks INDEXED BY tasks_by_event
WHERE listed = 1 AND last_event < ? AND (last_event, id) > (?, ?) ORDER BY last_event, id LIMIT +?`
	selectOldUnlisted = `SELECT id, last_event, agent, state, task_id, listed, fold, facts FROM tasks INDEXED BY tasks_unlisted
WHERE listed = 0 AND last_event < ? AND (last_event, id) > (?, ?) ORDER BY last_event, id LIMIT +?`
	deletePayloadsOf = `DELETE FROM payloads WHERE (stream, seq) IN (SELECT stream, seq FROM messages WHERE task = ?)`
	deleteMessagesOf = `DELETE FROM messages WHERE task = ?`
	isAwaited        = `SELECT 1 FROM messages WHERE task = ?1 AND open = 1 UNION ALL SELECT 1 FROM entries WHERE task = ?1 AND status IN (?2, ?3, ?4) LIMIT 1`
)

type oldTask struct {
	id       int64
	agent    string
	state    lifecycle.State
	listed   bool
	outdated bool
	facts    lifecycle.TaskFacts
}

// retainTasks looks at the next old tasks and deletes those that are settled. The counters of what is so now follow; the hours
// that they were part of stay as they are.
func (w *writer) retainTasks(listed int64, from place, cutoff lifecycle.Micros) (retained, error) {
	query := selectOldUnlisted
	if listed == 1 {
		query = selectOldListed
	}
	var step retained
	var old []oldTask
	err := w.statement(query).int(int64(cutoff)).int(from.at).int(from.id).int(retainStep).each(func(r *statement) error {
		t := oldTask{id: r.getInt()}
		step.last = place{at: r.getInt(), id: t.id}
		t.agent, t.state = r.getText(), lifecycle.State(r.getText())
		name := r.getText()
		t.listed, t.outdated = r.getFlag(), r.getInt() != lifecycle.FoldVersion
		var err error
		if !t.outdated {
			t.facts, err = rowcodec.Task(name, r.getBlob())
		}
		old = append(old, t)
		return err
	})
	if err != nil {
		return step, err
	}
	step.looked = int64(len(old))
	gone := endedTasks{history: lifecycle.Tally{}, now: lifecycle.Tally{}}
	if gone.names, err = loadStreams(w.conn); err != nil {
		return step, err
	}
	for _, t := range old {
		deleted, err := w.retainTask(t, &gone)
		if err != nil {
			return step, fmt.Errorf("delete task: %w", err)
		}
		if deleted {
			step.deleted++
		}
	}
	return step, w.countEnded(gone)
}

// retainTask deletes a task with all that belongs to it, unless it is open, or a dead letter of it is not settled.
func (w *writer) retainTask(t oldTask, gone *endedTasks) (bool, error) {
	awaited := t.outdated // The upgrade counts it first.
	ask := w.statement(isAwaited).int(t.id)
	for _, status := range dlqtriage.Unsettled() {
		ask.text(string(status))
	}
	err := ask.each(func(*statement) error { awaited = true; return nil })
	if err != nil || awaited {
		return false, err
	}
	if err := w.end(t, gone); err != nil {
		return false, err
	}
	for _, query := range []string{deletePayloadsOf, deleteMessagesOf, deleteEntriesOf, deleteFollowUpsOf, deleteEventsOf, deleteTraceOf, deleteTask} {
		if err := w.statement(query).int(t.id).exec(); err != nil {
			return false, err
		}
	}
	return true, nil
}

const (
	deleteQuarantined = `DELETE FROM quarantine WHERE at < ?`
	deleteGaps        = `DELETE FROM gaps WHERE until <> 0 AND until < ?`
)

func (w *writer) retainRest(cutoff, now lifecycle.Micros) error {
	if err := w.statement(deleteQuarantined).int(int64(cutoff)).exec(); err != nil {
		return fmt.Errorf("delete quarantined lines: %w", err)
	}
	if err := w.statement(deleteGaps).int(int64(min(cutoff, now.Add(-lifecycle.GapsKept)))).exec(); err != nil {
		return fmt.Errorf("delete gaps: %w", err)
	}
	for _, metric := range lifecycle.MinuteMetrics() {
		for _, table := range []rollupTable{rollups, rollupsNext, rollupsEnded} {
			if err := w.statement(table.deleteMinutes).text(string(metric)).int(int64(now.Add(-lifecycle.MinutesKept))).exec(); err != nil {
				return fmt.Errorf("delete minute rollups: %w", err)
			}
		}
	}
	return nil
}

// selectLonePayloads finds old payloads of messages that no event ever told of. Payloads lie in the order in which they came.
const selectLonePayloads = `SELECT p.id, p.at, m.seq IS NULL FROM payloads p LEFT JOIN messages m ON m.stream = p.stream AND m.seq = p.seq
WHERE p.id > ? ORDER BY p.id LIMIT +?`

const deletePayload = `DELETE FROM payloads WHERE id = ?`

// retainPayloads deletes old payloads without a message. It stops at the first part in which all are recent.
func (s *Store) retainPayloads(ctx context.Context, cutoff lifecycle.Micros) error {
	for last, old := int64(0), true; old; {
		err := s.submit(ctx, &job{do: func(w *writer) error {
			return w.transaction(func() (err error) { last, old, err = w.retainPayloads(last, cutoff); return err })
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) retainPayloads(from int64, cutoff lifecycle.Micros) (last int64, old bool, err error) {
	var lone []int64
	last = from
	err = w.statement(selectLonePayloads).int(from).int(10 * retainStep).each(func(r *statement) error {
		last = r.getInt()
		if at := lifecycle.Micros(r.getInt()); at < cutoff {
			old = true
			if r.getFlag() {
				lone = append(lone, last)
			}
		}
		return nil
	})
	for _, id := range lone {
		if err == nil {
			err = w.statement(deletePayload).int(id).exec()
		}
	}
	return last, old, err
}
