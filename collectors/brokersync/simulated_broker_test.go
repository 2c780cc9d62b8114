package brokersync

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// simBroker counts as nats-server does: getNextMsg, checkPending, processAckMsg, processNak and progressUpdate of its consumers, UpdateDelivered and UpdateAcks of its file
// store. Times count from the beginning.
type simBroker struct {
	r        *rand.Rand
	now      time.Duration
	messages map[uint64]*simMessage
	last     uint64
	most     int  // Messages that the stream keeps of the subject; zero for no limit.
	kept     bool // The stream keeps its messages: it is no work queue.
	simConsumer
	former []*simDelivery // Of consumers of the same name that lived before.

	script    []string      // What a scenario file says of it all.
	lines     []simLine     // Captured lines, and
	told      int           // so many are stored.
	stored    time.Duration // All lines up to then are.
	restarted bool          // It started again.
	seen      bool          // Somebody looked at it.
	looked    bool          // Since the consumer was changed last.
}

// simConsumer is the living consumer.
type simConsumer struct {
	created    time.Duration
	max, hands int
	wait       time.Duration
	backoff    []time.Duration
	deliveries map[uint64]*simDelivery // By consumer sequence.
	cseq, seq  uint64                  // The last of each that was delivered.
	floorC     uint64
	floorS     uint64
	pending    map[uint64]*simPending
	again      map[uint64]int // How often each message was delivered again.
	queue      []uint64       // To be delivered again.
	moved      time.Duration  // What the broker tells as the time of the last delivery; zero for none.
}

// simMessage is what really became of a message.
type simMessage struct {
	at       time.Duration
	gone     bool
	operator bool // Somebody deleted it.
	limited  bool // A limit of the stream removed it.
	accepted bool // An answer did.
	given    int  // How often it was delivered, by whichever consumer.
	attempts int  // By the living one.
	usedUp   bool // The broker said so, of the living one.
	wasUsed  bool // It said so, of whichever.
	back     bool // Its worker handed it back, and nobody has it since.
	late     bool // Its lease ran out, and nobody was given it since.
}

// simDelivery is one delivery. Its worker has done with it when it answered.
type simDelivery struct {
	cseq, seq uint64
	n         int
	at        time.Duration
	done      bool
}

type simPending struct {
	cseq uint64 // Of its first delivery.
	from time.Duration
}

type simLine struct {
	at   time.Duration
	text string
}

// noted is how long after a line is captured the broker has noted what it says.
const noted = 80 * time.Microsecond

func newSimBroker(r *rand.Rand) *simBroker {
	b := &simBroker{r: r, messages: map[uint64]*simMessage{}, most: pick(r, 0, 0, 0, 2), kept: r.IntN(3) == 0}
	b.simConsumer = newSimConsumer(-time.Hour)
	b.configure()
	b.script = append(b.script, fmt.Sprintf("stream max_per_subject=%d", b.most))
	if b.kept {
		b.script = append(b.script, "stream kept")
	}
	return b
}

func newSimConsumer(created time.Duration) simConsumer {
	return simConsumer{created: created, deliveries: map[uint64]*simDelivery{}, pending: map[uint64]*simPending{}, again: map[uint64]int{}}
}

// change changes the consumer. Nobody can know of two changes between two looks. Before the first look it allows fewer attempts, each with more time: what else nobody can
// know of is a limit of docs/situations.md.
func (b *simBroker) change() {
	switch {
	case b.looked:
		b.looked = false
		b.configure()
	case !b.seen:
		b.wait, b.backoff = b.wait+b.upTo(2000, 0), nil
		if b.max <= 0 || b.max > 2 {
			b.max = 2
		}
	}
}

func (b *simBroker) configure() {
	b.max, b.hands, b.backoff = pick(b.r, 1, 2, 3, 3, 5, 0), pick(b.r, 1, 1, 2, 3, 10), nil
	b.wait = pick(b.r, 800*time.Millisecond, time.Second, 2*time.Second, 4*time.Second)
	if b.r.IntN(4) == 0 && b.max != 1 {
		b.backoff = []time.Duration{b.wait, pick(b.r, 500*time.Millisecond, 1500*time.Millisecond, 3*time.Second)}
	}
}

// waitOf is how long the broker waits for an answer.
func (b *simBroker) waitOf(seq uint64) time.Duration {
	if len(b.backoff) == 0 {
		return b.wait
	}
	return b.backoff[min(b.again[seq], len(b.backoff)-1)]
}

// acts lets some time pass, and somebody do something.
func (b *simBroker) acts() {
	b.passes(b.upTo(400, 20))
	switch n := b.r.IntN(200); {
	case n < 30 && b.last < 6:
		b.publish()
	case n < 90:
		b.pull()
	case n < 170:
		b.answer()
	case n < 176 && b.last > 0:
		if seq := 1 + uint64(b.r.IntN(int(b.last))); !b.messages[seq].gone {
			b.messages[seq].operator = true
			b.remove(seq)
		}
	case n < 180:
		b.change()
	case n < 183:
		b.recreate()
	case n < 185:
		b.restart()
	}
}

