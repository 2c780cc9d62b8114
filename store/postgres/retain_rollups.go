package postgres

import (
	"context"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

// endedTasks is what the deletion of tasks changes in the rollups.
type endedTasks struct {
	history   lifecycle.Tally // What they contributed, and what stays.
	now       lifecycle.Tally // What is so no longer.
	upgrading bool            // What an upgrade prepares changes too.
}

const (
	selectEnded   = `SELECT id, task_id, facts, listed, state, agent FROM tasks WHERE id = ANY($1)`
	selectFactsOf = `SELECT stream, seq, task, facts FROM messages WHERE task = ANY($1)`
)

// ended counts tasks that are about to be deleted.
func (s *Store) ended(ctx context.Context, tx pgx.Tx, tasks []int64) (endedTasks, error) {
	gone := endedTasks{history: lifecycle.Tally{}, now: lifecycle.Tally{}}
	var state foldState
	if err := tx.QueryRow(ctx, selectFoldVersion).Scan(state.places()...); err != nil {
		return gone, err
	}
	if err := state.check(); err != nil {
		return gone, err
	}
	gone.upgrading = state.version != state.target
	messages, err := s.factsOf(ctx, tx, tasks)
	if err != nil {
		return gone, err
	}
	rows, err := tx.Query(ctx, selectEnded, tasks)
	if err != nil {
		return gone, err
	}
	var id int64
	var name, facts, agent []byte
	var listed bool
	var was lifecycle.State
	_, err = pgx.ForEachRow(rows, []any{&id, &name, &facts, &listed, &was, &agent}, func() error {
		task, err := rowcodec.Task(string(name), facts)
		for cell, n := range lifecycle.History(task, messages[id]) {
			gone.history[cell] += n
		}
		gone.now.Deleted(listed, string(agent), was)
		return err
	})
	return gone, err
}

// factsOf reads the facts of the messages of tasks, by task.
func (s *Store) factsOf(ctx context.Context, tx pgx.Tx, tasks []int64) (map[int64][]lifecycle.MessageFacts, error) {
	if err := s.loadStreamsBy(ctx, tx); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, selectFactsOf, tasks)
	if err != nil {
		return nil, err
	}
	out := map[int64][]lifecycle.MessageFacts{}
	var stream int32
	var seq, task int64
	var facts []byte
	_, err = pgx.ForEachRow(rows, []any{&stream, &seq, &task, &facts}, func() error {
		name, _ := s.streams.stream(stream)
		m, err := rowcodec.Message(lifecycle.MessageKey{Stream: name, Seq: uint64(seq)}, facts)
		out[task] = append(out[task], m)
		return err
	})
	return out, err
}

// queue adds to the tables of counts, in the order of everybody. The history has the labels of [Store.bounded]; what is so now names nothing.
func (e *endedTasks) queue(writes *pgx.Batch) {
	queueTally(writes, rollups, e.now)
	if e.upgrading {
		queueTally(writes, rollupsNext, e.now)
	}
	queueTally(writes, rollupsEnded, e.history)
}
