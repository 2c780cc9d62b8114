//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/api"
	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/collectors/advisories"
	"fleetglass/collectors/brokersync"
	"fleetglass/collectors/idempotency"
	"fleetglass/collectors/publishes"
	"fleetglass/collectors/reports"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/live"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/store/sqlite"

	"github.com/nats-io/nats.go/jetstream"
)

// sluggish is a store that takes its time, that sometimes fails before it commits, and sometimes says that it failed although it committed.
type sluggish struct {
	lifecycle.Appender
	longest time.Duration

	mu                      sync.Mutex
	rand                    *rand.Rand
	commits, failures, lies int
}

var errSluggish = errors.New("the connection was lost")

// Append implements [lifecycle.Appender].
func (s *sluggish) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	pause, fate := s.choose()
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return lifecycle.Appended{}, ctx.Err()
	}
	if fate == 0 {
		return lifecycle.Appended{}, errSluggish
	}
	done, err := s.Appender.Append(ctx, b)
	if fate == 1 && err == nil {
		return lifecycle.Appended{}, errSluggish
	}
	return done, err
}

func (s *sluggish) choose() (pause time.Duration, fate int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fate = s.rand.IntN(8)
	s.commits++
	switch fate {
	case 0:
		s.failures++
	case 1:
		s.lies++
	}
	return time.Duration(s.rand.Int64N(int64(s.longest))), fate
}

// The store is far slower than the fleet, fails now and then, and sometimes fails only to say that it succeeded.
func TestNothingIsLostOrDoubledByASlowStore(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	b := startBroker(t, r.dir)
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(r.dir, "fleetglass.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // Nothing is written at the end.
	slow := &sluggish{Appender: store, longest: 400 * time.Millisecond, rand: rand.New(rand.NewPCG(r.seed, 1))}
	js := dial(t, b.url())
	c := inProcess(t, js, store, slow)
	p, path := r.startFleet(b.url(), form(100, 600), 12)
	lines := awaitFleet(t, p, path, form(2*patience, 10*patience))
	quiet(t, js)
	truth := tell(lines)
	r.describe(truth)
	verdict(t, c, truth, compare)
	counts(t, c, truth, nil)
	recount(t, store, truth)
	r.note("the store took", "up to %s for each of %d batches; it failed %d times, and said so falsely %d times", slow.longest, slow.commits, slow.failures,
		slow.lies)
}

// inProcess wires collectors, store and API as the program does.
func inProcess(t *testing.T, js jetstream.JetStream, store lifecycle.Store, appender lifecycle.Appender) client {
	t.Helper()
	contract := fleet.NewContract("")
	incarnations, errI := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: js, Appender: appender, Watermarks: store, Contract: contract})
	barrier, errG := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{
		JetStream: js, Stream: fleet.CapturePub, Durable: collectors.DurableName("", publishes.SourceStored),
	})
	if err := errors.Join(errI, errG); err != nil {
		t.Fatal(err)
	}
	shared := collectors.Config{
		JetStream: js, Appender: appender, Watermarks: store, Incarnations: incarnations, Contract: contract, Barrier: barrier, Logger: slog.New(slog.DiscardHandler),
	}
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); wg.Wait() })
	run := func(c interface{ Run(context.Context) error }, err error) {
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Errorf("collector: %v", err)
			}
		})
	}
	run(publishes.New(publishes.Config{Config: shared}))
	run(publishes.NewAttempts(publishes.AttemptsConfig{Config: shared}))
	run(acks.New(shared))
	run(advisories.New(shared))
	run(reports.New(shared))
	run(idempotency.NewKV(shared))
	run(brokersync.New(brokersync.Config{
		JetStream: js, Appender: appender, Reader: store, Incarnations: incarnations, Contract: contract, Interval: 200 * time.Millisecond,
		Stored: func(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
			return publishes.Decode(line, streams, publishes.DefaultBodyLimit, into)
		},
	}))
	return serve(t, store, appender)
}

// serve answers as the program's API does.
func serve(t *testing.T, store lifecycle.Store, appender lifecycle.Appender) client {
	t.Helper()
	ask, err := query.New(query.Config{Store: store, AgentOf: fleet.AgentOfWorker})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ask.Close() })
	calls, err := api.New(api.Config{
		Query: ask, Appender: appender, Hub: live.NewHub(1000), Health: health.Group{}, Fleet: api.Fleet{
			DecodeReport: func(json.RawMessage, access.Principal) (lifecycle.Event, error) {
				return lifecycle.Event{}, errors.New("not here")
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.UseEscapedPath = true
	calls.Register(routes.New(engine, routes.Config{Tokens: access.Unprotected()}))
	server := httptest.NewServer(http.Handler(engine))
	t.Cleanup(server.Close)
	return client{server.URL}
}
