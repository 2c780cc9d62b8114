package brokersync_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/collectors/brokersync"
	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"
)

// scenario is what a foreign program does, and the trace that must come of it.
type scenario struct {
	name string // Also the agent's name and its task's id.
	act  func(a *agent)
	late string // The trace when Fleetglass was started only afterwards. Exact times it owes to the broker's memory of the last delivery.
}

var scenarios = []scenario{
	{"plain", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("plain")
		a.must(a.takes().AckSync())
	}, "completed (acknowledged)\n1 acked exact"},
	{"thrice", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("thrice")
		busy(500 * time.Millisecond) // A slow broker stores what it has captured later: of two captures about as near to that either may be the one that was stored.
		a.publish("thrice")
		a.publish("thrice")
		a.must(a.takes().AckSync())
	}, "completed (acknowledged) caught 2\n1 acked exact"},
	{"heartbeats", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("heartbeats")
		m := a.takes()
		for range 3 {
			busy(200 * time.Millisecond)
			a.must(m.InProgress())
		}
		busy(100 * time.Millisecond)
		a.must(m.AckSync())
	}, "completed (acknowledged)\n1 acked beats"},
	{"crash", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("crash")
		a.takes()
		m := a.takes()
		busy(100 * time.Millisecond)
		a.record("crash")
		a.must(m.AckSync())
	}, "completed (acknowledged after completion) [silent_attempt]\n1 timed_out silent\n2 acked exact"},
	{"recorded", func(a *agent) {
		a.works(nats.ConsumerConfig{AckWait: 2500 * time.Millisecond}).publish("recorded")
		a.takes()
		busy(2400 * time.Millisecond) // Much longer than it takes to see a record, also on a busy machine.
		a.record("recorded")
		a.must(a.takes().AckSync()) // It sees the record and does not execute again.
	}, "completed (acknowledged after completion) [caught_by_idempotency silent_attempt]\n1 timed_out silent\n2 acked exact"},
	{"backoff", func(a *agent) {
		a.works(nats.ConsumerConfig{BackOff: []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 2 * time.Second}}).publish("backoff")
		a.takes()
		m := a.takes()
		busy(750 * time.Millisecond) // Longer than the first wait, shorter than the second.
		a.must(m.AckSync())
	}, "completed (acknowledged) [silent_attempt]\n1 timed_out silent\n2 acked exact"},
	{"nak", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("nak")
		a.must(a.takes().NakWithDelay(200 * time.Millisecond))
		a.must(a.takes().AckSync())
	}, "completed (acknowledged)\n1 naked\n2 acked exact"},
	{"term", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("term")
		m := a.takes()
		busy(100 * time.Millisecond)
		a.must(m.Respond([]byte("+TERM schema invalid")))
	}, "terminated (terminated)\n1 terminated exact \"schema invalid\""},
	{"silent", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("silent")
		for range 3 {
			a.takes()
		}
	},
		"exhausted (presumed dead) [silent_attempt]\n1 timed_out silent\n2 timed_out silent\n3 timed_out exact silent \"attempt 3 of 3 was never answered and no attempt is left\""},
	{"pulled", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("pulled")
		for range 3 {
			a.takes()
		}
		if m := a.take(time.Second); m != nil {
			a.t.Errorf("fourth pull of three got %s", m.Subject)
		}
	},
		"exhausted (max deliveries) [silent_attempt]\n1 timed_out silent\n2 timed_out silent\n3 timed_out silent"},
	{"handedback", func(a *agent) {
		a.works(nats.ConsumerConfig{MaxDeliver: 2}).publish("handedback")
		for range 2 {
			m := a.takes()
			busy(300 * time.Millisecond)
			a.must(m.Nak())
		}
	}, "exhausted (presumed dead)\n1 naked\n2 naked exact"},
	{"orphan", func(a *agent) { a.publish("orphan") }, "published (stored) [orphaned]"},
	{"held", func(a *agent) {
		a.works(nats.ConsumerConfig{AckWait: time.Hour}).publish("held")
		a.takes()
	}, "delivered (delivered)\n1 open exact silent"},
	{"waiting", func(a *agent) { a.works(nats.ConsumerConfig{}).publish("waiting") }, "published (stored)"},
}

