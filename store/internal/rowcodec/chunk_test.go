package rowcodec

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

func TestEventsAreCutIntoChunks(t *testing.T) {
	t.Parallel()
	var events []ChunkedEvent
	for i := range 40 {
		events = append(events, ChunkedEvent{Position: Position{At: int64(i / 2), ID: int64(i)}, Stream: 1, Seq: int64(i), Body: bytes.Repeat([]byte{'x'}, i*70)})
	}
	var back []ChunkedEvent
	for rest := events; len(rest) > 0; {
		chunk, last, left := AppendChunk([]byte("before"), rest)
		n := len(rest) - len(left)
		if size := sizeOf(rest[:n]); last != rest[n-1].Position || n > 1 && size > ChunkSize+100 {
			t.Errorf("a chunk of %d events and %d bytes ends at %v, want %v", n, len(chunk), last, rest[n-1].Position)
		}
		var err error
		if back, err = ReadChunk(back, chunk[len("before"):]); err != nil {
			t.Fatal(err)
		}
		rest = left
	}
	same := func(a, b ChunkedEvent) bool {
		return a.Position == b.Position && a.Stream == b.Stream && a.Seq == b.Seq && bytes.Equal(a.Body, b.Body)
	}
	if !slices.EqualFunc(back, events, same) {
		t.Errorf("read back %v, want %v", back, events)
	}
}

func sizeOf(events []ChunkedEvent) (n int) {
	for _, e := range events {
		n += len(e.Body)
	}
	return n
}

func TestChunkedEventsAreMergedOnce(t *testing.T) {
	t.Parallel()
	at := func(times ...int64) (out []ChunkedEvent) {
		for _, v := range times {
			out = append(out, ChunkedEvent{Position: Position{At: v}})
		}
		return out
	}
	for _, tt := range []struct{ stored, events, all, fresh []ChunkedEvent }{
		{nil, at(1, 1, 2), at(1, 2), at(1, 2)},
		{at(1, 3), at(1, 2, 2, 4), at(1, 2, 3, 4), at(2, 4)},
		{at(1, 3), at(1, 3, 3), at(1, 3), nil},
		{at(5), at(1), at(1, 5), at(1)},
	} {
		all, fresh := MergeChunked(slices.Clone(tt.stored), slices.Clone(tt.events))
		same := func(a, b ChunkedEvent) bool { return a.Position == b.Position }
		if !slices.EqualFunc(all, tt.all, same) || !slices.EqualFunc(fresh, tt.fresh, same) {
			t.Errorf("merge %v into %v: got %v, of which %v are new; want %v and %v", tt.events, tt.stored, all, fresh, tt.all, tt.fresh)
		}
	}
}

func FuzzReadChunk(f *testing.F) {
	e := ChunkedEvent{Position: Position{5, -3}, Stream: 1, Seq: math.MaxInt64, Body: []byte("body")}
	whole, _, _ := AppendChunk(nil, []ChunkedEvent{e, e})
	f.Add(whole)
	f.Add([]byte{})
	f.Add([]byte("\xff\xff\xff\xff\x0f")) // Says that it has 4 GB.
	f.Fuzz(func(t *testing.T, chunk []byte) {
		events, err := ReadChunk(nil, chunk)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v, want one that says corrupt", err)
			}
			return
		}
		var back []ChunkedEvent
		for rest := events; len(rest) > 0 && err == nil; {
			var again []byte
			again, _, rest = AppendChunk(nil, rest)
			back, err = ReadChunk(back, again)
		}
		if err != nil || len(back) != len(events) {
			t.Errorf("written again: %d events, %v; want %d", len(back), err, len(events))
		}
	})
}
