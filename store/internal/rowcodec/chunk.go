package rowcodec

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Events lie in chunks: a row of a store's table holds some of one task's events, in the order of time and id. The chunks of a task do
// not overlap, so that they are read in order as if each event had a row. What one commit brings for a task is mostly one chunk, which
// is why writing costs about one row for each task and not one for each event. A chunk is compressed: what is kept of the lines of one
// task is mostly JSON that says the same several times.

const (
	// ChunkSize is the size in bytes, before it is compressed, from which a chunk takes no further event. Compressed to more than about
	// 2,000 bytes a row would need a page of its own in SQLite, and Postgres would put it aside.
	ChunkSize = 4000

	largestChunk = 1 << 28 // Bytes before compression; a chunk that says more is corrupt.
)

// plainChunks are buffers for chunks that are not compressed yet.
var plainChunks = sync.Pool{New: func() any { return new([]byte) }}

// Position is the place of an event in its task. ID is as a store keeps it: a signed number that sorts as the ids do.
type Position struct{ At, ID int64 }

// Compare sorts by time, then by id.
func (p Position) Compare(o Position) int {
	return cmp.Or(cmp.Compare(p.At, o.At), cmp.Compare(p.ID, o.ID))
}

// ChunkedEvent is an event as its chunk holds it.
type ChunkedEvent struct {
	Position
	Stream, Seq int64  // Of its message, by the store's number of the stream; zero stream for none.
	Body        []byte // Written by [AppendEvent].
}

// Compare sorts as [Position.Compare] does.
func (e ChunkedEvent) Compare(o ChunkedEvent) int { return e.Position.Compare(o.Position) }

// appendTo writes an event behind another one at time before.
func (e *ChunkedEvent) appendTo(b []byte, before int64) []byte {
	b = binary.AppendVarint(b, e.At-before)
	b = binary.BigEndian.AppendUint64(b, uint64(e.ID))
	b = binary.AppendUvarint(b, uint64(e.Stream))
	b = binary.AppendUvarint(b, uint64(e.Seq))
	b = binary.AppendUvarint(b, uint64(len(e.Body)))
	return append(b, e.Body...)
}

// AppendChunk writes the first of the sorted events, as many as belong into one chunk, and returns the position of the last of them, by
// which the chunk is found, and the events that are left.
func AppendChunk(b []byte, events []ChunkedEvent) (chunk []byte, last Position, rest []ChunkedEvent) {
	buffer := plainChunks.Get().(*[]byte)
	defer plainChunks.Put(buffer)
	plain, n := (*buffer)[:0], 0
	for ; n < len(events) && (n == 0 || len(plain)+len(events[n].Body) < ChunkSize); n++ {
		plain = events[n].appendTo(plain, last.At)
		last = events[n].Position
	}
	*buffer = plain
	b = slices.Grow(b, s2.MaxEncodedLen(len(plain)))
	packed := s2.Encode(b[len(b):cap(b)], plain)
	return b[:len(b)+len(packed)], last, events[n:]
}

// ReadChunk appends the events of a chunk. It errors with [ErrCorrupt].
func ReadChunk(out []ChunkedEvent, chunk []byte) ([]ChunkedEvent, error) {
	plain, err := unpack(chunk)
	if err != nil {
		return out, fmt.Errorf("read chunk of events: %w: %w", ErrCorrupt, err)
	}
	r := chunkReader{rest: plain, failed: len(plain) == 0}
	for before := int64(0); r.failed || len(r.rest) > 0; {
		e := ChunkedEvent{Position: Position{At: before + r.varint(), ID: int64(r.fixed())}}
		e.Stream, e.Seq = int64(r.uvarint()), int64(r.uvarint())
		e.Body = r.bytes(r.uvarint())
		if r.failed {
			return out, fmt.Errorf("read chunk of events: %w", ErrCorrupt)
		}
		out, before = append(out, e), e.At
	}
	return out, nil
}

// unpack returns new memory.
func unpack(chunk []byte) ([]byte, error) {
	n, err := s2.DecodedLen(chunk)
	if err == nil && n > largestChunk {
		err = s2.ErrTooLarge
	}
	if err != nil {
		return nil, err
	}
	return s2.Decode(make([]byte, n), chunk)
}

// MergeChunked joins events with stored ones, both sorted. fresh are the events that are not stored, each once; all are these and the
// stored ones.
func MergeChunked(stored, events []ChunkedEvent) (all, fresh []ChunkedEvent) {
	fresh = slices.CompactFunc(events, func(a, b ChunkedEvent) bool { return a.Position == b.Position })
	if len(stored) == 0 {
		return fresh, fresh
	}
	fresh = slices.DeleteFunc(fresh, func(e ChunkedEvent) bool {
		_, found := slices.BinarySearchFunc(stored, e, ChunkedEvent.Compare)
		return found
	})
	if len(fresh) == 0 {
		return stored, nil
	}
	all = append(stored, fresh...)
	slices.SortFunc(all, ChunkedEvent.Compare)
	return all, fresh
}

// chunkReader takes numbers from the front of a chunk.
type chunkReader struct {
	rest   []byte
	failed bool
}

func (r *chunkReader) bytes(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *chunkReader) fixed() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *chunkReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	return r.skip(v, n)
}

func (r *chunkReader) varint() int64 {
	v, n := binary.Varint(r.rest)
	return int64(r.skip(uint64(v), n))
}

func (r *chunkReader) skip(v uint64, n int) uint64 {
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}
