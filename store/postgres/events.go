package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const (
	selectSpan   = `SELECT id, events_from, events_to FROM tasks WHERE key = $1`
	selectChunks = `SELECT chunk FROM events WHERE task = $1 AND at BETWEEN $2 AND $3 AND (at, id) > ($4, $5) ORDER BY at, id LIMIT $6`
)

// Events implements [lifecycle.TraceReader].
func (s *Store) Events(ctx context.Context, taskID string, after lifecycle.EventPosition, limit int) ([]lifecycle.Event, error) {
	from := rowcodec.Position{At: math.MinInt64, ID: math.MinInt64}
	if after != (lifecycle.EventPosition{}) {
		from = rowcodec.Position{At: int64(after.At), ID: columns.StoredID(after.ID)}
	}
	stored, err := s.chunkedEvents(ctx, taskID, from, limit)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	var out []lifecycle.Event
	for i := 0; i < min(len(stored), limit) && err == nil; i++ {
		var e lifecycle.Event
		e, err = s.event(ctx, taskID, stored[i])
		out = append(out, e)
	}
	return out, s.wrap(fmt.Sprintf("read the events of task %q", taskID), err)
}

// Event implements [lifecycle.TraceReader].
func (s *Store) Event(ctx context.Context, taskID string, id lifecycle.EventID) (out lifecycle.Event, err error) {
	stored, err := s.chunkedEvents(ctx, taskID, rowcodec.Position{At: math.MinInt64, ID: math.MinInt64}, math.MaxInt32)
	if err == nil {
		i := slices.IndexFunc(stored, func(e rowcodec.ChunkedEvent) bool { return e.ID == columns.StoredID(id) })
		if i >= 0 {
			out, err = s.event(ctx, taskID, stored[i])
		} else {
			err = pgx.ErrNoRows
		}
	}
	return out, s.wrap(fmt.Sprintf("read event %s of task %q", id, taskID), err)
}

// chunkedEvents reads the events of a task behind a position, in order: the number asked for, where there are so many, and what else
// their chunks hold. Only the days in the span of the task's events are looked at: the database keeps one plan for all days, and leaves the
// others out when it begins.
func (s *Store) chunkedEvents(ctx context.Context, taskID string, after rowcodec.Position, limit int) ([]rowcodec.ChunkedEvent, error) {
	var task, from, to int64
	if err := s.pool.ready.QueryRow(ctx, selectSpan, taskKey(taskID)).Scan(&task, &from, &to); err != nil {
		return nil, err
	}
	rows, err := s.pool.ready.Query(ctx, selectChunks, task, from, to, after.At, after.ID, limit)
	if err != nil {
		return nil, err
	}
	var out []rowcodec.ChunkedEvent
	var chunk []byte
	_, err = pgx.ForEachRow(rows, []any{&chunk}, func() (err error) {
		out, err = rowcodec.ReadChunk(out, chunk)
		return err
	})
	return slices.DeleteFunc(out, func(e rowcodec.ChunkedEvent) bool { return e.Position.Compare(after) <= 0 }), err
}

func (s *Store) event(ctx context.Context, taskID string, e rowcodec.ChunkedEvent) (lifecycle.Event, error) {
	message, err := s.key(ctx, int32(e.Stream), e.Seq)
	if err != nil {
		return lifecycle.Event{}, err
	}
	out := lifecycle.Event{ID: columns.LoadedID(e.ID), At: lifecycle.Micros(e.At), TaskID: taskID, Message: message}
	return out, rowcodec.ReadEvent(&out, e.Body)
}
