package publishes_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/collectors/publishes"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// The durable rate of the two sources: pull from a full capture stream, decode, commit to SQLite, acknowledge. Run with
// -benchtime 50000x or so: one iteration is one line of about 400 bytes.
func BenchmarkIngest(b *testing.B) {
	for _, durable := range []bool{true, false} {
		name := map[bool]string{true: "sqlite", false: "nowhere"}[durable]
		b.Run("stored/"+name, func(b *testing.B) { benchmarkIngest(b, false, durable) })
		b.Run("attempts/"+name, func(b *testing.B) { benchmarkIngest(b, true, durable) })
	}
}

// nowhere takes everything and keeps nothing: what is left is the cost of the collectors themselves.
type nowhere struct{}

func (nowhere) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	return lifecycle.Appended{New: len(b.Events)}, nil
}

func benchmarkIngest(b *testing.B, attempts, durable bool) {
	js := testkit.JetStream(b, testkit.Broker(b))
	async, err := jetstream.New(js.Conn(), jetstream.WithPublishAsyncMaxPending(4000))
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(`{"taskId":"","assignee":"backend","type":"code_review","payload":{"title":"Review the change","text":"` +
		`a body of an ordinary size, as agents send them all day long, about two hundred bytes in all, so that the figures mean something"}}`)
	for i := range b.N {
		m := nats.NewMsg(fmt.Sprintf("genbrain.agents.a%d.tasks.code_review.%d", i%7, i%500))
		m.Header.Set("Nats-Msg-Id", fmt.Sprintf("task-%08d", i))
		m.Header.Set("X-Task-ID", fmt.Sprintf("task-%08d", i))
		m.Data = body
		if _, err := async.PublishMsgAsync(m); err != nil {
			b.Fatal(err)
		}
	}
	<-async.PublishAsyncComplete()
	stream := fleet.CapturePub
	if attempts {
		stream = fleet.CaptureRaw
	}
	testkit.Eventually(b, patience, func() error {
		s, err := js.Stream(b.Context(), stream)
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
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: js, Appender: store, Watermarks: store, Contract: contract})
	if err != nil {
		b.Fatal(err)
	}
	cfg := collectors.Config{JetStream: js, Appender: store, Watermarks: store, Incarnations: inc, Contract: contract}
	if !durable {
		cfg.Appender = nowhere{}
	}
	var c interface {
		Run(context.Context) error
		Stats() collectors.Stats
	}
	if attempts {
		c, err = publishes.NewAttempts(publishes.AttemptsConfig{Config: cfg})
	} else {
		c, err = publishes.New(publishes.Config{Config: cfg})
	}
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
}
