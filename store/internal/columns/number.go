package columns

import (
	"math"

	"fleetglass/lifecycle"
)

// The integers of both databases are signed. Event ids, which are spread over all 64 bits, are kept with the top bit flipped, so that they
// sort. Sequences are kept as they are, so that they stay short: those from 2^63 on, which no broker has reached, are negative.

// StoredID is the id of an event as it stands in a column.
func StoredID(id lifecycle.EventID) int64 { return int64(uint64(id) ^ 1<<63) }

// LoadedID reads what [StoredID] wrote.
func LoadedID(v int64) lifecycle.EventID { return lifecycle.EventID(uint64(v) ^ 1<<63) }

// Span is a range of stored sequences, both ends included.
type Span struct{ From, To int64 }

// Spans gives the stored ranges of the sequences from ... to, in sequence order.
func Spans(from, to uint64) []Span {
	const middle = uint64(1) << 63
	switch {
	case from > to:
		return nil
	case to < middle || from >= middle:
		return []Span{{int64(from), int64(to)}}
	}
	return []Span{{int64(from), math.MaxInt64}, {math.MinInt64, int64(to)}}
}
