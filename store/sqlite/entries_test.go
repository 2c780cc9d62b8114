package sqlite

import (
	"fmt"
	"testing"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// manyDead stores so many messages that died, one each microsecond from the returned time on.
func manyDead(t *testing.T, s *Store, n int) (begin lifecycle.Micros) {
	t.Helper()
	begin = lifecycle.MicrosOf(time.Now().Add(-time.Hour))
	var batch lifecycle.Batch
	for i := range n {
		b := published(fmt.Sprint("task-", i), uint64(i+1))
		died := b.Events[0]
		died.ID, died.Kind, died.At, died.Attempt = lifecycle.EventID(n+i+1), lifecycle.Terminated, begin+lifecycle.Micros(i), 1
		batch.Events = append(batch.Events, b.Events[0], died)
	}
	if _, err := s.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return begin
}

// TestAPageFarBackCostsNoMoreThanTheFirst lists what died before a time, as an operation does that goes through all of it.
func TestAPageFarBackCostsNoMoreThanTheFirst(t *testing.T) {
	t.Parallel()
	const all = 10_000
	s := openStore(t)
	begin := manyDead(t, s, all)
	quickest := func(p dlqtriage.EntryPageRequest) (best time.Duration) {
		best = time.Hour
		for range 10 {
			began := time.Now()
			page, err := s.Entries(t.Context(), dlqtriage.EntryFilter{From: begin, To: begin + all}, p)
			if err != nil || len(page.Entries) != p.Limit {
				t.Fatalf("%d entries, %v", len(page.Entries), err)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	for _, backward := range []bool{false, true} {
		p := dlqtriage.EntryPageRequest{Limit: 20, Backward: backward, From: &dlqtriage.EntryCursor{FailedAt: begin + all}}
		far := p
		far.From = &dlqtriage.EntryCursor{FailedAt: begin + 30}
		if backward {
			p.From, far.From = &dlqtriage.EntryCursor{FailedAt: begin}, &dlqtriage.EntryCursor{FailedAt: begin + all - 30}
		}
		if first, last := quickest(p), quickest(far); last > 5*first {
			t.Errorf("backward %t: the first page takes %s, the last %s", backward, first, last)
		}
	}
}
