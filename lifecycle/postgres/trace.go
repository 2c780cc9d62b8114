package postgres

import (
	"context"
	"fmt"
	"slices"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const (
	selectTask   = `SELECT t.facts, ` + summaryList + ` FROM tasks t WHERE t.key = $1`
	selectNewest = `SELECT m.stream, m.seq, m.facts
FROM (SELECT * FROM messages WHERE task = (SELECT id FROM tasks WHERE key = $1) OFFSET 0) m JOIN streams s ON s.id = m.stream
ORDER BY m.generation DESC, s.epoch DESC, s.account DESC, s.domain DESC, s.name DESC, m.seq < 0 DESC, m.seq DESC LIMIT 200`
)

// Task implements [lifecycle.TraceReader].
func (s *Store) Task(ctx context.Context, id string) (lifecycle.TaskRecord, error) {
	record, err := s.task(ctx, id)
	return record, s.wrap(fmt.Sprintf("read task %q", id), err)
}

func (s *Store) task(ctx context.Context, id string) (record lifecycle.TaskRecord, err error) {
	var summary summaryRow
	var facts []byte
	var messages []storedMessage
	var queries pgx.Batch // One round trip.
	queries.Queue(beginSnapshot)
	queries.Queue(selectTask, taskKey(id)).QueryRow(func(row pgx.Row) error { return row.Scan(append([]any{&facts}, summary.targets()...)...) })
	queries.Queue(selectNewest, taskKey(id)).Query(func(rows pgx.Rows) error {
		messages, err = collectMessages(rows)
		return err
	})
	queries.Queue(`COMMIT`)
	err = s.pool.SendBatch(ctx, &queries).Close()
	if err != nil {
		return record, err
	}
	if record.Facts, err = rowcodec.Task(id, facts); err != nil {
		return record, err
	}
	if record.Summary, err = s.summary(ctx, summary, nil); err != nil {
		return record, err
	}
	slices.Reverse(messages)
	record.Messages, err = s.messageFacts(ctx, messages)
	return record, err
}

// storedMessage is a row of messages as it was read.
type storedMessage struct {
	stream int32
	seq    int64
	facts  []byte
}

// collectMessages reads rows of stream, seq and facts.
func collectMessages(rows pgx.Rows) ([]storedMessage, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m storedMessage, err error) {
		err = row.Scan(&m.stream, &m.seq, &m.facts)
		return m, err
	})
}

func (s *Store) messageFacts(ctx context.Context, rows []storedMessage) ([]lifecycle.MessageFacts, error) {
	out := make([]lifecycle.MessageFacts, len(rows))
	for i, m := range rows {
		key, err := s.key(ctx, m.stream, m.seq)
		if err != nil {
			return nil, err
		}
		if out[i], err = rowcodec.Message(key, m.facts); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const selectTaskOf = `SELECT t.task_id FROM messages m JOIN tasks t ON t.id = m.task WHERE m.stream = $1 AND m.seq = $2`

// TaskOf implements [lifecycle.TraceReader].
func (s *Store) TaskOf(ctx context.Context, k lifecycle.MessageKey) (string, error) {
	stream, ok, err := s.streamID(ctx, k.Stream)
	var task []byte
	if err == nil && !ok {
		err = pgx.ErrNoRows
	}
	if err == nil {
		err = s.pool.QueryRow(ctx, selectTaskOf, stream, int64(k.Seq)).Scan(&task)
	}
	return string(task), s.wrap(fmt.Sprintf("find the task of message %s", k), err)
}

const selectPayload = `SELECT at, headers, body, size, truncated FROM payloads WHERE stream = $1 AND seq = $2 ORDER BY at DESC LIMIT 1`

// Payload implements [lifecycle.TraceReader].
func (s *Store) Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error) {
	p := lifecycle.Payload{Message: k}
	var headers []byte
	stream, ok, err := s.streamID(ctx, k.Stream)
	if err == nil && !ok {
		err = pgx.ErrNoRows
	}
	if err == nil {
		err = s.pool.QueryRow(ctx, selectPayload, stream, int64(k.Seq)).Scan(&p.At, &headers, &p.Body, &p.Size, &p.Truncated)
	}
	if err == nil {
		p.Headers, err = rowcodec.Headers(headers)
	}
	if err != nil {
		return lifecycle.Payload{}, s.wrap(fmt.Sprintf("read the payload of %s", k), err)
	}
	return p, nil
}
