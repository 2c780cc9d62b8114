package brokersync

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var (
	simulations     = flag.Int("simulations", 1000, "how many simulated brokers are played")
	firstSimulation = flag.Uint64("first-simulation", 0, "the seed of the first one")
)

// TestASimulatedBrokerIsToldTruthfully plays a stream and its consumers in a broker that is simulated, with random workers that are late, hand back, or answer what they
// lost, with changes of consumers and stream, and with a synchronizer that looks now and then and starts again. The broker knows what really happened. A failure prints
// the lines of a scenario file that plays it again.
func TestASimulatedBrokerIsToldTruthfully(t *testing.T) {
	t.Parallel()
	for seed := *firstSimulation; seed < *firstSimulation+uint64(*simulations); seed++ {
		if untruth := simulate(t, seed); untruth != "" {
			t.Errorf("seed %d: %s", seed, untruth)
		}
	}
}

func simulate(t *testing.T, seed uint64) (untruth string) {
	b := newSimBroker(rand.New(rand.NewPCG(seed, 1)))
	w, said, played := newWorld(), &strings.Builder{}, 0
	held, holder := lifecycle.Batch{}, "" // What a replica has concluded, and the store is slow to take in: another one looks meanwhile.
	release := func() {
		w.store(t, held)
		held, holder = lifecycle.Batch{}, ""
	}
	look := func(slow, steps int) string {
		b.poll(slow)
		for _, line := range b.script[played:] {
			if _, err := w.apply(line); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		played = len(b.script)
		if holder == w.replica {
			release()
		}
		for range steps {
			next, batch := stepAll(t, w, w.states[w.replica], inOrder{})
			w.states[w.replica] = next
			twice := map[lifecycle.EventID]bool{}
			for _, e := range batch.Events {
				fmt.Fprintf(said, "%s  %s\n", short(b.now), describe(e))
				wrong := b.allAlong(func(b *simBroker) string { return b.untruth(e) })
				if w.events[e.ID] && len(w.states) == 1 || twice[e.ID] {
					wrong = "that was said before"
				}
				twice[e.ID] = true
				if wrong != "" {
					return describe(e) + ": " + wrong
				}
			}
			if release(); len(w.states) > 1 && b.r.IntN(2) == 0 {
				held, holder = batch, w.replica
				break
			}
			w.store(t, batch)
		}
		if holder != "" {
			return "" // The store does not know yet what was concluded.
		}
		for seq := uint64(1); seq <= b.last; seq++ {
			for _, judge := range []func(*simBroker) string{
				func(b *simBroker) string { return b.misjudged(w, seq) },
				func(b *simBroker) string { return b.wrongLease(w, seq) },
			} {
				if wrong := b.allAlong(judge); wrong != "" {
					return wrong
				}
			}
		}
		return ""
	}
	// looks has somebody look: once where that takes its time, then as often as it takes to say all there is to say.
	looks := func() string {
		b.turn()
		if slow := pick(b.r, 0, 0, 20, 500); slow > 0 {
			if wrong := look(slow, 1); wrong != "" {
				return wrong
			}
		}
		return look(0, 4)
	}
	for next := time.Duration(b.r.IntN(6000)) * time.Millisecond; b.now < 14*time.Second; {
		b.passes(b.upTo(400, 20))
		b.acts()
		if b.now < next {
			continue
		}
		if wrong := looks(); wrong != "" {
			return wrong + "\n" + strings.Join(b.script, "\n") + "\n---\n" + said.String() + b.truth()
		}
		next = b.now + b.upTo(pick(b.r, 300, 3000), 200)
	}
	return ""
}

// allAlong is what is wrong by the broker as it was at each moment of the look at hand; empty where it was right at one of them.
func (b *simBroker) allAlong(wrong func(*simBroker) string) (said string) {
	for _, is := range append(b.looking, b) {
		if said = wrong(is); said == "" {
			return ""
		}
	}
	return said
}

// untruth is what is wrong with an event that is said now; empty for nothing.
func (b *simBroker) untruth(e lifecycle.Event) string {
	seq := e.Message.Seq
	m := b.messages[seq]
	if m == nil {
		return "no such message"
	}
	if e.Kind == lifecycle.Vanished {
		return b.notVanished(e)
	}
	c := b.consumerOf(e)
	if wrong := c.notDelivered(e); wrong != "" {
		return wrong
	}
	s, held := c.share(seq), c.pending[seq] != nil
	switch {
	case c.unanswered && slices.Contains([]lifecycle.Kind{lifecycle.LeaseExpired, lifecycle.PresumedDead, lifecycle.AckRefuted}, e.Kind):
		return "its consumer awaits no answer"
	case e.Kind == lifecycle.LeaseExpired && e.Attempt == s.attempts && c.alive(seq):
		return "its worker has it"
	case (e.Kind == lifecycle.LeaseExpired || e.Kind == lifecycle.PresumedDead) && !e.Detail.AtLatest && c.deliveredWithin(seq, e.Detail.Basis.Sub(t0), e.Detail.Deadline.Sub(t0)):
		return "the next attempt began before"
	case e.Kind == lifecycle.PresumedDead && (c.alive(seq) || !s.usedUp && (c.max <= 0 || s.attempts < c.max)):
		return "an attempt is left, or at work"
	case e.Kind == lifecycle.MaxDeliveries && !slices.ContainsFunc(b.consumers, func(o *simConsumer) bool { return (e.Consumer == "" || o == c) && o.share(seq).wasUsed }):
		return "its attempts are not used up"
	case e.Kind == lifecycle.ExhaustionDenied && s.usedUp && !e.Detail.Former:
		return "the broker said so"
	case e.Kind == lifecycle.Stranded && (held || seq > c.passed || m.gone):
		return "its consumer has it"
	case e.Kind == lifecycle.AckRefuted && s.accepted:
		return "its answer was accepted"
	}
	return ""
}

// consumerOf is the one that an event names, or else a workers' one that takes the message.
func (b *simBroker) consumerOf(e lifecycle.Event) *simConsumer {
	if i := slices.IndexFunc(b.consumers, func(c *simConsumer) bool { return c.name == e.Consumer }); i >= 0 {
		return b.consumers[i]
	}
	return b.consumers[max(0, slices.IndexFunc(b.consumers, func(c *simConsumer) bool { return !c.watches() && c.takes(e.Message.Seq) }))]
}

// notVanished is what is wrong with the word that a message left the stream; empty for nothing. What a limit removed cannot be told from what somebody deleted, where newer
// messages of its subject came or went unseen.
func (b *simBroker) notVanished(e lifecycle.Event) string {
	m, by := b.messages[e.Message.Seq], e.Detail.Removal
	newer := func(is func(*simMessage) bool) bool {
		for seq := e.Message.Seq + 1; seq <= b.last; seq++ {
			if o := b.messages[seq]; o.agent == m.agent && is(o) {
				return true
			}
		}
		return false
	}
	switch {
	case !m.gone:
		return "it is in the stream"
	case e.Detail.Undelivered && slices.ContainsFunc(b.workers(), func(c *simConsumer) bool { return c.share(e.Message.Seq).given > 0 }):
		return "it was delivered"
	case m.operator:
		return ""
	case by == lifecycle.RemovedByOperator,
		by == lifecycle.RemovedByLimit && !m.limited && !newer(func(o *simMessage) bool { return o.operator }),
		(by == lifecycle.RemovedByTTL && !m.expired || by == lifecycle.RemovedByAge && !m.aged) && !newer(func(o *simMessage) bool { return o.lost }):
		return "something else removed it"
	}
	return ""
}

// notDelivered is what is wrong with the delivery of which an event tells; empty for nothing.
func (c *simConsumer) notDelivered(e lifecycle.Event) string {
	told, at := e.Kind == lifecycle.Delivered || e.Kind == lifecycle.AttemptUnanswered, e.At.Sub(t0)
	if e.ConsumerSeq == 0 {
		if given := c.share(e.Message.Seq).given; told && given < max(1, e.Attempt) {
			return fmt.Sprintf("it was delivered %d times", given)
		}
		return ""
	}
	wrong := "no such delivery"
	for _, d := range c.all() {
		switch {
		case d.cseq != e.ConsumerSeq:
		case d.seq != e.Message.Seq:
			wrong = fmt.Sprintf("that was a delivery of %d", d.seq)
		case e.Detail.Exact && d.at != at, told && d.at > at:
			wrong = fmt.Sprintf("that delivery was at %s", short(d.at))
		case e.Attempt > d.n: // What no line numbers has the lowest number that it can have.
			wrong = fmt.Sprintf("that was attempt %d", d.n)
		default:
			return ""
		}
	}
	return wrong
}

// deliveredWithin reports whether a message was delivered after a time and before another, by a broker that never started again.
func (c *simConsumer) deliveredWithin(seq uint64, after, before time.Duration) bool {
	for _, d := range c.deliveries {
		if !c.restarted && d.seq == seq && d.at > after && d.at < before {
			return true
		}
	}
	return false
}

// misjudged is what is wrong with the state of a message; empty for nothing.
func (b *simBroker) misjudged(w *world, seq uint64) string {
	f, known := w.facts[lifecycle.MessageKey{Stream: tasks, Seq: seq}]
	state := lifecycle.Judge(f, lifecycle.TaskFacts{}).State
	over := []lifecycle.State{lifecycle.StateExhausted, lifecycle.StateCompleted, lifecycle.StateRemoved, lifecycle.StateTerminated}
	workers := b.workers()
	who := func(is func(*simConsumer) bool) *simConsumer {
		if i := slices.IndexFunc(workers, is); i >= 0 {
			return workers[i]
		}
		return nil
	}
	if !known || !slices.Contains(over, state) || f.Stored == nil { // Whom a message is for is not known before it is read.
		return ""
	}
	if b.messages[seq] == nil {
		return "no such message"
	}
	if c := who(func(c *simConsumer) bool { return c.holds(seq) && (c.takes(seq) || state != lifecycle.StateCompleted) }); c != nil { // One that takes it no more is not named beside an acknowledgement.
		return fmt.Sprintf("%d is %s, and a worker of %s has it", seq, state, c.name)
	}
	if state != lifecycle.StateCompleted {
		return ""
	}
	if c := who(func(c *simConsumer) bool { return c.died(seq) && c.takes(seq) }); c != nil {
		return fmt.Sprintf("%d is completed, and %s used up its attempts", seq, c.name)
	}
	if who(func(c *simConsumer) bool { return c.share(seq).acked }) == nil {
		return fmt.Sprintf("%d is completed, and nobody acknowledged it", seq)
	}
	return ""
}

// holds reports whether a worker has a message of which the consumer awaits the only answer: one that was created again delivers once more what its stream kept, although
// it was answered (ADR 81), one that was created later is waited for once it was seen to deliver and all lines up to that look are stored (ADR 73), and one that came to take the
// message later perhaps only once a line says that it did (ADR 90).
func (c *simConsumer) holds(seq uint64) bool {
	if !c.alive(seq) {
		return false
	}
	at := c.messages[seq].at
	early := len(c.looks) < 4
	late := c.kept && (c.widened > at || max(c.created, c.reset) > at && (early || c.deliveries[c.pending[seq].cseq].at > min(c.whole, c.looks[len(c.looks)-4])))
	return !late && (!c.kept || !c.share(seq).accepted)
}

// died reports whether the consumer used up its attempts at a message that nobody deleted, as what was captured told for some time, and no worker of it acknowledged. What is
// told of one that is deleted cannot be compared with the broker's state.
func (c *simConsumer) died(seq uint64) bool {
	s, m := c.share(seq), c.messages[seq]
	told := s.usedUp && (s.usedAt < c.blind || s.usedAt >= c.until)
	return told && !c.gone && !m.operator && !m.limited && !m.aged && !m.expired && !s.accepted && !s.acked && c.stored() > max(s.usedAt, m.goneAt, c.seenAt)+6*time.Second
}

// truth is what really happened.
func (b *simBroker) truth() string {
	said := &strings.Builder{}
	for _, c := range b.consumers {
		for _, d := range c.all() {
			fmt.Fprintf(said, "%s's delivery %d: %d, attempt %d at %s\n", c.name, d.cseq, d.seq, d.n, d.at)
		}
	}
	return said.String()
}

// clone is the broker as it is now.
func (b *simBroker) clone() *simBroker {
	is := *b
	is.messages, is.streams, is.consumers = copies(b.messages), nil, nil
	for _, c := range b.streams {
		is.streams = append(is.streams, copyOf(c))
	}
	for _, c := range b.consumers {
		c = copyOf(c)
		c.simBroker, c.former = &is, slices.Clone(c.former)
		c.deliveries, c.pending, c.shares = copies(c.deliveries), copies(c.pending), copies(c.shares)
		c.again, c.queue = maps.Clone(c.again), slices.Clone(c.queue)
		is.consumers = append(is.consumers, c)
	}
	return &is
}

func copyOf[T any](p *T) *T {
	v := *p
	return &v
}

func copies[K comparable, T any](m map[K]*T) map[K]*T {
	out := make(map[K]*T, len(m))
	for k, p := range m {
		out[k] = copyOf(p)
	}
	return out
}
