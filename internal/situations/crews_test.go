//go:build linux

package situations

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// crew is a workers' consumer of a random world.
type crew struct {
	jetstream.Consumer // Nil where the broker sends.

	cfg   jetstream.ConsumerConfig
	name  string
	wait  time.Duration // Its ack wait.
	after uint64        // It begins after that message.
	queue []jetstream.ConsumeContext

	mu   sync.Mutex
	came []delivery // What was sent, and not looked at yet.
}

// kinds are the types of the tasks of random worlds.
var kinds = []string{"work", "review", "plan"}

func (w *life) kind() string { return pick(w.random, kinds) }

// recruit makes a workers' consumer with random bounds.
func (w *life) recruit(cfg jetstream.ConsumerConfig) *crew {
	cfg.AckWait, cfg.MaxDeliver, cfg.MaxAckPending = time.Duration(700+w.random.IntN(2500))*time.Millisecond, 1+w.random.IntN(4), 1+w.random.IntN(4)
	if w.grave {
		cfg.AckWait, cfg.MaxDeliver = time.Duration(700+w.random.IntN(500))*time.Millisecond, 1+w.random.IntN(2)
	}
	w.bounded(cfg.MaxDeliver)
	if !w.grave && w.random.IntN(2) == 0 {
		w.unusual(&cfg)
	}
	w.note("consumer %s: ack wait %s, at most %d, pending %d, takes %s%v, sends to %q, answers %s, begins with %s",
		cfg.Durable, cfg.AckWait, cfg.MaxDeliver, cfg.MaxAckPending, cfg.FilterSubject, cfg.FilterSubjects, cfg.DeliverSubject, cfg.AckPolicy, cfg.DeliverPolicy)
	by := &crew{cfg: cfg, name: cfg.Durable, wait: cfg.AckWait}
	w.make(by)
	w.know(func() {
		w.sends = w.sends || by.sent()
		for _, m := range w.letters {
			if cfg.DeliverPolicy == jetstream.DeliverNewPolicy {
				m.passed, by.after = true, max(by.after, m.seq)
			}
		}
	})
	w.subscribe(by)
	return by
}

// unusual lets a consumer take work as the contract does not have it, where the stream allows that.
func (w *life) unusual(cfg *jetstream.ConsumerConfig) {
	some := func() bool { return w.random.IntN(3) == 0 }
	sends := some()
	if !sends { // Five of nine.
		sends = some()
	}
	if sends {
		cfg.DeliverSubject, cfg.DeliverGroup = "deliver."+cfg.Durable, "workers"
	}
	if some() {
		left := w.random.IntN(len(kinds)) // The one that it does not take.
		for i, kind := range kinds {
			if i != left {
				cfg.FilterSubjects = append(cfg.FilterSubjects, "genbrain.agents."+w.agent+".tasks."+kind)
			}
		}
		cfg.FilterSubject = ""
	}
	if w.land.streams[0].Retention == jetstream.WorkQueuePolicy {
		return
	}
	if some() {
		cfg.DeliverPolicy = jetstream.DeliverNewPolicy
	}
	switch w.random.IntN(6) {
	case 0:
		cfg.AckPolicy = jetstream.AckAllPolicy
	case 1:
		cfg.AckPolicy, cfg.AckWait, cfg.MaxAckPending, cfg.MaxDeliver = jetstream.AckNonePolicy, 0, 0, -1
	}
}

// consumerInfo is what the broker says of a consumer, whoever asks for what it delivers. There is none where it has no name.
func (w *life) consumerInfo(name string) (info jetstream.ConsumerInfo, err error) {
	answer, err := w.nc.RequestWithContext(w.ctx, "$JS.API.CONSUMER.INFO.TASKS."+name, nil)
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(answer.Data, &info)
}

// noteState writes into the diary how the broker says that a consumer is. What it was sent again before the broker took an acknowledgement of it, its
// workers have in vain.
func (w *life) noteState(by *crew) {
	info, err := w.consumerInfo(by.name)
	w.must(err)
	w.note("the broker says of %s: delivered %d of %d, floor %d of %d, %d not answered, %d delivered again", by.name, info.Delivered.Consumer, info.Delivered.Stream,
		info.AckFloor.Consumer, info.AckFloor.Stream, info.NumAckPending, info.NumRedelivered)
	w.know(func() {
		for _, m := range w.letters {
			if m.acked && m.seq <= info.AckFloor.Stream {
				delete(m.open, by.name)
			}
		}
	})
}

// bounded notes how many attempts a consumer allows.
func (w *life) bounded(most int) {
	w.know(func() {
		if w.fewest == 0 || most < w.fewest {
			w.fewest = most
		}
	})
}

