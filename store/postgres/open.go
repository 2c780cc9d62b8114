package postgres

import (
	"context"
	"fmt"
	"math"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const (
	selectOpen = `SELECT m.seq, m.facts, t.task_id, t.facts
FROM (SELECT * FROM messages WHERE open AND stream = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq LIMIT $4) m
CROSS JOIN LATERAL (SELECT task_id, facts FROM tasks WHERE id = m.task OFFSET 0) t ORDER BY m.seq`
	selectRange = `SELECT seq, facts FROM messages WHERE stream = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq LIMIT $4`
)

// OpenMessages implements [lifecycle.OpenReader].
func (s *Store) OpenMessages(ctx context.Context, stream lifecycle.StreamID, from uint64, limit int) ([]lifecycle.OpenMessage, error) {
	streams := []lifecycle.StreamID{stream}
	if stream == (lifecycle.StreamID{}) {
		all, err := s.allStreams(ctx)
		if err != nil {
			return nil, s.wrap("list open messages", err)
		}
		streams, from = all, 0
	}
	var out []lifecycle.OpenMessage
	for _, k := range streams {
		open, err := s.openOf(ctx, k, from, limit-len(out))
		if err != nil {
			return nil, s.wrap(fmt.Sprintf("list open messages of %q", k), err)
		}
		out = append(out, open...)
	}
	return out, nil
}

func (s *Store) openOf(ctx context.Context, k lifecycle.StreamID, from uint64, limit int) ([]lifecycle.OpenMessage, error) {
	var out []lifecycle.OpenMessage
	err := s.eachSpan(ctx, k, from, math.MaxUint64, limit, selectOpen, func(rows pgx.CollectableRow) error {
		m, err := withTask(rows, k)
		out = append(out, m)
		return err
	})
	return out, err
}

// withTask reads a message of a stream, found as sequence and facts, with the id and the facts of its task.
func withTask(rows pgx.CollectableRow, stream lifecycle.StreamID) (m lifecycle.OpenMessage, err error) {
	var seq int64
	var message, id, task []byte
	if err := rows.Scan(&seq, &message, &id, &task); err != nil {
		return m, err
	}
	if m.Message, err = rowcodec.Message(lifecycle.MessageKey{Stream: stream, Seq: uint64(seq)}, message); err != nil {
		return m, err
	}
	m.Task, err = rowcodec.Task(string(id), task)
	return m, err
}

// MessagesIn implements [lifecycle.OpenReader].
func (s *Store) MessagesIn(ctx context.Context, stream lifecycle.StreamID, from, to uint64, limit int) ([]lifecycle.MessageFacts, error) {
	var out []lifecycle.MessageFacts
	err := s.eachSpan(ctx, stream, from, to, limit, selectRange, func(rows pgx.CollectableRow) error {
		var seq int64
		var facts []byte
		if err := rows.Scan(&seq, &facts); err != nil {
			return err
		}
		m, err := rowcodec.Message(lifecycle.MessageKey{Stream: stream, Seq: uint64(seq)}, facts)
		out = append(out, m)
		return err
	})
	return out, s.wrap(fmt.Sprintf("list messages of %q", stream), err)
}

// eachSpan runs a query for a range of sequences, whose arguments are stream, first, last and limit, and calls do for its rows in the
// order of the sequences.
func (s *Store) eachSpan(
	ctx context.Context, k lifecycle.StreamID, from, to uint64, limit int, query string, do func(pgx.CollectableRow) error,
) error {
	stream, ok, err := s.streamID(ctx, k)
	if err != nil || !ok {
		return err
	}
	for _, r := range columns.Spans(from, to) {
		if limit <= 0 {
			return nil
		}
		rows, err := s.pool.Query(ctx, query, stream, r.From, r.To, limit)
		if err != nil {
			return err
		}
		n, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, do(row) })
		if err != nil {
			return err
		}
		limit -= len(n)
	}
	return nil
}

const selectUnlisted = `SELECT task_id, facts FROM tasks WHERE NOT listed AND attempted AND last_event < $1 ORDER BY last_event, task_id LIMIT $2`

// UnlistedTasks implements [lifecycle.OpenReader]; the oldest come first.
func (s *Store) UnlistedTasks(ctx context.Context, before lifecycle.Micros, limit int) ([]lifecycle.TaskFacts, error) {
	rows, err := s.pool.Query(ctx, selectUnlisted, int64(before), limit)
	if err != nil {
		return nil, s.wrap("list unlisted tasks", err)
	}
	tasks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (lifecycle.TaskFacts, error) {
		var id, facts []byte
		if err := row.Scan(&id, &facts); err != nil {
			return lifecycle.TaskFacts{}, err
		}
		return rowcodec.Task(string(id), facts)
	})
	return tasks, s.wrap("list unlisted tasks", err)
}
