//go:build linux

package randomfleets

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/collectors/advisories"
	"fleetglass/collectors/brokersync"
	"fleetglass/collectors/publishes"
	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/store/sqlite"
)

// patience bounds every wait for something that is sure to come.
const patience = 60 * time.Second

// glass is what looks at the fleets: the collectors, the synchronizer and a store.
type glass struct {
	t            testing.TB
	srv          *embednats.Server
	js           jetstream.JetStream
	store        *sqlite.Store
	incarnations *collectors.IncarnationResolver
	sync         *brokersync.Collector
}

type runner interface {
	Run(ctx context.Context) error
}

// newGlass starts a broker and everything that looks at it, until the test ends.
func newGlass(t testing.TB) *glass {
	t.Helper()
	g := &glass{t: t, srv: testkit.Broker(t)}
	g.js = testkit.JetStream(t, g.srv)
	var err error
	if g.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleetglass.db")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.store.Close() })
	contract := fleet.NewContract("")
	if g.incarnations, err = collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{
		JetStream: g.js, Appender: g.store, Watermarks: g.store, Contract: contract,
	}); err != nil {
		t.Fatal(err)
	}
	barrier, err0 := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{
		JetStream: g.js, Stream: fleet.CapturePub, Durable: collectors.DurableName("", publishes.SourceStored),
	})
	cfg := collectors.Config{JetStream: g.js, Appender: g.store, Watermarks: g.store, Incarnations: g.incarnations, Contract: contract, Barrier: barrier}
	stored, err1 := publishes.New(publishes.Config{Config: cfg})
	answers, err2 := acks.New(cfg)
	events, err3 := advisories.New(cfg)
	g.sync, err = brokersync.New(brokersync.Config{
		JetStream: g.js, Appender: g.store, Reader: g.store, Incarnations: g.incarnations, Contract: contract, Interval: 100 * time.Millisecond,
		Stored: func(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
			return publishes.Decode(line, streams, publishes.DefaultBodyLimit, into)
		},
	})
	if err := errors.Join(err, err0, err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	g.run(stored, answers, events, g.sync)
	return g
}

func (g *glass) run(parts ...runner) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, p := range parts {
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				g.t.Errorf("run: %v", err)
			}
		})
	}
	g.t.Cleanup(func() { cancel(); running.Wait() })
}

// polls is how many times the synchronizer looks at the broker before the board is held to what was so before.
const polls = 3

// looked waits until everything that was captured by now is stored, and the synchronizer has looked again.
func (g *glass) looked(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for { // While consumers are made, their list and their number may differ.
		_, err := brokersync.SnapshotStreams(ctx, brokersync.StreamSnapshotConfig{JetStream: g.js, Incarnations: g.incarnations, Settle: 50 * time.Millisecond})
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return err
		}
		pause(ctx, 10*time.Millisecond)
	}
	last := g.sync.Health()[0].LastAt
	for n := 0; n < polls+1; pause(ctx, 10*time.Millisecond) { // One may be under way.
		if ctx.Err() != nil {
			return errors.New("the synchronizer does not poll")
		}
		if at := g.sync.Health()[0].LastAt; at != last {
			last, n = at, n+1
		}
	}
	return nil
}

// board asks for everything in flight. Nothing is shared with an earlier question.
func (g *glass) board(ctx context.Context) (query.InFlight, error) {
	ask, err := query.New(query.Config{Store: g.store, AgentOf: fleet.AgentOfWorker})
	if err != nil {
		return query.InFlight{}, err
	}
	defer ask.Close() //nolint:errcheck // It holds nothing.
	return ask.InFlight(ctx)
}

// handedBack says when the messages that wait after a nak are due again.
func (g *glass) handedBack(ctx context.Context) ([]lifecycle.Lease, error) {
	consumers, err := g.store.Consumers(ctx)
	if err != nil {
		return nil, err
	}
	open, err := g.store.OpenMessages(ctx, lifecycle.StreamID{}, 0, 100_000)
	var out []lifecycle.Lease
	for _, o := range open {
		for i, c := range consumers {
			if c.Name != o.Message.Consumer {
				continue
			}
			if l, held := lifecycle.LeaseOf(o, &consumers[i], lifecycle.Typical{}, lifecycle.At(lifecycle.MicrosOf(time.Now()))); !held && l.State == lifecycle.StateFailed {
				out = append(out, l)
			}
		}
	}
	return out, err
}
