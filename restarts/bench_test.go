package restarts

import (
	"context"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// BenchmarkTurn is one look over 50,000 leases while as many messages of a restart are followed as may be.
func BenchmarkTurn(b *testing.B) {
	var leases []lifecycle.Lease
	for i := range uint64(50_000) {
		leases = append(leases, held(i+1, "cto", 50, 300))
	}
	s, err := New(Config{
		Store: memory{}, Now: func() time.Time { return at(100).Time() },
		Leases: func(context.Context) (Look, error) { return Look{At: at(100), Leases: leases}, nil },
		Facts: func(context.Context, lifecycle.MessageKey) (m lifecycle.MessageFacts, found bool, err error) {
			b.Error("asked for facts")
			return m, false, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Begin(b.Context(), Return{ID: "fleetglass-1", Cause: CauseFleetglass, To: at(100)}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Turn(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
