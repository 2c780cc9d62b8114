package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"

	"github.com/jackc/pgx/v5"
)

// streamTable remembers the numbers of streams, which never change. It only grows: several read the table at once, and who read it
// earlier may come later.
type streamTable struct {
	mu   sync.RWMutex
	ids  map[lifecycle.StreamID]int32
	byID map[int32]lifecycle.StreamID
}

const (
	selectStreams = `SELECT id, account, domain, name, epoch FROM streams ORDER BY id`
	insertStream  = `INSERT INTO streams (digest, account, domain, name, epoch) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
)

func (t *streamTable) id(k lifecycle.StreamID) (int32, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	id, ok := t.ids[k]
	return id, ok
}

func (t *streamTable) stream(id int32) (lifecycle.StreamID, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	k, ok := t.byID[id]
	return k, ok
}

func (t *streamTable) learn(ids map[lifecycle.StreamID]int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ids == nil {
		t.ids, t.byID = map[lifecycle.StreamID]int32{}, map[int32]lifecycle.StreamID{}
	}
	for k, id := range ids {
		t.ids[k], t.byID[id] = id, k
	}
}

// memo returns a function that finds the numbers of streams, quickly where it is asked for the same one many times in a row. It is
// for one goroutine.
func (t *streamTable) memo() func(lifecycle.StreamID) int32 {
	var last lifecycle.StreamID
	var id int32
	return func(k lifecycle.StreamID) int32 {
		if k != last {
			last = k
			id, _ = t.id(k)
		}
		return id
	}
}

// named finds streams by their textual form.
func (t *streamTable) named(names []string) []int32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ids := []int32{}
	for k, id := range t.ids {
		if slices.Contains(names, k.String()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// meant finds the streams that a place may be in.
func (t *streamTable) meant(p columns.Place) (ids []int32) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for k, id := range t.ids {
		if p.In(k) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// registerStreams gives every stream that b speaks of a number, in a transaction of its own: numbers are remembered, and must
// not be rolled back.
func (s *Store) registerStreams(ctx context.Context, b lifecycle.Batch) error {
	missing := map[lifecycle.StreamID]bool{}
	number := s.streams.memo()
	note := func(k lifecycle.StreamID) {
		if number(k) == 0 {
			missing[k] = true
		}
	}
	for i := range b.Events {
		if !b.Events[i].Message.IsZero() {
			note(b.Events[i].Message.Stream)
		}
	}
	for i := range b.Payloads {
		note(b.Payloads[i].Message.Stream)
	}
	for i := range b.Consumers {
		note(b.Consumers[i].Stream)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := s.loadStreams(ctx); err != nil {
		return err
	}
	for k := range missing {
		if _, ok := s.streams.id(k); ok {
			continue
		}
		id := digest(k.Account, k.Domain, k.Name, strconv.FormatInt(int64(k.Epoch), 10))
		if _, err := s.pool.Exec(ctx, insertStream, id, []byte(k.Account), []byte(k.Domain), []byte(k.Name), int64(k.Epoch)); err != nil {
			return err
		}
	}
	return s.loadStreams(ctx)
}

func (s *Store) loadStreams(ctx context.Context) error { return s.loadStreamsBy(ctx, s.pool) }

// loadStreamsBy reads the table of streams with the pool or inside a transaction.
func (s *Store) loadStreamsBy(ctx context.Context, q querier) error {
	rows, err := q.Query(ctx, selectStreams)
	if err != nil {
		return err
	}
	read := map[lifecycle.StreamID]int32{}
	var id int32
	var account, domain, name []byte
	var epoch int64
	_, err = pgx.ForEachRow(rows, []any{&id, &account, &domain, &name, &epoch}, func() error {
		k := lifecycle.StreamID{Account: string(account), Domain: string(domain), Name: string(name), Epoch: lifecycle.Micros(epoch)}
		read[k] = id
		return nil
	})
	if err == nil {
		s.streams.learn(read)
	}
	return err
}

// streamID finds the number of a stream that may have been registered by another program. ok is false for an unknown stream.
func (s *Store) streamID(ctx context.Context, k lifecycle.StreamID) (id int32, ok bool, err error) {
	if id, ok = s.streams.id(k); ok {
		return id, true, nil
	}
	if err := s.loadStreams(ctx); err != nil {
		return 0, false, err
	}
	id, ok = s.streams.id(k)
	return id, ok, nil
}

// allStreams lists the streams in their order.
func (s *Store) allStreams(ctx context.Context) ([]lifecycle.StreamID, error) {
	if err := s.loadStreams(ctx); err != nil {
		return nil, err
	}
	s.streams.mu.RLock()
	defer s.streams.mu.RUnlock()
	out := make([]lifecycle.StreamID, 0, len(s.streams.ids))
	for k := range s.streams.ids {
		out = append(out, k)
	}
	slices.SortFunc(out, lifecycle.StreamID.Compare)
	return out, nil
}

// key names the message that a row stands for; the zero key where there is none. It may ask the database, so it is not to be called
// inside a transaction, whose connection could be the last one.
func (s *Store) key(ctx context.Context, stream int32, seq int64) (lifecycle.MessageKey, error) {
	if stream == 0 {
		return lifecycle.MessageKey{}, nil
	}
	k, ok := s.streams.stream(stream)
	if !ok {
		if err := s.loadStreams(ctx); err != nil {
			return lifecycle.MessageKey{}, err
		}
		if k, ok = s.streams.stream(stream); !ok {
			return lifecycle.MessageKey{}, fmt.Errorf("stream %d is not in the table of streams", stream)
		}
	}
	return lifecycle.MessageKey{Stream: k, Seq: uint64(seq)}, nil
}
