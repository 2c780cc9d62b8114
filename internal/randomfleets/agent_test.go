//go:build linux

package randomfleets

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// plan is an agent as the dice made it.
type plan struct {
	name   string
	seed   uint64
	wait   time.Duration
	backed []time.Duration
	most   int // Deliveries of a message.
	hands  int // max_ack_pending.
	tasks  int
	over   time.Duration // In which the tasks are published.
	crash  time.Duration // When its worker dies; zero for never.
	down   time.Duration // How long it takes to come back.
}

// planned makes an agent at random.
func planned(dice *rand.Rand, name string) plan {
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(dice.Int64N(int64(to-from))) }
	p := plan{name: name, seed: dice.Uint64(), wait: between(500*time.Millisecond, 2*time.Second), most: 1 + dice.IntN(4), hands: 1, over: time.Second}
	if dice.IntN(3) > 0 {
		p.hands = 2 + dice.IntN(49)
	}
	if dice.IntN(2) == 0 {
		for range 1 + dice.IntN(3) {
			p.backed = append(p.backed, between(300*time.Millisecond, 1500*time.Millisecond))
		}
		p.most = max(p.most, len(p.backed))
		p.wait = p.backed[0]
	}
	p.tasks = 2 + dice.IntN(min(2*p.hands, 12)+2)
	if dice.IntN(3) == 0 {
		p.crash, p.down = between(500*time.Millisecond, 3*time.Second), between(100*time.Millisecond, time.Second)
	}
	return p
}

// waitOf is the wait in force for an attempt.
func (p plan) waitOf(attempt int) time.Duration {
	if len(p.backed) == 0 {
		return p.wait
	}
	return p.backed[min(attempt, len(p.backed))-1]
}

func (p plan) String() string {
	return fmt.Sprintf("%s: wait %s, backoff %v, %d attempts, %d in hand, %d tasks, dies after %s for %s", p.name, p.wait, p.backed, p.most, p.hands, p.tasks, p.crash, p.down)
}

// agent is a foreign program: a plain client of the broker.
type agent struct {
	plan
	t      testing.TB
	url    string
	ledger *ledger
}

// connect opens a connection of the agent's own.
func (a *agent) connect() (*nats.Conn, jetstream.JetStream) {
	nc, err := nats.Connect(a.url)
	a.must(err)
	js, err := jetstream.New(nc)
	a.must(err)
	return nc, js
}

func (a *agent) must(err error) {
	if err != nil {
		a.t.Errorf("%s: %v", a.name, err)
	}
}

// lives makes the consumer, and works until ctx is done: a worker that dies is followed by another one.
func (a *agent) lives(ctx context.Context) {
	nc, js := a.connect()
	defer nc.Close()
	consumer, err := js.CreateConsumer(ctx, "TASKS", jetstream.ConsumerConfig{
		Durable: a.name + "-task-worker", FilterSubject: "genbrain.agents." + a.name + ".tasks.>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: a.wait, BackOff: a.backed, MaxDeliver: a.most, MaxAckPending: a.hands,
	})
	a.must(err)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { a.publishes(ctx, js) })
	if a.crash > 0 {
		life, dies := context.WithTimeout(ctx, a.crash)
		a.works(life, consumer)
		dies()
		a.ledger.died(a)
		pause(ctx, a.down)
	}
	a.works(ctx, consumer)
	both.Wait()
}

// publishes sends the agent's tasks.
func (a *agent) publishes(ctx context.Context, js jetstream.JetStream) {
	for i := range a.tasks {
		id := fmt.Sprintf("%s-%d", a.name, i)
		m := nats.NewMsg("genbrain.agents." + a.name + ".tasks.work")
		m.Data = fmt.Appendf(nil, `{"taskId":%q,"type":"work","payload":{}}`, id)
		m.Header.Set("Nats-Msg-Id", id)
		if _, err := js.PublishMsg(ctx, m); err != nil && ctx.Err() == nil {
			a.must(err)
		}
		pause(ctx, a.over/time.Duration(a.tasks))
	}
}

