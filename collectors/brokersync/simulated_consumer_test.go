package brokersync

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fleetglass/fleet"
)

// simConsumer counts as a consumer of nats-server does: getNextMsg, checkPending, processAckMsg, processNak and progressUpdate, and UpdateDelivered and UpdateAcks of the
// file store.
type simConsumer struct {
	*simBroker
	name       string
	agents     string // Whose tasks it takes, a letter each.
	forAll     bool   // One answer is for all messages before it.
	unanswered bool   // It awaits no answers, and its workers send none.
	max, hands int
	wait       time.Duration
	backoff    []time.Duration
	former     []*simDelivery    // Of consumers of the same name that lived before.
	looked     map[int]bool      // Which replicas looked at it since it was changed last, and
	counted    map[int][2]uint64 // how many deliveries each saw by then, and of how many the answers.
	gone       bool              // It was deleted, and not created again.
	paused     time.Duration     // Until then.
	changed    time.Duration     // When its waits were changed last.
	widened    time.Duration     // When it came to take what it took not before; zero for never.
	simLife
}

// simLife is what a consumer did since it was created.
type simLife struct {
	created    time.Duration
	reset      time.Duration           // When it began anew; zero for never. Until all replicas looked
	fewer      uint64                  // it delivers fewer messages than this, so that they can see it.
	deliveries map[uint64]*simDelivery // By consumer sequence.
	cseq       uint64                  // The last one.
	seq        uint64                  // The last message that was delivered, and
	passed     uint64                  // the last that it looked at to deliver the next one.
	floorC     uint64
	floorS     uint64
	pending    map[uint64]*simPending
	again      map[uint64]int // How often each message was delivered again.
	queue      []uint64       // To be delivered again.
	moved      time.Duration  // What the broker tells as the time of the last delivery; zero for none.
	shares     map[uint64]*simShare
}

// simShare is what really became of a message in the hands of a consumer's workers.
type simShare struct {
	accepted bool          // An answer ended it, in whichever life.
	acked    bool          // A worker acknowledged it, likewise, whether or not the broker took notice.
	given    int           // How often it was delivered, likewise.
	wasUsed  bool          // The broker said that its attempts are used up, likewise.
	attempts int           // How often it was delivered, in this life.
	usedUp   bool          // The broker said so, likewise, and
	usedAt   time.Duration // when.
	back     bool          // Its worker handed it back, and nobody has it since.
	late     bool          // Its lease ran out, and nobody was given it since.
}

// simDelivery is one delivery. Its worker has done with it when it answered.
type simDelivery struct {
	cseq, seq uint64
	n         int
	at        time.Duration
	done      bool
}

type simPending struct {
	cseq uint64        // Of its first delivery.
	from time.Duration // The broker waits since then,
	set  time.Duration // as it noted then: in whole seconds where it started again since.
}

// waits has the broker wait for an answer since a time.
func (c *simConsumer) waits(seq uint64, from time.Duration) {
	c.pending[seq].from, c.pending[seq].set = from, c.now
}

// noted is how long after a line is captured the broker has noted what it says.
const noted = 80 * time.Microsecond

// newSimLife is that of a consumer that is created while a message is the first of its stream.
func newSimLife(created time.Duration, first uint64) simLife {
	return simLife{created: created, seq: first - 1, passed: first - 1, floorS: first - 1, deliveries: map[uint64]*simDelivery{}, pending: map[uint64]*simPending{}, again: map[uint64]int{}, shares: map[uint64]*simShare{}}
}

// share is what became of a message with this consumer.
func (c *simConsumer) share(seq uint64) *simShare {
	s := c.shares[seq]
	if s == nil {
		s = &simShare{}
		c.shares[seq] = s
	}
	return s
}

// change changes the consumer. Nobody can know of two changes between two looks. Before the first look it allows fewer attempts, each with more time, and other numbers of
// messages in hand: what else nobody can know of is a limit of docs/situations.md.
func (c *simConsumer) change() {
	switch {
	case c.gone:
	case c.allLooked(c.looked) && c.r.IntN(4) == 0:
		c.refilter()
	case c.allLooked(c.looked):
		clear(c.looked)
		c.configure()
		c.changed = c.now
	case !c.seen:
		c.changed = c.now
		c.wait, c.backoff, c.hands = c.wait+c.upTo(2000, 0), nil, pick(c.r, c.hands, 1, 2, 10)
		if c.max <= 0 || c.max > 2 {
			c.max = 2
		}
	}
}

