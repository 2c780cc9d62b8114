package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

// selectTask reads a task and its newest messages, column by column.
const selectTask = `SELECT t.facts, m.streams, m.seqs, m.facts, ` + summaryList + ` FROM tasks t CROSS JOIN LATERAL (
    SELECT array_agg(m.stream) AS streams, array_agg(m.seq) AS seqs, array_agg(m.facts) AS facts FROM (
        SELECT m.stream, m.seq, m.facts FROM (SELECT * FROM messages WHERE task = t.id OFFSET 0) m JOIN streams s ON s.id = m.stream
        ORDER BY m.generation DESC, s.epoch DESC, s.account DESC, s.domain DESC, s.name DESC, m.seq < 0 DESC, m.seq DESC LIMIT $2) m) m
WHERE t.key = $1`

// Task implements [lifecycle.TraceReader].
func (s *Store) Task(ctx context.Context, id string) (lifecycle.TaskRecord, error) {
	record, err := s.task(ctx, id)
	return record, s.wrap(fmt.Sprintf("read task %q", id), err)
}

func (s *Store) task(ctx context.Context, id string) (record lifecycle.TaskRecord, err error) {
	var summary summaryRow
	var facts []byte
	var streams []int32
	var seqs []int64
	var messages [][]byte
	err = s.pool.ready.QueryRow(ctx, selectTask, taskKey(id), lifecycle.MessagesPerTask).Scan(append([]any{&facts, &streams, &seqs, &messages}, summary.targets()...)...)
	if err != nil {
		return record, err
	}
	if record.Facts, err = rowcodec.Task(id, facts); err != nil {
		return record, err
	}
	if record.Summary, err = s.summary(ctx, summary, nil); err != nil {
		return record, err
	}
	record.Messages = make([]lifecycle.MessageFacts, len(messages))
	for i, m := range messages {
		key, err := s.key(ctx, streams[i], seqs[i])
		if err != nil {
			return record, err
		}
		if record.Messages[len(messages)-1-i], err = rowcodec.Message(key, m); err != nil {
			return record, err
		}
	}
	return record, nil
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
		err = s.pool.ready.QueryRow(ctx, selectTaskOf, stream, int64(k.Seq)).Scan(&task)
	}
	return string(task), s.wrap(fmt.Sprintf("find the task of message %s", k), err)
}

const (
	selectSpanOf  = `SELECT t.events_from, t.events_to FROM messages m JOIN tasks t ON t.id = m.task WHERE m.stream = $1 AND m.seq = $2`
	selectPayload = `SELECT at, headers, body, size, truncated FROM payloads WHERE stream = $1 AND seq = $2 AND at BETWEEN $3 AND $4 ORDER BY at DESC LIMIT 1`
)

// Payload implements [lifecycle.TraceReader].
func (s *Store) Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error) {
	stream, ok, err := s.streamID(ctx, k.Stream)
	if err == nil && !ok {
		err = pgx.ErrNoRows
	}
	var p lifecycle.Payload
	if err == nil {
		p, err = s.payload(ctx, stream, int64(k.Seq))
	}
	p.Message = k
	if err != nil {
		return lifecycle.Payload{}, s.wrap(fmt.Sprintf("read the payload of %s", k), err)
	}
	return p, nil
}

// payload looks at the days of the task's events first, where most payloads are, and then at all: to plan for a year of days takes many
// times longer than to read.
func (s *Store) payload(ctx context.Context, stream int32, seq int64) (p lifecycle.Payload, err error) {
	var from, to int64
	err = s.pool.ready.QueryRow(ctx, selectSpanOf, stream, seq).Scan(&from, &to)
	if err == nil {
		p, err = s.payloadIn(ctx, stream, seq, from, to)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		p, err = s.payloadIn(ctx, stream, seq, math.MinInt64, math.MaxInt64)
	}
	return p, err
}

func (s *Store) payloadIn(ctx context.Context, stream int32, seq, from, to int64) (p lifecycle.Payload, err error) {
	var headers []byte
	err = s.pool.QueryRow(ctx, selectPayload, stream, seq, from, to).Scan(&p.At, &headers, &p.Body, &p.Size, &p.Truncated)
	if err == nil {
		p.Headers, err = rowcodec.Headers(headers)
	}
	return p, err
}