// passes lets time pass, and the broker's timer look.
func (b *simBroker) passes(d time.Duration) {
	for end := b.now + d; b.now < end; {
		b.now = min(b.now+5*time.Millisecond, end)
		for _, seq := range slices.Sorted(maps.Keys(b.pending)) {
			if b.now-b.pending[seq].from < b.waitOf(seq) || slices.Contains(b.queue, seq) {
				continue
			}
			b.messages[seq].late = true
			if n := max(1, b.again[seq]); b.max > 0 && n >= b.max {
				b.useUp(seq, b.again[seq]+1)
				b.again[seq] = n
				continue
			}
			b.queue = append(b.queue, seq)
		}
	}
}

// useUp drops a message whose attempts are used up.
func (b *simBroker) useUp(seq uint64, n int) {
	b.messages[seq].usedUp, b.messages[seq].wasUsed = true, true
	b.line("knows exhaustion_said %d %s n=%d consumer=a-task-worker", seq, short(b.now), n)
	delete(b.pending, seq)
	b.moved = b.now + noted
}

// publish stores a message. Its line may be lost.
func (b *simBroker) publish() {
	b.last++
	b.messages[b.last] = &simMessage{at: b.now}
	b.script = append(b.script, fmt.Sprintf("message %d at=%s lost", b.last, short(b.now)))
	if b.r.IntN(10) > 0 {
		b.line("captured %d", b.last)
	}
	left := slices.DeleteFunc(slices.Sorted(maps.Keys(b.messages)), func(seq uint64) bool { return b.messages[seq].gone })
	if b.most > 0 && len(left) > b.most {
		b.messages[left[0]].limited = true
		b.remove(left[0])
	}
}

// pull is one question of a worker.
func (b *simBroker) pull() {
	for len(b.queue) > 0 {
		seq := b.queue[0]
		b.queue = b.queue[1:]
		if b.again[seq]++; b.max > 0 && b.again[seq]+1 > b.max {
			b.useUp(seq, b.again[seq])
			continue
		}
		b.deliver(seq)
		return
	}
	for len(b.pending) < b.hands && b.seq < b.last {
		if b.seq++; !b.messages[b.seq].gone {
			b.deliver(b.seq)
			return
		}
	}
}

func (b *simBroker) deliver(seq uint64) {
	m := b.messages[seq]
	m.given, m.attempts, m.back, m.late = m.given+1, m.attempts+1, false, false
	b.cseq, b.moved = b.cseq+1, b.now
	b.deliveries[b.cseq] = &simDelivery{cseq: b.cseq, seq: seq, n: b.again[seq] + 1, at: b.now}
	if p, known := b.pending[seq]; known {
		p.from = b.now
	} else {
		b.pending[seq] = &simPending{b.cseq, b.now}
	}
}

// remove takes a message out of the stream that no answer removes. The broker says so if a worker had it.
func (b *simBroker) remove(seq uint64) {
	b.goes(seq)
	if p, held := b.pending[seq]; held {
		if n := max(1, b.again[seq]); n > 1 {
			b.line("knows term_confirmed %d %s n=%d consumer=a-task-worker deleted", seq, short(b.now), n)
		} else {
			b.line("knows term_confirmed %d %s n=1 cseq=%d consumer=a-task-worker deleted", seq, short(b.now), p.cseq)
		}
	}
	b.settle(seq)
}

func (b *simBroker) goes(seq uint64) {
	b.messages[seq].gone = true
	b.script = append(b.script, fmt.Sprintf("gone %d", seq))
}

// settle has the consumer done with a message.
func (b *simBroker) settle(seq uint64) {
	p, held := b.pending[seq]
	delete(b.again, seq)
	b.queue = slices.DeleteFunc(b.queue, func(q uint64) bool { return q == seq })
	if !held {
		return
	}
	delete(b.pending, seq)
	switch {
	case len(b.pending) == 0:
		b.floorC, b.floorS = b.cseq, b.seq
	case p.cseq == b.floorC+1:
		b.floorC, b.floorS = p.cseq, seq
		for next := seq + 1; next <= b.seq; next++ {
			if o, ok := b.pending[next]; ok {
				b.floorC, b.floorS = o.cseq-1, next-1
				break
			}
		}
	}
}

