package collectors

import (
	"testing"

	"pgregory.net/rapid"
)

// Several replicas read one stream through one durable while the stream discards lines. Nobody may report a hole that is not there, and
// with a single replica every hole is reported exactly.
func TestHolesAreFoundAndNeverFeigned(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		replicas := make([]holes, rapid.IntRange(1, 3).Draw(t, "replicas"))
		var consumer, stream, lost, reported uint64
		var delivered []uint64
		for range rapid.IntRange(1, 60).Draw(t, "deliveries") {
			r := &replicas[rapid.IntRange(0, len(replicas)-1).Draw(t, "replica")]
			consumer++
			if len(delivered) > 0 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
				again := delivered[rapid.IntRange(0, len(delivered)-1).Draw(t, "which")]
				if h, found := r.next(consumer, again, 2, 1); found {
					t.Fatalf("a redelivery of %d made a hole %+v", again, h)
				}
				continue
			}
			discarded := uint64(rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "discarded"))
			lost += discarded
			stream += discarded + 1
			delivered = append(delivered, stream)
			if h, found := r.next(consumer, stream, 1, 1); found {
				reported += h.lost
				if h.toSeq-h.fromSeq+1 < h.lost || h.toSeq >= stream {
					t.Fatalf("hole %+v before %d", h, stream)
				}
				if len(replicas) == 1 && h.lost != h.toSeq-h.fromSeq+1 {
					t.Fatalf("hole %+v is not exact", h)
				}
			}
		}
		if reported > lost*uint64(len(replicas)) || (lost == 0 && reported > 0) {
			t.Fatalf("%d lines reported lost, %d were", reported, lost)
		}
		if len(replicas) == 1 && reported != lost {
			t.Fatalf("%d lines reported lost, %d were", reported, lost)
		}
	})
}