// works pulls one message at a time and handles each beside the others, until ctx is done. What it holds then is never answered.
func (a *agent) works(ctx context.Context, consumer jetstream.Consumer) {
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for ctx.Err() == nil {
		batch, err := consumer.Fetch(1, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			a.must(err)
			return
		}
		for m := range batch.Messages() {
			h, id := a.got(m)
			handlers.Go(func() { a.handles(ctx, m, id, h) })
		}
	}
}

// got notes a delivery.
func (a *agent) got(m jetstream.Msg) (hold, string) {
	now := time.Now()
	meta, err := m.Metadata()
	a.must(err)
	n := int(meta.NumDelivered)
	h := hold{attempt: n, wait: a.waitOf(n), last: n >= a.most, from: now}
	id := m.Headers().Get("Nats-Msg-Id")
	a.ledger.takes(a, id, h)
	return h, id
}

// handles does with one delivery what the dice say.
func (a *agent) handles(ctx context.Context, m jetstream.Msg, id string, h hold) {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	dice := rand.New(rand.NewPCG(a.seed^sum.Sum64(), uint64(h.attempt)))
	part := func(of time.Duration, from, to float64) time.Duration {
		return time.Duration(float64(of) * (from + dice.Float64()*(to-from)))
	}
	switch dice.IntN(10) {
	case 0, 1: // It acknowledges in time.
		pause(ctx, part(h.wait, 0.05, 0.8))
		a.answers(ctx, m, id, h, "ack", 0)
	case 2, 3: // It works for long, with heartbeats.
		for range 1 + dice.IntN(6) {
			pause(ctx, part(h.wait, 0.2, 0.5))
			a.beats(ctx, m, id, h)
		}
		pause(ctx, part(h.wait, 0.1, 0.5))
		a.answers(ctx, m, id, h, []string{"ack", "nak", ""}[dice.IntN(3)], 0)
	case 4:
		pause(ctx, part(h.wait, 0.05, 0.5))
		a.answers(ctx, m, id, h, "nak", 0)
	case 5, 6:
		pause(ctx, part(h.wait, 0.05, 0.5))
		a.answers(ctx, m, id, h, "nak", part(time.Second, 0.1, 0.9))
	case 7:
		pause(ctx, part(h.wait, 0.05, 0.5))
		a.answers(ctx, m, id, h, "term", 0)
	case 8: // It is slow: a later attempt has the message when it acknowledges.
		pause(ctx, part(h.wait, 1.2, 2))
		a.answers(ctx, m, id, h, "ack", 0)
	} // Else it falls silent.
}

func (a *agent) beats(ctx context.Context, m jetstream.Msg, id string, h hold) {
	if ctx.Err() != nil {
		return
	}
	a.must(m.InProgress())
	now := time.Now()
	a.ledger.note(id, h.attempt, func(h *hold) { h.beats = append(h.beats, now) })
}

// answers sends an answer, and notes when. A worker that is dead says nothing.
func (a *agent) answers(ctx context.Context, m jetstream.Msg, id string, h hold, how string, delay time.Duration) {
	if ctx.Err() != nil || how == "" {
		return
	}
	before := time.Now()
	a.ledger.note(id, h.attempt, func(h *hold) { h.answer, h.delay, h.answerAt = how, delay, before })
	switch {
	case how == "ack":
		a.must(m.Ack())
	case how == "term":
		a.must(m.Term())
	case delay > 0:
		a.must(m.NakWithDelay(delay))
	default:
		a.must(m.Nak())
	}
	after := time.Now()
	a.ledger.note(id, h.attempt, func(h *hold) { h.sentAt = after })
}

// pause waits, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func forecastKey(id string, attempt int) string { return fmt.Sprintf("%s %d", id, attempt) }
