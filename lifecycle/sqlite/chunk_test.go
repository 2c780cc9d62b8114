package sqlite

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"
)

// TestChunksReadLikeRows appends events in random order, some of them again, a few or many at once, and reads them back in pages.
func TestChunksReadLikeRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			s := openStore(t)
			all := map[lifecycle.EventPosition]bool{}
			for range 30 {
				var b lifecycle.Batch
				fresh := 0
				for range 1 + r.IntN(20) {
					e := anyEvent(r)
					b.Events = append(b.Events, e)
					if p := (lifecycle.EventPosition{At: e.At, ID: e.ID}); !all[p] {
						all[p] = true
						fresh++
					}
				}
				if done, err := s.Append(t.Context(), b); err != nil || done.New != fresh {
					t.Fatalf("append: %d new events, %v; want %d", done.New, err, fresh)
				}
			}
			if got, want := readInPages(t, s, 1+r.IntN(30)), inOrder(all); !slices.Equal(got, want) {
				t.Errorf("got %d events %v, want %d: %v", len(got), got, len(want), want)
			}
			checkApart(t, s)
		})
	}
}

// anyEvent is one of about 500 heartbeats of a task, some of them long.
func anyEvent(r *rand.Rand) lifecycle.Event {
	at := lifecycle.Micros(r.IntN(250))
	if at == 0 {
		at = math.MaxInt64 - 5 // As far off as a clock can be.
	}
	id := lifecycle.EventID(uint64(at)*2 + uint64(r.IntN(2))<<63)
	return lifecycle.Event{
		ID: id, At: at, Kind: lifecycle.ReportHeartbeat, Provenance: lifecycle.Reported, TaskID: "task",
		Detail: lifecycle.Detail{Reason: strings.Repeat("x", int(id%7)*150)},
	}
}

func readInPages(t *testing.T, s *Store, size int) []lifecycle.EventPosition {
	t.Helper()
	var out []lifecycle.EventPosition
	for after := (lifecycle.EventPosition{}); ; {
		events, err := s.Events(t.Context(), "task", after, size)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			after = lifecycle.EventPosition{At: e.At, ID: e.ID}
			out = append(out, after)
			if one, err := s.Event(t.Context(), "task", e.ID); err != nil || one.Detail != e.Detail {
				t.Errorf("event %v alone: %+v, %v; want %+v", e.ID, one.Detail, err, e.Detail)
			}
		}
		if len(events) < size {
			return out
		}
	}
}

func inOrder(all map[lifecycle.EventPosition]bool) []lifecycle.EventPosition {
	var out []lifecycle.EventPosition
	for p := range all {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b lifecycle.EventPosition) int {
		return position{int64(a.At), storedID(a.ID)}.compare(position{int64(b.At), storedID(b.ID)})
	})
	return out
}

// checkApart checks that the chunks follow one another, that each is found by its last event, and that none is needlessly large.
func checkApart(t *testing.T, s *Store) {
	t.Helper()
	err := s.submit(t.Context(), &job{do: func(w *writer) error {
		last := position{math.MinInt64, math.MinInt64}
		return w.statement(`SELECT at, id, chunk FROM events ORDER BY at, id`).each(func(r *statement) error {
			place := position{r.getInt(), r.getInt()}
			events, err := readChunk(nil, r.getBlob())
			if err != nil {
				return err
			}
			if events[0].position.compare(last) <= 0 || events[len(events)-1].position != place {
				return fmt.Errorf("chunk at %v holds %v to %v, after one that ends at %v", place, events[0].position, events[len(events)-1].position, last)
			}
			size := 0
			for _, e := range events {
				size += len(e.body)
			}
			if len(events) > 1 && size > chunkSize {
				return fmt.Errorf("chunk at %v holds %d events of %d bytes", place, len(events), size)
			}
			last = place
			return nil
		})
	}})
	if err != nil {
		t.Error(err)
	}
}

func FuzzReadChunk(f *testing.F) {
	e := storedEvent{position: position{5, -3}, stream: 1, seq: math.MaxInt64, body: []byte("body")}
	f.Add(e.appendTo(e.appendTo(nil, 0), 5))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, chunk []byte) {
		events, err := readChunk(nil, chunk)
		if err != nil {
			if !errors.Is(err, rowcodec.ErrCorrupt) {
				t.Errorf("error %v, want one that says corrupt", err)
			}
			return
		}
		var again []byte
		before := int64(0)
		for _, e := range events {
			again = e.appendTo(again, before)
			before = e.at
		}
		if back, err := readChunk(nil, again); err != nil || len(back) != len(events) {
			t.Errorf("written again: %d events, %v; want %d", len(back), err, len(events))
		}
	})
}
