package crashpoints

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
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
	"fleetglass/internal/embednats"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"

	"cloud.google.com/go/firestore"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(testkit.BrokerGoroutine))
}

const patience = 20 * time.Second

// glass is Fleetglass without pages: a broker, every collector and a store.
type glass struct {
	srv   *embednats.Server
	js    jetstream.JetStream
	store *sqlite.Store
	state *brokersync.Collector
	fire  *firestoretest.Server // Nil unless agents keep their records there.

	firestore *firestore.Client // To look into it.
}

func newGlass(t *testing.T, k kind) *glass {
	t.Helper()
	g := &glass{srv: testkit.Broker(t)}
	g.js = testkit.JetStream(t, g.srv)
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleetglass.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	g.store = store
	g.collect(t)
	if k.firestore {
		g.collectFirestore(t)
	}
	return g
}

type runner interface {
	Run(ctx context.Context) error
}

func (g *glass) collect(t *testing.T) {
	t.Helper()
	contract := fleet.NewContract("")
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: g.js, Appender: g.store, Watermarks: g.store, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	barrier, err := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{JetStream: g.js, Stream: fleet.CapturePub, Durable: collectors.DurableName("", publishes.SourceStored)})
	if err != nil {
		t.Fatal(err)
	}
	cfg := collectors.Config{JetStream: g.js, Appender: g.store, Watermarks: g.store, Incarnations: inc, Contract: contract, Barrier: barrier}
	stored, err1 := publishes.New(publishes.Config{Config: cfg})
	attempts, err2 := publishes.NewAttempts(publishes.AttemptsConfig{Config: cfg})
	answers, err3 := acks.New(cfg)
	events, err4 := advisories.New(cfg)
	said, err5 := reports.New(cfg)
	records, err6 := idempotency.NewKV(cfg)
	var err7 error
	g.state, err7 = brokersync.New(brokersync.Config{
		JetStream: g.js, Appender: g.store, Reader: g.store, Incarnations: inc, Contract: contract, Interval: 100 * time.Millisecond,
		Stored: func(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
			return publishes.Decode(line, streams, publishes.DefaultBodyLimit, into)
		},
	})
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		t.Fatal(err)
	}
	run(t, stored, attempts, answers, events, said, records, g.state)
}

// run runs parts until the test ends.
func run(t *testing.T, parts ...runner) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, p := range parts {
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	t.Cleanup(func() { cancel(); running.Wait() })
}

// row is what the ledger says about a task, in one line: its state, then layers and numbers.
func (g *glass) row(ctx context.Context, task string) string {
	r, err := g.store.Task(ctx, task)
	if err != nil {
		return err.Error()
	}
	found := map[lifecycle.Layer]int{}
	for _, c := range lifecycle.Ledger(&r.Facts) {
		found[c.Layer] += c.N
	}
	for _, p := range r.Facts.Publishes {
		found[lifecycle.LayerStream] += p.Unclear() // Where they come close together it may be unclear which was stored, and which was caught or refused (ADR 66).
	}
	parts := []string{string(r.Summary.State)}
	for _, l := range lifecycle.Layers() {
		if found[l] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", l, found[l]))
		}
	}
	return strings.Join(parts, ", ")
}

// knowsAttempt waits until the store knows from the wire or the broker that an attempt began, and returns an error when it does not
// learn so. Work shorter than that leaves it open which of two attempts completed, and the ledger says so.
func (g *glass) knowsAttempt(ctx context.Context, d fleet.Delivery) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; {
		events, err := g.store.Events(ctx, d.Task.ID, lifecycle.EventPosition{}, 1000)
		if err != nil {
			return err
		}
		for _, e := range events {
			// An agent has one task here, so that its deliveries are its attempts.
			seen := e.Kind == lifecycle.Delivered && e.ConsumerSeq == uint64(d.Attempt) // The broker does not say the attempt.
			if seen || e.Kind == lifecycle.Heartbeat && e.Attempt == d.Attempt {
				return nil
			}
		}
		await(ctx, 25*time.Millisecond)
	}
	return errors.Join(ctx.Err(), fmt.Errorf("attempt %d of %s is not known", d.Attempt, d.Task.ID))
}

func await(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// settle waits until every captured line is stored and the synchronizer has looked some more times.
func (g *glass) settle(t *testing.T) {
	t.Helper()
	seen, polls := time.Time{}, 0
	testkit.Eventually(t, patience, func() error {
		for stream, source := range map[string]string{
			fleet.CapturePub: publishes.SourceStored, fleet.CaptureAck: "acks", fleet.CaptureReport: "reports",
			"KV_" + fleet.BucketIdempotency: "idempotency",
		} {
			c, err := g.js.Consumer(t.Context(), stream, collectors.DurableName("", source))
			if err != nil {
				return err
			}
			if info := c.CachedInfo(); info.NumPending > 0 || info.NumAckPending > 0 {
				return fmt.Errorf("%s has lines to read", stream)
			}
		}
		if err := g.firestoreRead(t.Context()); err != nil {
			return err
		}
		if at := g.state.Health()[0].LastAt; !at.Equal(seen) {
			seen, polls = at, polls+1
		}
		if polls < 8 {
			return fmt.Errorf("the synchronizer has looked %d times", polls)
		}
		return nil
	})
}

// story is everything stored about a task, for failures.
func (g *glass) story(ctx context.Context, task string) string {
	events, err := g.store.Events(ctx, task, lifecycle.EventPosition{}, 1000)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "\t%s %-20s n=%d exact=%t %s %s\n", e.At.Time().Format("05.000000"), e.Kind, e.Attempt, e.Detail.Exact, e.Source, e.Detail.Reason)
	}
	return out.String()
}