func (c *simConsumer) configure() {
	c.max, c.hands, c.backoff = pick(c.r, 1, 2, 3, 3, 5, 0), pick(c.r, 1, 1, 2, 3, 10), nil
	c.wait = pick(c.r, 800*time.Millisecond, time.Second, 2*time.Second, 4*time.Second)
	if c.r.IntN(4) == 0 && c.max != 1 && !c.unanswered {
		c.backoff = []time.Duration{c.wait, pick(c.r, 500*time.Millisecond, 1500*time.Millisecond, 3*time.Second)}
	}
}

// refilter has it take the tasks of other agents: on a work queue of those that no other takes. What its workers have stays with them.
func (c *simConsumer) refilter() {
	agents := pick(c.r, "a", "b", "ab")
	if c.watches() || !c.mayTake(agents) {
		return
	}
	if !strings.Contains(c.agents, agents) {
		c.widened = c.now
	}
	clear(c.looked)
	c.agents = agents
	c.dropUnneeded()
}

// mayTake reports whether the stream allows the consumer the tasks of some agents: a work queue gives them to one consumer only.
func (c *simConsumer) mayTake(agents string) bool {
	return c.kept || !slices.ContainsFunc(c.consumers, func(o *simConsumer) bool { return o != c && !o.gone && strings.ContainsAny(o.agents, agents) })
}

// dropUnneeded drops what a stream that keeps messages by interest keeps for nobody.
func (b *simBroker) dropUnneeded() {
	for seq := uint64(1); b.interest && seq <= b.last; seq++ {
		b.releases(seq, nil)
	}
}

// watches reports whether it is an auditor's.
func (c *simConsumer) watches() bool { return c.name == "audit" }

// takes reports whether it is given a message.
func (c *simConsumer) takes(seq uint64) bool {
	return strings.Contains(c.agents, c.messages[seq].agent)
}

// waitOf is how long the broker waits for an answer.
func (c *simConsumer) waitOf(seq uint64) time.Duration {
	if len(c.backoff) == 0 {
		return c.wait
	}
	return c.backoff[min(c.again[seq], len(c.backoff)-1)]
}

// checkPending is what the broker's timer does.
func (c *simConsumer) checkPending() {
	for _, seq := range slices.Sorted(maps.Keys(c.pending)) {
		if seq < c.first() || seq <= c.floorS { // It was not told that the message left, for it takes no such messages any more.
			c.floorC, c.floorS = max(c.floorC, c.pending[seq].cseq), max(c.floorS, seq)
			if c.forget(seq); len(c.pending) == 0 {
				c.floorC, c.floorS = c.cseq, c.passed
			}
			continue
		}
		if c.now-c.pending[seq].from < c.waitOf(seq) || slices.Contains(c.queue, seq) {
			continue
		}
		c.share(seq).late = true
		if n := max(1, c.again[seq]); c.max > 0 && n >= c.max {
			c.useUp(seq, c.again[seq]+1)
			c.again[seq] = n
			continue
		}
		c.queue = append(c.queue, seq)
		c.waits(seq, c.now)
	}
}

// useUp drops a message whose attempts are used up.
func (c *simConsumer) useUp(seq uint64, n int) {
	c.share(seq).usedUp, c.share(seq).wasUsed, c.share(seq).usedAt = true, true, c.now
	c.line(fleet.CaptureEvt, "knows exhaustion_said %d %s n=%d %s", seq, short(c.now), n, c.sign())
	delete(c.pending, seq)
	c.moved = c.now + noted
}

// pull is one question of a worker.
func (c *simConsumer) pull() {
	if c.gone || c.now < c.paused || c.fewer > 0 && c.cseq+1 >= c.fewer && !c.allLooked(c.looked) {
		return
	}
	for len(c.queue) > 0 {
		seq := c.queue[0]
		c.queue = c.queue[1:]
		if c.again[seq]++; c.max > 0 && c.again[seq]+1 > c.max {
			c.useUp(seq, c.again[seq])
			continue
		}
		if c.messages[seq].gone {
			c.again[seq]--
			c.drops(seq, c.again[seq]+1)
			continue
		}
		c.deliver(seq)
		return
	}
	for (c.unanswered || len(c.pending) < c.hands) && c.passed < c.last {
		if c.passed++; !c.messages[c.passed].gone && c.takes(c.passed) {
			c.seq = c.passed
			c.deliver(c.seq)
			return
		}
	}
}