// waitsForNobody reports whether no worker will be given the message, whatever is free, as things are: none takes it, or is to have it again, or to those who do the
// broker sends, and they are not there.
func (w *life) waitsForNobody(m *mail) bool {
	return !slices.ContainsFunc(w.crews(), func(c *crew) bool {
		again := c != nil && m.open[c.name] && (c.cfg.MaxDeliver <= 0 || m.had < c.cfg.MaxDeliver) // Whatever it takes now.
		return (c.takes(m.kind) && m.seq > c.after || again) && (!c.sent() || len(c.queue) > 0)
	})
}

// make makes the consumer of a crew, or changes it.
func (w *life) make(by *crew) {
	if !by.sent() {
		by.Consumer = w.consumer(by.cfg)
		return
	}
	w.halt()
	_, err := w.js.CreateOrUpdatePushConsumer(w.ctx, "TASKS", by.cfg)
	w.must(err)
}

// sent reports whether the broker sends to its workers, so that they do not ask.
func (c *crew) sent() bool { return c.cfg.DeliverSubject != "" }

// awaits reports whether there is a crew, and its consumer waits for answers.
func (c *crew) awaits() bool { return c != nil && c.cfg.AckPolicy != jetstream.AckNonePolicy }

// takes reports whether there is a crew that takes tasks of a kind.
func (c *crew) takes(kind string) bool {
	return c != nil && (len(c.cfg.FilterSubjects) == 0 || slices.ContainsFunc(c.cfg.FilterSubjects, func(s string) bool {
		return strings.HasSuffix(s, ".tasks."+kind) || strings.HasSuffix(s, ".tasks.>")
	}))
}

// subscribe lets one or two workers be sent what the consumer delivers.
func (w *life) subscribe(by *crew) {
	if !by.sent() || len(by.queue) > 0 {
		return
	}
	for range 1 + w.random.IntN(2) {
		consumer, err := w.js.PushConsumer(w.ctx, "TASKS", by.name)
		w.must(err)
		one, err := consumer.Consume(func(m jetstream.Msg) {
			by.mu.Lock()
			defer by.mu.Unlock()
			by.came = append(by.came, delivery{Msg: m, by: by, at: time.Now()})
		})
		w.must(err)
		by.queue = append(by.queue, one)
	}
	w.note("%d workers of %s subscribe", len(by.queue), by.name)
}

// unsubscribe lets the workers of a crew go, with what they were sent. What is on its way to them when they go is delivered by the broker's word.
func (w *life) unsubscribe(by *crew) {
	if len(by.queue) > 0 {
		w.know(func() {
			w.empty += max(1, by.cfg.MaxAckPending)
			for _, m := range w.letters {
				m.unasked = m.unasked || !by.awaits() && m.seq > by.after && by.takes(m.kind) // It may be on its way to nobody.
			}
		})
	}
	for _, one := range by.queue {
		one.Drain()
		<-one.Closed()
	}
	by.queue = nil
	w.receive()
}

// receive takes up what the broker sent.
func (w *life) receive() {
	for _, by := range []*crew{w.worker, w.partner} {
		if by != nil {
			w.know(func() { w.takeUp(by) })
		}
	}
}

func (w *life) takeUp(by *crew) {
	by.mu.Lock()
	defer by.mu.Unlock()
	var later []delivery
	for _, d := range by.came {
		meta, err := d.Metadata()
		w.must(err)
		if d.of = w.mailAt(meta.Sequence.Stream); d.of == nil {
			later = append(later, d) // Its publisher has not heard yet where it is.
			continue
		}
		w.pulls++
		w.given(d)
	}
	by.came = later
}

// leave lets the workers to whom the broker sends go away. Some forget what they have; others answer it later.
func (w *life) leave() {
	by := pick(w.random, w.crews())
	if by == nil || len(by.queue) == 0 {
		return
	}
	forgets := w.random.IntN(2) == 0
	w.note("the workers of %s go, and forget what they have: %v", by.name, forgets)
	w.unsubscribe(by)
	if forgets {
		w.drop(by)
	}
}

// comeBack lets them subscribe again.
func (w *life) comeBack() {
	for _, by := range w.crews() {
		w.subscribe(by)
	}
}

// crews are those that there are.
func (w *life) crews() []*crew {
	return slices.DeleteFunc([]*crew{w.worker, w.partner}, func(c *crew) bool { return c == nil })
}

// sweeps notes what an acknowledgement does beside its own message.
func (w *life) sweeps(d delivery) {
	if d.by.cfg.AckPolicy != jetstream.AckAllPolicy {
		return
	}
	for _, m := range w.letters {
		if m.open[d.by.name] && m.seq < d.of.seq {
			m.acked, m.swept = true, true
			delete(m.open, d.by.name)
		}
	}
}
