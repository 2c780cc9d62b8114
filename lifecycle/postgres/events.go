package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const (
	selectSpan   = `SELECT id, events_from, events_to FROM tasks WHERE key = $1`
	eventList    = `at, id, stream, seq, body`
	selectEvents = `SELECT ` + eventList + ` FROM events WHERE task = $1 AND at BETWEEN $2 AND $3 AND (at, id) > ($4, $5) ORDER BY at, id LIMIT $6`
	selectEvent  = `SELECT ` + eventList + ` FROM events WHERE task = $1 AND at BETWEEN $2 AND $3 AND id = $4 ORDER BY at LIMIT 1`
)

// Events implements [lifecycle.TraceReader].
func (s *Store) Events(ctx context.Context, taskID string, after lifecycle.EventPosition, limit int) ([]lifecycle.Event, error) {
	at, id := int64(math.MinInt64), int64(math.MinInt64)
	if after != (lifecycle.EventPosition{}) {
		at, id = int64(after.At), storedID(after.ID)
	}
	events, err := s.eventsOf(ctx, taskID, selectEvents, at, id, limit)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return events, s.wrap(fmt.Sprintf("read the events of task %q", taskID), err)
}

// Event implements [lifecycle.TraceReader].
func (s *Store) Event(ctx context.Context, taskID string, id lifecycle.EventID) (lifecycle.Event, error) {
	events, err := s.eventsOf(ctx, taskID, selectEvent, storedID(id))
	if err == nil && len(events) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return lifecycle.Event{}, s.wrap(fmt.Sprintf("read event %s of task %q", id, taskID), err)
	}
	return events[0], nil
}

// eventsOf runs a query for events of a task, whose first arguments are the task and the span of its events: only the days in it
// are looked at.
func (s *Store) eventsOf(ctx context.Context, taskID, query string, args ...any) ([]lifecycle.Event, error) {
	var task, from, to int64
	if err := s.pool.QueryRow(ctx, selectSpan, taskKey(taskID)).Scan(&task, &from, &to); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, query, append([]any{task, from, to}, args...)...)
	if err != nil {
		return nil, err
	}
	read, err := pgx.CollectRows(rows, scanEvent)
	if err != nil {
		return nil, err
	}
	return s.events(ctx, taskID, read)
}

// eventRow is an event as it was read.
type eventRow struct {
	at, id, seq int64
	stream      int32
	body        []byte
}

func scanEvent(row pgx.CollectableRow) (r eventRow, err error) {
	err = row.Scan(&r.at, &r.id, &r.stream, &r.seq, &r.body)
	return r, err
}

func (s *Store) events(ctx context.Context, taskID string, rows []eventRow) ([]lifecycle.Event, error) {
	out := make([]lifecycle.Event, len(rows))
	for i, r := range rows {
		message, err := s.key(ctx, r.stream, r.seq)
		if err != nil {
			return nil, err
		}
		out[i] = lifecycle.Event{ID: loadedID(r.id), At: lifecycle.Micros(r.at), TaskID: taskID, Message: message}
		if err := rowcodec.ReadEvent(&out[i], r.body); err != nil {
			return nil, err
		}
	}
	return out, nil
}
