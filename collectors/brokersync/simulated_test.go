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

// TestASimulatedBrokerIsToldTruthfully plays a stream and its consumer in a broker that is simulated, with random workers that are late, hand back, or answer what they
// lost, with changes of consumer and stream, and with a synchronizer that looks now and then and starts again. The broker knows what really happened. A failure prints
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
	w, state, said, played := newWorld(), NewState(nil), &strings.Builder{}, 0
	look := func() string {
		b.poll()
		for _, line := range b.script[played:] {
			if line == "starts-again" {
				state = NewState(w.consumersStored())
			} else if _, err := w.apply(line); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		played = len(b.script)
		for range 4 {
			next, batch := stepAll(t, w, state, inOrder{})
			state = next
			for _, e := range batch.Events {
				fmt.Fprintf(said, "%s  %s\n", short(b.now), describe(e))
				wrong := b.untruth(e)
				if w.events[e.ID] {
					wrong = "that was said before"
				}
				if wrong != "" {
					return describe(e) + ": " + wrong
				}
			}
			w.store(t, batch)
		}
		return b.misjudged(w)
	}
	for next := time.Duration(b.r.IntN(6000)) * time.Millisecond; b.now < 14*time.Second; {
		b.acts()
		if b.now < next {
			continue
		}
		if wrong := look(); wrong != "" {
			return wrong + "\n" + strings.Join(b.script, "\n") + "\n---\n" + said.String() + b.truth()
		}
		next = b.now + b.upTo(pick(b.r, 300, 3000), 200)
	}
	return ""
}

// alive reports whether a worker has a message, and the broker has always waited for it: one that starts again forgets that a lease ran out.
func (b *simBroker) alive(seq uint64) bool {
	p, held := b.pending[seq]
	return held && !b.messages[seq].back && !b.messages[seq].late && b.now-p.from < b.waitOf(seq) && !slices.Contains(b.queue, seq)
}

// untruth is what is wrong with an event that is said now; empty for nothing.
func (b *simBroker) untruth(e lifecycle.Event) string {
	seq := e.Message.Seq
	m := b.messages[seq]
	if m == nil {
		return "no such message"
	}
	if wrong := b.notDelivered(e); wrong != "" {
		return wrong
	}
	_, held := b.pending[seq]
	switch {
	case e.Kind == lifecycle.LeaseExpired && e.Attempt == m.attempts && b.alive(seq):
		return "its worker has it"
	case (e.Kind == lifecycle.LeaseExpired || e.Kind == lifecycle.PresumedDead) && !e.Detail.AtLatest && b.deliveredWithin(seq, e.Detail.Basis.Sub(t0), e.Detail.Deadline.Sub(t0)):
		return "the next attempt began before"
	case e.Kind == lifecycle.PresumedDead && (b.alive(seq) || !m.usedUp && (b.max <= 0 || m.attempts < b.max)):
		return "an attempt is left, or at work"
	case e.Kind == lifecycle.MaxDeliveries && !m.wasUsed:
		return "its attempts are not used up"
	case e.Kind == lifecycle.ExhaustionDenied && m.usedUp && !e.Detail.Former:
		return "the broker said so"
	case e.Kind == lifecycle.Stranded && (held || seq > b.seq || m.gone):
		return "its consumer has it"
	case e.Kind == lifecycle.AckRefuted && m.accepted:
		return "its answer was accepted"
	case e.Kind != lifecycle.Vanished:
		return ""
	case !m.gone:
		return "it is in the stream"
	case e.Detail.Undelivered && m.given > 0:
		return "it was delivered"
	case e.Detail.Removal == lifecycle.RemovedByOperator && !m.operator, e.Detail.Removal == lifecycle.RemovedByLimit && !m.limited && !m.operator:
		return "something else removed it"
	}
	return ""
}

// notDelivered is what is wrong with the delivery of which an event tells; empty for nothing.
func (b *simBroker) notDelivered(e lifecycle.Event) string {
	told, at := e.Kind == lifecycle.Delivered || e.Kind == lifecycle.AttemptUnanswered, e.At.Sub(t0)
	if e.ConsumerSeq == 0 {
		if m := b.messages[e.Message.Seq]; told && m.given < max(1, e.Attempt) {
			return fmt.Sprintf("it was delivered %d times", m.given)
		}
		return ""
	}
	wrong := "no such delivery"
	for _, d := range append(slices.Clone(b.former), b.deliveries[e.ConsumerSeq]) {
		switch {
		case d == nil || d.cseq != e.ConsumerSeq:
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
func (b *simBroker) deliveredWithin(seq uint64, after, before time.Duration) bool {
	for _, d := range b.deliveries {
		if !b.restarted && d.seq == seq && d.at > after && d.at < before {
			return true
		}
	}
	return false
}

// misjudged is what is wrong with the state of a message; empty for nothing.
func (b *simBroker) misjudged(w *world) string {
	over := []lifecycle.State{lifecycle.StateExhausted, lifecycle.StateCompleted, lifecycle.StateRemoved, lifecycle.StateTerminated}
	for seq := range b.messages {
		f, known := w.facts[lifecycle.MessageKey{Stream: tasks, Seq: seq}]
		answered := b.kept && b.messages[seq].accepted // A consumer that was created again delivers it once more (ADR 81).
		if state := lifecycle.Judge(f, lifecycle.TaskFacts{}).State; known && b.alive(seq) && slices.Contains(over, state) && !answered {
			return fmt.Sprintf("%d is %s, and its worker has it", seq, state)
		}
	}
	return ""
}

// truth is what really happened.
func (b *simBroker) truth() string {
	said := &strings.Builder{}
	all := append(slices.Clone(b.former), slices.Collect(maps.Values(b.deliveries))...)
	slices.SortFunc(all, func(x, y *simDelivery) int { return int(x.at - y.at) })
	for _, d := range all {
		fmt.Fprintf(said, "delivery %d: %d, attempt %d at %s\n", d.cseq, d.seq, d.n, d.at)
	}
	return said.String()
}
