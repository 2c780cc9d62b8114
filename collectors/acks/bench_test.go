package acks_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/lifecycle/sqlite"
)

// nowhere takes everything and keeps nothing: what is left is the cost of the collector itself.
type nowhere struct{}

func (nowhere) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	return lifecycle.Appended{New: len(b.Events)}, nil
}

// The durable rate: pull from a full capture stream, decode, commit to SQLite, acknowledge. Run with -benchtime 50000x or so: one
// iteration is one line.
func BenchmarkIngest(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchmarkIngest(b, true) })
	b.Run("nowhere", func(b *testing.B) { benchmarkIngest(b, false) })
}

func benchmarkIngest(b *testing.B, durable bool) {
	srv := testkit.BareBroker(b)
	testkit.Provision(b, srv, fleet.Streams{Contract: fleet.NewContract("")})
	js := testkit.JetStream(b, srv)
	// Without TASKS the lines cannot be told to be bogus.
	if err := js.DeleteStream(b.Context(), fleet.StreamTasks); err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		if err := js.Conn().Publish(fmt.Sprintf("$JS.ACK.TASKS.a%d-task-worker.1.%d.%d.%d.0", i%7, i+1, i+1, time.Now().UnixNano()), []byte("+ACK")); err != nil {
			b.Fatal(err)
		}
	}
	testkit.Eventually(b, time.Minute, func() error {
		s, err := js.Stream(b.Context(), fleet.CaptureAck)
		if err != nil {
			return err
		}
		if got := s.CachedInfo().State.Msgs; got < uint64(b.N) {
			return fmt.Errorf("%d lines captured, want %d", got, b.N)
		}
		return nil
	})
	store, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "store.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	contract := fleet.NewContract("")
	inc, err := collectors.NewIncarnations(collectors.IncarnationsConfig{JetStream: js, Appender: store, Watermarks: store, Contract: contract})
	if err != nil {
		b.Fatal(err)
	}
	cfg := collectors.Config{JetStream: js, Appender: store, Watermarks: store, Incarnations: inc, Contract: contract}
	if !durable {
		cfg.Appender = nowhere{}
	}
	c, err := acks.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	b.ResetTimer()
	began := time.Now()
	go func() { done <- c.Run(ctx) }()
	testkit.Eventually(b, 10*time.Minute, func() error {
		if got := c.Stats().Lines; got < uint64(b.N) {
			return fmt.Errorf("%d lines handled, want %d", got, b.N)
		}
		return nil
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "lines/s")
	b.ReportMetric(float64(b.N)/float64(c.Stats().Batches), "lines/batch")
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
	if s := c.Stats(); s.Quarantined != 0 {
		b.Errorf("%d lines quarantined", s.Quarantined)
	}
}