// answer is what a worker does with a delivery that it has, or had.
func (b *simBroker) answer() {
	var open []*simDelivery
	for _, d := range append(slices.Clone(b.former), slices.Collect(maps.Values(b.deliveries))...) {
		if !d.done {
			open = append(open, d)
		}
	}
	slices.SortFunc(open, func(x, y *simDelivery) int { return int(x.at - y.at) })
	if len(open) == 0 {
		return
	}
	d := open[max(0, len(open)-1-b.r.IntN(3))]
	of := fmt.Sprintf("%d %s n=%d cseq=%d consumer=a-task-worker", d.seq, short(b.now), d.n, d.cseq)
	if slices.Contains(b.former, d) {
		if d.seq <= b.seq && d.cseq <= b.cseq {
			return // Nothing tells it from an answer to the living consumer.
		}
		of += " former said=" + short(b.messages[d.seq].at)
	}
	switch b.r.IntN(7) {
	case 0, 1, 2:
		b.line("knows heartbeat %s", of)
		if p := b.pending[d.seq]; p != nil {
			p.from, b.moved = b.now, b.now+noted
		}
	case 3:
		b.line("knows acked %s", of)
		b.ends(d)
	case 4:
		b.line("knows terminated %s", of)
		b.line("knows term_confirmed %s", of)
		b.ends(d)
	case 5:
		b.line("knows naked %s", of)
		b.handsBack(d, 0)
	case 6:
		delay := b.upTo(2000, 300)
		b.line("knows naked %s delay=%s", of, short(delay))
		b.handsBack(d, delay)
	}
}

// ends carries out an answer that ends a message.
func (b *simBroker) ends(d *simDelivery) {
	d.done = true
	if m := b.messages[d.seq]; !m.gone && d.seq <= b.seq {
		m.accepted = true
		if !b.kept {
			b.goes(d.seq)
		}
		b.settle(d.seq)
	}
}

// handsBack carries out a nak.
func (b *simBroker) handsBack(d *simDelivery, delay time.Duration) {
	d.done = true
	p := b.pending[d.seq]
	if p == nil || d.cseq <= b.floorC || d.cseq > b.cseq {
		return
	}
	b.messages[d.seq].back = true
	if delay == 0 {
		if !slices.Contains(b.queue, d.seq) {
			b.queue = append(b.queue, d.seq)
		}
		return
	}
	b.queue = slices.DeleteFunc(b.queue, func(q uint64) bool { return q == d.seq })
	p.from, b.moved = b.now-b.wait+delay, b.now+noted
}

// recreate deletes the consumer, and makes it again.
func (b *simBroker) recreate() {
	if b.r.IntN(3) > 0 || b.seen && !b.looked {
		return
	}
	b.looked = false
	b.former = append(b.former, slices.Collect(maps.Values(b.deliveries))...)
	old := b.simConsumer
	b.simConsumer = newSimConsumer(b.now)
	b.max, b.hands, b.wait, b.backoff = old.max, old.hands, old.wait, old.backoff
	for _, m := range b.messages {
		m.attempts, m.back, m.usedUp = 0, false, false
	}
	b.script = append(b.script, "deleted a-task-worker "+short(b.now))
}

// restart is one of the broker: it keeps times in whole seconds, and forgets what it was about to deliver again, and when it delivered.
func (b *simBroker) restart() {
	for _, p := range b.pending {
		p.from = p.from.Truncate(time.Second)
	}
	b.queue, b.moved, b.restarted = nil, 0, true
	b.script = append(b.script, "broker-starts-again")
}

// poll says what is stored by now, and how the broker is.
func (b *simBroker) poll() {
	b.seen, b.looked = true, true
	b.stored = max(b.stored, b.now-b.upTo(pick(b.r, 1, 100, 1000), 0))
	for ; b.told < len(b.lines) && b.lines[b.told].at <= b.stored; b.told++ {
		b.script = append(b.script, b.lines[b.told].text)
	}
	if b.r.IntN(12) == 0 {
		b.script = append(b.script, "starts-again")
	}
	redelivered := len(b.again)
	if b.max == 1 {
		redelivered = 0
	}
	c := fmt.Sprintf("consumer a-task-worker created=%s max_ack_pending=%d max_deliver=%d ack_wait=%s floor=%d/%d delivered=%d/%d pending=%d redelivered=%d num_pending=%d",
		short(b.created), b.hands, b.max, short(b.wait), b.floorC, b.floorS, b.cseq, b.seq, len(b.pending), redelivered, b.last-b.seq)
	if b.moved > 0 {
		c += " last=" + short(b.moved)
	}
	if len(b.backoff) > 0 {
		c += fmt.Sprintf(" backoff=%s,%s", short(b.backoff[0]), short(b.backoff[1]))
	}
	b.script = append(b.script, c, "stored-up-to "+short(b.stored), "poll "+short(b.now))
}

func (b *simBroker) line(format string, args ...any) {
	b.lines = append(b.lines, simLine{b.now, fmt.Sprintf(format, args...)})
}

// upTo is some time between a least one and more, in milliseconds.
func (b *simBroker) upTo(ms, least int) time.Duration {
	return time.Duration(least+b.r.IntN(ms)) * time.Millisecond
}

func short(d time.Duration) string { return fmt.Sprintf("%dus", d.Microseconds()) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