func (c *simConsumer) deliver(seq uint64) {
	s := c.share(seq)
	s.given, s.attempts, s.back, s.late = s.given+1, s.attempts+1, false, false
	c.cseq, c.moved = c.cseq+1, c.now
	c.deliveries[c.cseq] = &simDelivery{cseq: c.cseq, seq: seq, n: c.again[seq] + 1, at: c.now}
	if c.unanswered {
		c.floorC, c.floorS = c.cseq, c.seq
		c.releases(seq, c)
		return
	}
	if c.pending[seq] == nil {
		c.pending[seq] = &simPending{cseq: c.cseq}
	}
	c.waits(seq, c.now)
}

// loses is what the consumer does where a message leaves the stream that nobody answered. It learns of those that it takes.
func (c *simConsumer) loses(seq uint64) {
	switch {
	case !c.takes(seq):
	case c.pending[seq] != nil:
		c.drops(seq, max(1, c.again[seq]))
	default:
		c.settle(seq)
	}
}

// drops is what the consumer does with a message that left the stream while a worker had it. The broker says so, and that it was delivered n times.
func (c *simConsumer) drops(seq uint64, n int) {
	p := c.pending[seq]
	if n > 1 {
		c.line(fleet.CaptureEvt, "knows term_confirmed %d %s n=%d %s deleted", seq, short(c.now), n, c.sign())
	} else {
		c.line(fleet.CaptureEvt, "knows term_confirmed %d %s n=1 cseq=%d %s deleted", seq, short(c.now), p.cseq, c.sign())
	}
	if c.forAll {
		c.settleAll(p.cseq, seq)
		return
	}
	c.settle(seq)
}

// purged is what the consumer does where messages were purged, those that it takes and others: it is past all before the first that is left. If it was not, it gives up
// those in hand that are before that, or where only some that it takes were purged those that are gone. It forgets what it was to deliver again, until the wait is over.
func (c *simConsumer) purged(first uint64, some bool) {
	c.passed = max(c.passed, first-1)
	c.seq = c.passed
	if c.floorS < first {
		c.floorS = first - 1
		for seq, p := range c.pending {
			if seq < first || some && c.messages[seq].gone {
				c.floorC = max(c.floorC, p.cseq)
				c.forget(seq)
			}
		}
	}
	if c.queue = nil; len(c.pending) == 0 {
		clear(c.again)
		c.floorC, c.floorS = c.cseq, c.seq
	}
}

// pause has it give nothing out for some time.
func (c *simConsumer) pause() {
	c.paused = c.now + c.upTo(4000, 500)
}

// settle has the consumer done with a message.
func (c *simConsumer) settle(seq uint64) {
	p, held := c.pending[seq]
	c.forget(seq)
	switch {
	case !held:
	case len(c.pending) == 0:
		c.floorC, c.floorS = c.cseq, c.seq
	case p.cseq == c.floorC+1:
		c.floorC, c.floorS = p.cseq, seq
		for next := seq + 1; next <= c.seq; next++ {
			if o, ok := c.pending[next]; ok {
				c.floorC, c.floorS = o.cseq-1, next-1
				break
			}
		}
	}
}

// settleAll has a consumer done with a message and all before it of which one answer is enough.
func (c *simConsumer) settleAll(cseq, seq uint64) {
	for _, q := range slices.Sorted(maps.Keys(c.pending)) {
		if q > seq {
			continue
		}
		c.share(q).accepted = true
		c.forget(q)
		c.releases(q, c)
	}
	c.floorC, c.floorS = cseq, seq
}

// forget drops what the consumer has noted of a message.
func (c *simConsumer) forget(seq uint64) {
	delete(c.pending, seq)
	delete(c.again, seq)
	c.queue = slices.DeleteFunc(c.queue, func(q uint64) bool { return q == seq })
}

// needs reports whether a stream that keeps messages by interest keeps one for this consumer.
func (c *simConsumer) needs(seq uint64) bool {
	return !c.gone && c.takes(seq) && (c.pending[seq] != nil || seq > c.passed || c.again[seq] > 0)
}

