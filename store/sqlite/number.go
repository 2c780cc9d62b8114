package sqlite

import (
	"math"

	"fleetglass/lifecycle"
)

// SQLite's integers are signed. Event ids, which are spread over all 64 bits, are kept with the top bit flipped, so that they
// sort; sequences are kept as they are, so that they stay short: those from 2^63 on, which no broker has reached, are negative.

func storedID(id lifecycle.EventID) int64 { return int64(uint64(id) ^ 1<<63) }

func loadedID(v int64) lifecycle.EventID { return lifecycle.EventID(uint64(v) ^ 1<<63) }

// span is a range of stored sequences, both ends included.
type span struct{ from, to int64 }

// spans gives the stored ranges of the sequences from ... to, in sequence order.
func spans(from, to uint64) []span {
	const middle = uint64(1) << 63
	switch {
	case from > to:
		return nil
	case to < middle || from >= middle:
		return []span{{int64(from), int64(to)}}
	}
	return []span{{int64(from), math.MaxInt64}, {math.MinInt64, int64(to)}}
}
