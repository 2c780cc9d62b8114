package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/store/storetest"
)

// BenchmarkReport makes reports of 50,000 messages, each delivered, acknowledged and recorded.
func BenchmarkReport(b *testing.B) {
	for name, open := range map[string]func(testing.TB) storetest.Store{"sqlite": newSQLite, "postgres": newPostgres} {
		b.Run(name, func(b *testing.B) {
			const n = 50_000
			s := open(b)
			fill(b, s, n)
			r := newRunner(b, reconcile.Config{Store: s, RestartDelay: time.Hour})
			run(b, r)
			b.ReportAllocs()
			for b.Loop() {
				rec := ended(b, r, create(b, r, reconcile.Request{}).ID, reconcile.StatusDone)
				if total := rec.Report.Total; total.Published != n || total.Completed != n || rec.Report.Discrepancies() != 0 {
					b.Fatalf("report %+v, want %d completed", rec.Report, n)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

func fill(b *testing.B, s storetest.Store, n int) {
	b.Helper()
	begin := lifecycle.MicrosOf(time.Now().Add(-24 * time.Hour))
	for from := 1; from <= n; from += 1000 {
		var batch lifecycle.Batch
		for seq := from; seq < from+1000 && seq <= n; seq++ {
			stored := published(uint64(seq), begin.Add(time.Duration(seq)*time.Millisecond))
			answer := lifecycle.Event{
				ID: lifecycle.NewEventID("acked", stored.TaskID), At: stored.At + 900, Kind: lifecycle.Acked, Provenance: lifecycle.Observed,
				Message: stored.Message, Attempt: 1, ConsumerSeq: uint64(seq),
			}
			done := lifecycle.Event{
				ID: lifecycle.NewEventID("recorded", stored.TaskID), At: stored.At + 800, Kind: lifecycle.CompletionRecorded,
				Provenance: lifecycle.Recorded, TaskID: stored.TaskID, Agent: "cto",
			}
			batch.Events = append(batch.Events, stored, done, answer)
		}
		if _, err := s.Append(context.Background(), batch); err != nil {
			b.Fatal(fmt.Errorf("fill: %w", err))
		}
	}
}

// BenchmarkAppendBesideAReport stores batches of ten messages, alone and while one report after the other is made.
func BenchmarkAppendBesideAReport(b *testing.B) {
	for _, beside := range []bool{false, true} {
		b.Run(fmt.Sprintf("beside=%t", beside), func(b *testing.B) {
			s := newSQLite(b)
			const n = 50_000
			fill(b, s, n)
			r := newRunner(b, reconcile.Config{Store: s, RestartDelay: time.Hour})
			run(b, r)
			if beside {
				for range 60 {
					create(b, r, reconcile.Request{})
				}
			}
			at := lifecycle.MicrosOf(time.Now())
			var took []time.Duration
			for seq := uint64(n + 1); b.Loop(); seq += 10 {
				var batch lifecycle.Batch
				for i := range uint64(10) {
					batch.Events = append(batch.Events, published(seq+i, at))
				}
				began := time.Now()
				if _, err := s.Append(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
