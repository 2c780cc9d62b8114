package collectors_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/collectors/advisories"
	"fleetglass/collectors/reports"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// nowhere takes everything and keeps nothing: what is left is the cost of the collector itself.
type nowhere struct{}

func (nowhere) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	return lifecycle.Appended{New: len(b.Events)}, nil
}

// ingested are the sources of which every line stands for itself, each with one line of its capture stream.
var ingested = []struct {
	name   string
	stream string
	new    func(collectors.Config) (*collectors.Collector, error)
	line   func(i int) (subject, body string)
}{
	{"acks", fleet.CaptureAck, acks.New, func(i int) (string, string) {
		return fmt.Sprintf("$JS.ACK.TASKS.a%d-task-worker.1.%d.%d.%d.0", i%7, i+1, i+1, time.Now().UnixNano()), "+ACK"
	}},
	{"advisories", fleet.CaptureEvt, advisories.New, func(i int) (string, string) {
		return "$JS.EVENT.METRIC.CONSUMER.ACK.TASKS.a1-task-worker", fmt.Sprintf(`{"type":"io.nats.jetstream.metric.v1.consumer_ack","id":"ux8QKkjIij7WQvK79Ojz3r",`+
			`"timestamp":"2026-11-20T17:04:46.92442515Z","stream":"TASKS","consumer":"a1-task-worker","consumer_seq":%d,"stream_seq":%d,"ack_time":493004,"deliveries":1}`, i+1, i+1)
	}},
	{"reports", fleet.CaptureReport, reports.New, func(i int) (string, string) {
		return "genbrain.lifecycle.backend.heartbeat", fmt.Sprintf(`{"specversion":"1.0","id":"r-%d","source":"/agents/backend","type":"fleet.lifecycle.heartbeat.v1",`+
			`"subject":"task-%d","time":"2026-11-20T17:04:46.92442515Z","data":{"message_id":"m-%d","attempt":1,"lease_owner":"w-1","lease_version":1}}`, i, i/4, i/4)
	}},
}

// The durable rate: pull from a full capture stream, decode, commit to SQLite, acknowledge. Run with -benchtime 50000x or so: one
// iteration is one line. The publishes have a benchmark of their own, since their lines come by way of TASKS.
func BenchmarkIngest(b *testing.B) {
	for i := range ingested {
		for _, durable := range []bool{true, false} {
			store := map[bool]string{true: "sqlite", false: "nowhere"}[durable]
			b.Run(ingested[i].name+"/"+store, func(b *testing.B) { benchmarkIngest(b, i, durable) })
		}
	}
}

func benchmarkIngest(b *testing.B, source int, durable bool) {
	src := ingested[source]
	srv := testkit.BareBroker(b)
	testkit.Provision(b, srv, fleet.Streams{Contract: fleet.NewContract("")})
	js := testkit.JetStream(b, srv)
	// Without TASKS the lines cannot be told to be bogus.
	if err := js.DeleteStream(b.Context(), fleet.StreamTasks); err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		subject, body := src.line(i)
		if err := js.Conn().Publish(subject, []byte(body)); err != nil {
			b.Fatal(err)
		}
	}
	testkit.Eventually(b, time.Minute, func() error {
		s, err := js.Stream(b.Context(), src.stream)
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
	c, err := src.new(cfg)
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