// recreate deletes the consumer, and mostly creates it again at once. Before the first look it does so only where it takes the tasks that its name says: which others one took
// that nobody looked at is a limit of docs/situations.md.
func (c *simConsumer) recreate() {
	if c.r.IntN(3) > 0 || c.seen && !c.allLooked(c.looked) || !c.seen && !c.watches() && !strings.HasPrefix(c.name, c.agents) {
		return
	}
	clear(c.looked)
	c.gone = true
	c.dropUnneeded()
	c.former, c.deliveries = c.all(), nil
	clear(c.pending)
	c.script = append(c.script, "no-consumer "+c.name)
	if !c.isBlind() {
		c.script = append(c.script, "deleted "+c.name+" "+short(c.now))
	}
	if c.r.IntN(3) > 0 {
		c.returns()
	}
}

// returns creates the consumer again.
func (c *simConsumer) returns() {
	if !c.mayTake(c.agents) {
		return
	}
	c.gone = false
	c.begins(newSimLife(c.now, c.first()))
}

// begins a life of the consumer.
func (c *simConsumer) begins(life simLife) {
	before := c.shares
	c.simLife = life
	for seq, s := range before {
		c.shares[seq] = &simShare{accepted: s.accepted, acked: s.acked, given: s.given, wasUsed: s.wasUsed}
	}
}

// resets has the consumer begin anew, at a message or after those that are answered. Nobody can know of it before the first look, nor where it delivers as much as it had
// answers to before the next one: both are limits of docs/situations.md.
func (c *simConsumer) resets() {
	if c.gone || !c.allLooked(c.looked) {
		return
	}
	fewer := c.floorC
	for _, saw := range c.counted {
		if saw[0] == 0 {
			return
		}
		fewer = min(fewer, saw[1])
	}
	clear(c.looked)
	c.former = c.all()
	life := newSimLife(c.created, pick(c.r, c.floorS+1, c.floorS+1, 1, 1+uint64(c.r.IntN(int(c.last+1)))))
	life.reset, life.fewer = c.now, max(1, fewer)
	c.begins(life)
	c.dropUnneeded()
}

// all are the deliveries of whichever life, the earliest first.
func (c *simConsumer) all() []*simDelivery {
	out := append(slices.Clone(c.former), slices.Collect(maps.Values(c.deliveries))...)
	slices.SortFunc(out, func(x, y *simDelivery) int { return int(x.at - y.at) })
	return out
}

// alive reports whether a worker has a message, and the broker has always waited for it: one that starts again forgets that a lease ran out.
func (c *simConsumer) alive(seq uint64) bool {
	p, held := c.pending[seq]
	return held && !c.share(seq).back && !c.share(seq).late && c.now-p.from < c.waitOf(seq) && !slices.Contains(c.queue, seq)
}

// sign says whose a captured line is.
func (c *simConsumer) sign() string {
	if c.watches() {
		return "consumer=" + c.name + " watches"
	}
	return "consumer=" + c.name
}

// state is what the broker tells of it, as a scenario file says it.
func (c *simConsumer) state() string {
	redelivered, waiting, hands := len(c.again), 0, c.hands
	if c.max == 1 {
		redelivered = 0
	}
	if c.unanswered { // The broker refuses a number.
		hands = 0
	}
	for seq := c.passed + 1; seq <= c.last; seq++ {
		if !c.messages[seq].gone && c.takes(seq) {
			waiting++
		}
	}
	filters := make([]string, len(c.agents))
	for i, agent := range c.agents {
		filters[i] = fmt.Sprintf("genbrain.agents.%c.tasks.>", agent)
	}
	s := fmt.Sprintf("consumer %s filter=%s created=%s max_ack_pending=%d max_deliver=%d ack_wait=%s floor=%d/%d delivered=%d/%d pending=%d redelivered=%d num_pending=%d seen=%s",
		c.name, strings.Join(filters, ","), short(c.created), hands, c.max, short(c.wait), c.floorC, c.floorS, c.cseq, c.seq, len(c.pending), redelivered, waiting, short(c.now))
	if c.watches() {
		s += " watches"
	}
	if c.forAll {
		s += " for-all"
	}
	if c.unanswered {
		s += " unanswered"
	}
	if c.moved > 0 {
		s += " last=" + short(c.moved)
	}
	if c.now < c.paused {
		s += " paused-until=" + short(c.paused)
	}
	if len(c.backoff) > 0 {
		s += fmt.Sprintf(" backoff=%s,%s", short(c.backoff[0]), short(c.backoff[1]))
	}
	return s
}
