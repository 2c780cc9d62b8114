//go:build linux

package bench

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/collectors/advisories"
	"fleetglass/collectors/brokersync"
	"fleetglass/collectors/idempotency"
	"fleetglass/collectors/publishes"
	"fleetglass/collectors/reports"
	"fleetglass/fleet"
	"fleetglass/internal/live"
	"fleetglass/internal/telemetry"
	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// liner is a collector that reads a stream line by line.
type liner interface {
	Run(context.Context) error
	Stats() collectors.Stats
}

// ingester is the collectors of the program over one store, as cmd/server wires them, with its settings: gate, incarnations, live hub,
// metrics, and the synchronizer beside them.
type ingester struct {
	js           jetstream.JetStream
	lines        []liner
	synchronizer *brokersync.Collector
}

func newIngester(t testing.TB, js jetstream.JetStream, store lifecycle.Store) *ingester {
	t.Helper()
	return newReplica(t, js, store, 1, 0)
}

// newReplica is one of two replicas that read a number of shards: each prefers every second one.
func newReplica(t testing.TB, js jetstream.JetStream, store lifecycle.Store, shards, number int) *ingester {
	t.Helper()
	appender := live.Wrap(telemetry.NewAppender(telemetry.NewRegistry("bench", slog.New(slog.DiscardHandler)), store, time.Now), live.NewHub(10_000))
	incarnations, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: js, Appender: appender, Watermarks: store, Consumers: store, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	in := &ingester{js: js}
	clock := brokersync.NewClock()
	shared := collectors.Config{
		JetStream: js, Appender: appender, Watermarks: store, Messages: store, Incarnations: incarnations, Contract: contract, Durable: fleet.DurablePrefix(""),
		Logger: slog.New(slog.DiscardHandler), Now: clock.Now,
	}
	for _, shared.Shard = range fleet.Shards(shards) {
		shared.Rank = uint8((shared.Shard.Index + number) % 2 * 5)
		in.addShard(t, shared)
	}
	in.synchronizer, err = brokersync.New(brokersync.Config{
		JetStream: js, Appender: appender, Reader: store, Incarnations: incarnations, Contract: contract, Stored: decodeStored, Durable: fleet.DurablePrefix(""), Shards: shards,
		Interval: time.Second, Clock: clock, Logger: slog.New(slog.DiscardHandler), Now: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// addShard adds the collectors of a shard, which are committed together; the first one brings what is not cut.
func (in *ingester) addShard(t testing.TB, shared collectors.Config) {
	t.Helper()
	barrier, err := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{
		JetStream: in.js, Stream: fleet.CapturePub, Durable: collectors.DurableName(shared.Durable, publishes.SourceStored), Shards: []fleet.Shard{shared.Shard},
	})
	if err != nil {
		t.Fatal(err)
	}
	shared.Barrier, shared.Coordinator = barrier, collectors.NewBatchCoordinator(shared.Appender)
	add := func(l liner, err error) {
		if err != nil {
			t.Fatal(err)
		}
		in.lines = append(in.lines, l)
	}
	add(publishes.New(publishes.Config{Config: shared}))
	add(publishes.NewAttempts(publishes.AttemptsConfig{Config: shared}))
	add(acks.New(shared))
	add(advisories.New(shared))
	add(reports.New(shared))
	if shared.Shard.Index == 0 {
		add(idempotency.NewKV(shared))
	}
}

func decodeStored(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
	return publishes.Decode(line, streams, publishes.DefaultBodyLimit, into)
}

// run ingests a recording until its last line is committed and acknowledged, and returns lines a second. The collectors' durables are
// new, and are removed at the end.
func (in *ingester) run(t testing.TB, r *recording) float64 {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began := time.Now()
	running, collecting := errgroup.WithContext(ctx)
	for _, l := range in.lines {
		running.Go(func() error { return l.Run(collecting) })
	}
	running.Go(func() error { return in.synchronizer.Run(collecting) })
	in.await(t, r.total)
	spent := time.Since(began)
	stop()
	if err := running.Wait(); err != nil {
		t.Fatal(err)
	}
	in.removeDurables(t)
	return float64(r.total) / spent.Seconds()
}

// await returns when the collectors have committed that many lines and no durable waits for an acknowledgement.
func (in *ingester) await(t testing.TB, lines int) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Hour); ; <-tick.C {
		if in.stats().Lines >= uint64(lines) && in.settled(t) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d lines of %d handled", in.stats().Lines, lines)
		}
	}
}

func (in *ingester) stats() collectors.Stats {
	var sum collectors.Stats
	for _, l := range in.lines {
		s := l.Stats()
		sum.Lines, sum.Events, sum.New, sum.Ignored = sum.Lines+s.Lines, sum.Events+s.Events, sum.New+s.New, sum.Ignored+s.Ignored
		sum.Quarantined, sum.Batches, sum.Failures = sum.Quarantined+s.Quarantined, sum.Batches+s.Batches, sum.Failures+s.Failures
	}
	return sum
}

func (in *ingester) settled(t testing.TB) bool {
	t.Helper()
	for stream, durable := range durables {
		c, err := in.js.Consumer(t.Context(), stream, durable)
		if err != nil {
			t.Fatal(err)
		}
		if info := c.CachedInfo(); info.NumPending > 0 || info.NumAckPending > 0 {
			return false
		}
	}
	return true
}

func (in *ingester) removeDurables(t testing.TB) {
	t.Helper()
	for stream, durable := range durables {
		if err := in.js.DeleteConsumer(t.Context(), stream, durable); err != nil {
			t.Fatal(err)
		}
	}
}

// durables are those of the collectors, by stream.
var durables = map[string]string{
	fleet.CapturePub: "fleetglass-publishes", fleet.CaptureRaw: "fleetglass-attempts", fleet.CaptureAck: "fleetglass-acks",
	fleet.CaptureEvt: "fleetglass-advisories", fleet.CaptureReport: "fleetglass-reports",
	"KV_" + fleet.BucketIdempotency: "fleetglass-idempotency",
}
