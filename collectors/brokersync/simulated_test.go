package brokersync

import (
	"cmp"
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

// A simulated broker counts as nats-server does (consumer.go: getNextMsg, checkPending, processAckMsg, processNak, progressUpdate; filestore.go: UpdateDelivered,
// UpdateAcks), with one consumer of one work queue. It knows what really happened, and plays a thousand times in the time of one real broker.

// simDelivery is one delivery, as it really was.
type simDelivery struct {
	seq  uint64
	n    int
	at   int64 // In microseconds since the beginning, as all times here.
	held bool  // Nobody answered it yet, as far as its worker knows.
}

type simMessage struct {
	at         int64
	gone       bool
	operator   bool // Somebody deleted it.
	given      int  // How often it was delivered.
	usedUp     bool // The broker said so.
	back       bool // Its worker handed it back, and nobody has it since.
	acceptedAt int64
}

type simPending struct {
	cseq uint64
	ts   int64
}

type simulated struct {
	r   *rand.Rand
	now int64
	cfg struct {
		max, hands int
		wait       int64
	}
	messages   map[uint64]*simMessage
	last       uint64
	deliveries map[uint64]*simDelivery // By consumer sequence.
	cseq, seq  uint64                  // The last of each that was delivered.
	floorC     uint64
	floorS     uint64
	pending    map[uint64]*simPending
	rdc        map[uint64]int
	queue      []uint64
	moved      int64 // The broker's time of the last delivery.
	lines      []simLine
	told       int   // So many lines are known.
	upTo       int64 // All lines up to then are.
	script     []string
	looked     bool // Since the consumer was changed.
}

type simLine struct {
	at   int64
	text string
}

func newSimulated(r *rand.Rand) *simulated {
	s := &simulated{r: r, messages: map[uint64]*simMessage{}, deliveries: map[uint64]*simDelivery{}, pending: map[uint64]*simPending{}, rdc: map[uint64]int{}}
	s.configure()
	return s
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (s *simulated) configure() {
	s.cfg.max, s.cfg.hands, s.cfg.wait = pick(s.r, 1, 2, 3, 3, 5, 0), pick(s.r, 1, 1, 2, 3, 10), pick[int64](s.r, 800, 1000, 2000, 4000)*1000
}

func us(at int64) string { return fmt.Sprintf("%dus", at) }

func (s *simulated) line(format string, args ...any) {
	s.lines = append(s.lines, simLine{s.now, fmt.Sprintf(format, args...)})
}

// tick lets time pass, and the broker's timer look.
func (s *simulated) tick(d int64) {
	for end := s.now + d; s.now < end; {
		s.now = min(s.now+5000, end)
		for _, seq := range slices.Sorted(maps.Keys(s.pending)) {
			p := s.pending[seq]
			if s.now-p.ts < s.cfg.wait || slices.Contains(s.queue, seq) {
				continue
			}
			if count := max(1, s.rdc[seq]); s.cfg.max > 0 && count >= s.cfg.max {
				s.useUp(seq, s.rdc[seq]+1)
				s.rdc[seq] = count
				continue
			}
			s.queue = append(s.queue, seq)
		}
	}
}

// useUp drops a message whose attempts are used up.
func (s *simulated) useUp(seq uint64, n int) {
	s.messages[seq].usedUp = true
	s.line("knows exhaustion_said %d %s n=%d consumer=a-task-worker", seq, us(s.now), n)
	delete(s.pending, seq)
	s.moved = s.now + 80
}

func (s *simulated) publish() {
	s.last++
	s.messages[s.last] = &simMessage{at: s.now}
	lost := ""
	if s.r.IntN(8) == 0 {
		lost = " lost"
	}
	s.script = append(s.script, fmt.Sprintf("message %d at=%s%s", s.last, us(s.now), lost))
}

// pull is one question of a worker.
func (s *simulated) pull() {
	for len(s.queue) > 0 {
		seq := s.queue[0]
		s.queue = s.queue[1:]
		s.rdc[seq]++
		if s.cfg.max > 0 && s.rdc[seq]+1 > s.cfg.max {
			s.useUp(seq, s.rdc[seq])
			continue
		}
		if s.messages[seq].gone {
			s.rdc[seq]--
			continue
		}
		s.deliver(seq)
		return
	}
	if len(s.pending) >= s.cfg.hands {
		return
	}
	for s.seq < s.last {
		s.seq++
		if !s.messages[s.seq].gone {
			s.deliver(s.seq)
			return
		}
	}
}

func (s *simulated) deliver(seq uint64) {
	s.cseq++
	m := s.messages[seq]
	m.given, m.back = m.given+1, false
	s.deliveries[s.cseq] = &simDelivery{seq: seq, n: s.rdc[seq] + 1, at: s.now, held: true}
	if p, again := s.pending[seq]; again {
		p.ts = s.now
	} else {
		s.pending[seq] = &simPending{s.cseq, s.now}
	}
	s.moved = s.now
}

// remove takes a message out of the stream, and moves the floors.
func (s *simulated) remove(seq uint64) {
	s.messages[seq].gone = true
	s.script = append(s.script, fmt.Sprintf("gone %d", seq))
	delete(s.rdc, seq)
	s.queue = slices.DeleteFunc(s.queue, func(q uint64) bool { return q == seq })
	p, held := s.pending[seq]
	if !held {
		return
	}
	delete(s.pending, seq)
	switch {
	case len(s.pending) == 0:
		s.floorC, s.floorS = s.cseq, s.seq
	case p.cseq == s.floorC+1:
		s.floorC, s.floorS = p.cseq, seq
		for next := seq + 1; next <= s.seq; next++ {
			if o, ok := s.pending[next]; ok {
				s.floorC, s.floorS = o.cseq-1, next-1
				break
			}
		}
	}
}

// answer is what a worker does with a delivery that it has, or had.
func (s *simulated) answer() {
	if s.cseq == 0 {
		return
	}
	cseq := s.cseq - uint64(s.r.IntN(min(3, int(s.cseq))))
	d := s.deliveries[cseq]
	if !d.held {
		return
	}
	m, p := s.messages[d.seq], s.pending[d.seq]
	of := fmt.Sprintf("%d %s n=%d cseq=%d consumer=a-task-worker", d.seq, us(s.now), d.n, cseq)
	switch s.r.IntN(7) {
	case 0, 1, 2:
		s.line("knows heartbeat %s", of)
		if p != nil {
			p.ts, s.moved = s.now, s.now+80
		}
		return
	case 3:
		s.line("knows acked %s", of)
	case 4:
		s.line("knows terminated %s", of)
		s.line("knows term_confirmed %s", of)
	case 5:
		s.line("knows naked %s", of)
		if d.held = false; p != nil && cseq > s.floorC && !slices.Contains(s.queue, d.seq) {
			s.queue, m.back = append(s.queue, d.seq), true
		}
		return
	case 6:
		delay := int64(300+s.r.IntN(2000)) * 1000
		s.line("knows naked %s delay=%s", of, us(delay))
		if d.held = false; p != nil && cseq > s.floorC {
			s.queue = slices.DeleteFunc(s.queue, func(q uint64) bool { return q == d.seq })
			p.ts, s.moved, m.back = s.now-s.cfg.wait+delay, s.now+80, true
		}
		return
	}
	if d.held = false; !m.gone {
		m.acceptedAt = s.now
		s.remove(d.seq)
	}
}

// poll tells what is known by now, and asks.
func (s *simulated) poll(restart bool) {
	s.looked = true
	s.upTo = max(s.upTo, s.now-int64(s.r.IntN(pick(s.r, 1, 100, 1000)))*1000)
	for ; s.told < len(s.lines) && s.lines[s.told].at <= s.upTo; s.told++ {
		s.script = append(s.script, s.lines[s.told].text)
	}
	redelivered := len(s.rdc)
	if s.cfg.max == 1 {
		redelivered = 0
	}
	if restart {
		s.script = append(s.script, "starts-again")
	}
	c := fmt.Sprintf("consumer a-task-worker max_ack_pending=%d max_deliver=%d ack_wait=%s floor=%d/%d delivered=%d/%d pending=%d redelivered=%d num_pending=%d",
		s.cfg.hands, s.cfg.max, us(s.cfg.wait), s.floorC, s.floorS, s.cseq, s.seq, len(s.pending), redelivered, s.last-s.seq)
	if s.moved > 0 {
		c += " last=" + us(s.moved)
	}
	s.script = append(s.script, c, "stored-up-to "+us(s.upTo), "poll "+us(s.now))
}

// alive reports whether a worker has the message, and the broker waits for it.
func (s *simulated) alive(seq uint64) bool {
	p, held := s.pending[seq]
	return held && !s.messages[seq].back && s.now-p.ts < s.cfg.wait && !slices.Contains(s.queue, seq)
}

// over reports whether no attempt is left.
func (s *simulated) over(seq uint64) bool {
	return !s.alive(seq) && (s.messages[seq].usedUp || s.cfg.max > 0 && s.messages[seq].given >= s.cfg.max)
}

// untruth is what is wrong with an event that is said now; empty for nothing.
func (s *simulated) untruth(e lifecycle.Event) string {
	seq := e.Message.Seq
	m := s.messages[seq]
	if m == nil {
		return "no such message"
	}
	at := e.At.Sub(t0).Microseconds()
	if e.ConsumerSeq > 0 {
		d := s.deliveries[e.ConsumerSeq]
		switch {
		case d == nil:
			return "no such delivery"
		case d.seq != seq:
			return fmt.Sprintf("that was a delivery of %d", d.seq)
		case e.Detail.Exact && d.at != at:
			return fmt.Sprintf("that delivery was at %s", us(d.at))
		case is(e, lifecycle.Delivered, lifecycle.AttemptUnanswered) && d.at > at:
			return fmt.Sprintf("that delivery was later, at %s", us(d.at))
		case e.Attempt > d.n:
			return fmt.Sprintf("that was attempt %d", d.n)
		}
	}
	switch e.Kind {
	case lifecycle.Delivered, lifecycle.AttemptUnanswered:
		if m.given < max(1, e.Attempt) {
			return fmt.Sprintf("it was delivered %d times", m.given)
		}
	case lifecycle.LeaseExpired:
		if e.Attempt > m.given || e.Attempt == m.given && s.alive(seq) {
			return "its worker has it"
		}
	case lifecycle.PresumedDead:
		if !s.over(seq) {
			return "an attempt is left, or at work"
		}
	case lifecycle.MaxDeliveries:
		if !m.usedUp {
			return "its attempts are not used up"
		}
	case lifecycle.Vanished:
		switch {
		case !m.gone:
			return "it is in the stream"
		case e.Detail.Undelivered && m.given > 0:
			return "it was delivered"
		case e.Detail.Removal == lifecycle.RemovedByOperator && !m.operator:
			return "nobody deleted it"
		}
	case lifecycle.Stranded:
		if _, held := s.pending[seq]; held || seq > s.seq || m.gone {
			return "its consumer has it"
		}
	case lifecycle.AckRefuted:
		if m.acceptedAt > 0 {
			return "its answer was accepted"
		}
	case lifecycle.ExhaustionDenied:
		if m.usedUp {
			return "the broker said so"
		}
	}
	return ""
}

func is(e lifecycle.Event, kinds ...lifecycle.Kind) bool { return slices.Contains(kinds, e.Kind) }

// misjudged is what is wrong with the state of a message; empty for nothing.
func (s *simulated) misjudged(w *world) string {
	for seq := range s.messages {
		f, known := w.facts[lifecycle.MessageKey{Stream: tasks, Seq: seq}]
		if !known {
			continue
		}
		state := lifecycle.Judge(f, lifecycle.TaskFacts{}).State
		if s.alive(seq) && slices.Contains([]lifecycle.State{lifecycle.StateExhausted, lifecycle.StateCompleted, lifecycle.StateRemoved, lifecycle.StateTerminated}, state) {
			return fmt.Sprintf("%d is %s, and its worker has it", seq, state)
		}
	}
	return ""
}

var (
	simulations     = flag.Int("simulations", 1000, "how many simulated brokers are played")
	firstSimulation = flag.Uint64("first-simulation", 0, "the seed of the first one")
)

// TestASimulatedBrokerIsToldTruthfully plays random consumers.
func TestASimulatedBrokerIsToldTruthfully(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := *firstSimulation; seed < *firstSimulation+uint64(*simulations); seed++ {
		if story := playSimulated(t, seed); story != "" {
			if found++; found <= 3 {
				t.Errorf("seed %d: %s", seed, story)
			}
		}
	}
	t.Logf("%d untruths", found)
}

func playSimulated(t *testing.T, seed uint64) string {
	s := newSimulated(rand.New(rand.NewPCG(seed, 1)))
	w, state, said := newWorld(), NewState(nil), &strings.Builder{}
	played := 0
	look := func() string {
		s.poll(s.r.IntN(12) == 0)
		for _, line := range s.script[played:] {
			if line == "starts-again" {
				state = NewState(w.consumersStored())
				continue
			}
			if _, err := w.apply(line); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		played = len(s.script)
		for range 4 {
			next, batch := stepAll(t, w, state, inOrder{})
			state = next
			w.store(t, batch)
			for _, e := range batch.Events {
				fmt.Fprintf(said, "%s  %s\n", us(s.now), describe(e))
				if wrong := s.untruth(e); wrong != "" {
					return describe(e) + ": " + wrong
				}
			}
		}
		return s.misjudged(w)
	}
	begins := int64(s.r.IntN(6_000_000))
	for next := begins; s.now < 14_000_000; {
		s.tick(int64(20+s.r.IntN(400)) * 1000)
		switch n := s.r.IntN(20); {
		case n < 3 && s.last < 6:
			s.publish()
		case n < 9:
			s.pull()
		case n < 17:
			s.answer()
		case n == 17 && s.last > 0:
			if seq := 1 + uint64(s.r.IntN(int(s.last))); s.r.IntN(3) == 0 && !s.messages[seq].gone {
				s.messages[seq].operator = true
				s.remove(seq)
			}
		case n == 18 && s.r.IntN(3) == 0 && s.looked:
			s.configure()
			s.looked = false
		}
		if s.now >= next {
			if wrong := look(); wrong != "" {
				return wrong + "\n" + strings.Join(s.script, "\n") + "\n---\n" + said.String() + s.truth()
			}
			next = s.now + int64(200+s.r.IntN(pick(s.r, 100, 3000)))*1000
		}
	}
	return ""
}

// truth is what really happened.
func (s *simulated) truth() string {
	b := &strings.Builder{}
	for _, cseq := range slices.SortedFunc(maps.Keys(s.deliveries), cmp.Compare[uint64]) {
		d := s.deliveries[cseq]
		fmt.Fprintf(b, "delivery %d: %d, attempt %d at %s\n", cseq, d.seq, d.n, time.Duration(d.at)*time.Microsecond)
	}
	return b.String()
}
