package brokerstate_test

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// scenario is what a foreign program does, and the trace that must come of it.
type scenario struct {
	name string // Also the agent's name and its task's id.
	act  func(a *agent)
	live string // The trace when Fleetglass was there.
	late string // When it was started only afterwards; empty: the same.
}

var scenarios = []scenario{
	{"plain", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("plain")
		a.must(a.take(time.Second).AckSync())
	}, "completed (acknowledged)\n1 acked exact", ""},
	{"thrice", func(a *agent) {
		a.works(nats.ConsumerConfig{})
		for range 3 {
			a.publish("thrice")
		}
		a.must(a.take(time.Second).AckSync())
	}, "completed (acknowledged) caught 2\n1 acked exact", ""},
	{"heartbeats", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("heartbeats")
		m := a.take(time.Second)
		for range 3 {
			busy(200 * time.Millisecond)
			a.must(m.InProgress())
		}
		busy(100 * time.Millisecond)
		a.must(m.AckSync())
	}, "completed (acknowledged)\n1 acked exact beats", "completed (acknowledged)\n1 acked beats"},
	{"crash", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("crash")
		a.take(time.Second)
		m := a.take(2 * time.Second)
		busy(100 * time.Millisecond)
		a.must(m.AckSync())
	}, "completed (acknowledged) [silent_attempt]\n1 timed_out exact silent\n2 acked exact", "completed (acknowledged) [silent_attempt]\n1 timed_out silent\n2 acked exact"},
	{"backoff", func(a *agent) {
		a.works(nats.ConsumerConfig{BackOff: []time.Duration{300 * time.Millisecond, 600 * time.Millisecond, time.Second}}).publish("backoff")
		a.take(time.Second)
		m := a.take(2 * time.Second)
		busy(450 * time.Millisecond) // Longer than the first wait, shorter than the second.
		a.must(m.AckSync())
	}, "completed (acknowledged) [silent_attempt]\n1 timed_out exact silent\n2 acked exact", "completed (acknowledged) [silent_attempt]\n1 timed_out silent\n2 acked exact"},
	{"nak", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("nak")
		a.must(a.take(time.Second).NakWithDelay(200 * time.Millisecond))
		a.must(a.take(2 * time.Second).AckSync())
	}, "completed (acknowledged)\n1 naked\n2 acked exact", ""},
	{"term", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("term")
		m := a.take(time.Second)
		busy(100 * time.Millisecond)
		a.must(m.Respond([]byte("+TERM schema invalid")))
	}, "exhausted (terminated)\n1 terminated exact \"schema invalid\"", ""},
	{"silent", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("silent")
		for range 3 {
			a.take(2 * time.Second)
		}
	}, "exhausted (presumed dead) [silent_attempt]\n1 timed_out exact silent\n2 timed_out exact silent\n3 timed_out exact silent \"attempt 3 of 3 was never answered and no attempt is left\"",
		"exhausted (presumed dead) [silent_attempt]\n1 timed_out silent\n2 timed_out silent\n3 timed_out exact silent \"attempt 3 of 3 was never answered and no attempt is left\""},
	{"pulled", func(a *agent) {
		a.works(nats.ConsumerConfig{}).publish("pulled")
		for range 3 {
			a.take(2 * time.Second)
		}
		if m := a.take(time.Second); m != nil {
			a.t.Errorf("fourth pull of three got %s", m.Subject)
		}
	}, "exhausted (max deliveries) [silent_attempt]\n1 timed_out exact silent\n2 timed_out exact silent\n3 timed_out exact silent",
		"exhausted (max deliveries) [silent_attempt]\n1 timed_out silent\n2 timed_out silent\n3 timed_out silent"},
	{"handedback", func(a *agent) {
		a.works(nats.ConsumerConfig{MaxDeliver: 2}).publish("handedback")
		for range 2 {
			m := a.take(time.Second)
			busy(100 * time.Millisecond)
			a.must(m.Nak())
		}
	}, "exhausted (presumed dead)\n1 naked exact\n2 naked exact", "exhausted (presumed dead)\n1 naked\n2 naked exact"},
	{"orphan", func(a *agent) { a.publish("orphan") }, "published (stored) [orphaned]", ""},
	{"held", func(a *agent) {
		a.works(nats.ConsumerConfig{AckWait: time.Hour}).publish("held")
		a.take(time.Second)
	}, "delivered (delivered)\n1 open exact silent", ""},
	{"waiting", func(a *agent) { a.works(nats.ConsumerConfig{}).publish("waiting") }, "published (stored)", ""},
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

func TestForeignProgramsAreTracedExactlyWhileTheyWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	play(t, b)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) { b.expect(t, s.name, s.live) })
	}
}

func TestForeignProgramsAreTracedExactlyWhenFleetglassWasDown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	play(t, b)
	b.start()
	for _, s := range scenarios {
		want := s.late
		if want == "" {
			want = s.live
		}
		t.Run(s.name, func(t *testing.T) { b.expect(t, s.name, want) })
	}
}