func play(t *testing.T, b *bench) {
	var acting sync.WaitGroup
	for _, s := range scenarios {
		acting.Go(func() { s.act(b.agent(t, s.name)) })
	}
	acting.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// variations of how Fleetglass runs. None may change a trace.
var variations = []struct {
	name     string
	replicas int
	change   func(*brokersync.Config)
}{
	{"plainly", 1, func(*brokersync.Config) {}},
	{"two replicas", 2, func(*brokersync.Config) {}},
	{"small pages", 1, func(c *brokersync.Config) { c.PageSize = 3 }},
	{"walking the stream", 1, func(c *brokersync.Config) { c.PageSize, c.Details = 4, -1 }},
	{"a clock five hours off", 1, func(c *brokersync.Config) { c.Now = func() time.Time { return time.Now().Add(5 * time.Hour) } }},
}

func TestForeignProgramsAreTracedExactlyWhileTheyWork(t *testing.T) {
	t.Parallel()
	for _, v := range variations {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.inexact = true // How many times are exact depends on when it looks.
			v.change(&b.cfg)
			parts := b.replicas(v.replicas)
			play(t, b)
			b.compare(t, parts)
		})
	}
}

func TestForeignProgramsAreTracedExactlyWhenFleetglassWasDown(t *testing.T) {
	t.Parallel()
	for _, v := range variations {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			v.change(&b.cfg)
			play(t, b)
			b.compare(t, b.replicas(v.replicas))
		})
	}
}

func (b *bench) replicas(n int) (parts []*brokersync.Collector) {
	for range n {
		parts = append(parts, b.start())
	}
	return parts
}

// compare waits for the traces, then for some more polls, after which the traces must be the same still. No event may have been found
// twice, and what is called exact must be true.
func (b *bench) compare(t *testing.T, parts []*brokersync.Collector) {
	t.Helper()
	want := map[string]string{}
	for _, s := range scenarios {
		if want[s.name] = s.late; b.inexact {
			want[s.name] = strings.NewReplacer(" exact", "", ` "attempt 3 of 3 was never answered and no attempt is left"`, "").Replace(s.late)
		}
		b.expect(t, s.name, want[s.name])
	}
	b.polls(t, parts, 8)
	for _, s := range scenarios {
		if got := b.trace(s.name); got != want[s.name] {
			t.Errorf("trace of %s later:\n%s\nwant:\n%s\nevents:\n%s", s.name, got, want[s.name], b.events(s.name))
		}
		b.noTwins(t, s.name)
		b.truthful(t, s.name)
	}
}

func TestTracesAreTheSameWhenTheReconcilerStopsAndStarts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.inexact = true
	b.startLines()
	ctx, cancel := context.WithCancel(t.Context())
	restarting := make(chan struct{})
	go func() {
		defer close(restarting)
		for ctx.Err() == nil {
			c, err := brokersync.New(b.cfg)
			if err != nil {
				t.Error(err)
				return
			}
			life, stop := context.WithTimeout(ctx, 250*time.Millisecond)
			if err := c.Run(life); err != nil {
				t.Error(err)
			}
			stop()
		}
	}()
	play(t, b)
	cancel()
	<-restarting
	b.compare(t, []*brokersync.Collector{b.startState()})
}

// TestTheBrokerForgetsTimesWhenItRestarts: what was delivered before is known, when is not.
func TestTheBrokerForgetsTimesWhenItRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := func() *embednats.Server {
		srv, err := embednats.Start(embednats.Config{Dir: dir, Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = srv.Close() })
		return srv
	}
	srv := begin()
	testkit.Provision(t, srv, fleet.Streams{Contract: fleet.NewContract("")})
	play(t, benchOn(t, srv, newStore(t)))
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	b := benchOn(t, begin(), newStore(t))
	b.start()
	for _, s := range scenarios {
		want := strings.ReplaceAll(s.late, " exact", "")
		if s.name == "crash" || s.name == "recorded" { // Whether the second attempt began before or after the completion cannot be told.
			want = strings.Replace(strings.Replace(want, "caught_by_idempotency ", "", 1), "[", "[duplicate_unknown ", 1)
		}
		b.expect(t, s.name, want)
	}
}
