package storetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
)

// Chunk is a row of a store's table of events.
type Chunk struct {
	Last rowcodec.Position // By which it is found.
	Body []byte
}

// Chunks tests a store that keeps events in chunks: events of one task come in random order, some of them again, a few or many at once,
// and must read as if each had a row. create makes an empty store and a function that returns its chunks in order.
func Chunks(t *testing.T, create func(t *testing.T) (s Store, chunks func() []Chunk)) {
	t.Helper()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			s, chunks := create(t)
			all := map[lifecycle.EventPosition]bool{}
			for range 30 {
				var b lifecycle.Batch
				fresh := 0
				for range 1 + r.IntN(20) {
					e := anyHeartbeat(r)
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
			checkApart(t, chunks())
		})
	}
}

// anyHeartbeat is one of about 500 of a task, some of them long.
func anyHeartbeat(r *rand.Rand) lifecycle.Event {
	at := lifecycle.Micros(r.IntN(250))
	if at == 0 {
		at = math.MaxInt64 - 5 // As far off as a clock can be.
	}
	id := lifecycle.EventID(uint64(at)*2 + uint64(r.IntN(2))<<63)
	return lifecycle.Event{
		ID: id, At: at, Kind: lifecycle.ReportHeartbeat, Provenance: lifecycle.Reported, TaskID: "task",
		Detail: lifecycle.Detail{Ending: lifecycle.Ending{Reason: strings.Repeat("x", int(id%7)*150)}},
	}
}

func readInPages(t *testing.T, s Store, size int) []lifecycle.EventPosition {
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
			if one, err := s.Event(t.Context(), "task", e.ID); err != nil || !reflect.DeepEqual(one.Detail, e.Detail) {
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
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// checkApart checks that the chunks follow one another, that each is found by its last event, and that none is needlessly large.
func checkApart(t *testing.T, chunks []Chunk) {
	t.Helper()
	before := rowcodec.Position{At: math.MinInt64, ID: math.MinInt64}
	for _, c := range chunks {
		events, err := rowcodec.ReadChunk(nil, c.Body)
		if err != nil {
			t.Fatal(err)
		}
		if last := events[len(events)-1].Position; events[0].Position.Compare(before) <= 0 || last != c.Last {
			t.Errorf("the chunk at %v holds %v to %v, after one that ends at %v", c.Last, events[0].Position, last, before)
		}
		size := 0
		for _, e := range events {
			size += len(e.Body)
		}
		if len(events) > 1 && size > rowcodec.ChunkSize {
			t.Errorf("the chunk at %v holds %d events of %d bytes", c.Last, len(events), size)
		}
		before = c.Last
	}
}
