package brokersync

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"fleetglass/fleet"
)

// simBroker is a stream and its consumers, in a broker that counts as nats-server does. Times count from the beginning.
type simBroker struct {
	r         *rand.Rand
	now       time.Duration
	messages  map[uint64]*simMessage
	last      uint64
	most      int           // Messages that the stream keeps of a subject, and
	age       time.Duration // how long it keeps them; zero for no limit.
	pages     string        // How much of it is read at once.
	kept      bool          // The stream keeps its messages: it is no work queue, and several consumers may take the same ones,
	interest  bool          // until each of these is done with them.
	consumers []*simConsumer

	script    []string        // What a scenario file says of it all.
	streams   []*simCapture   // What is captured, and
	blind     time.Duration   // what was from then on was lost,
	until     time.Duration   // until then.
	restarted bool            // It started again.
	seen      bool            // Somebody looked at it,
	seenAt    time.Duration   // first then,
	looked    map[int]bool    // and which replicas did since its limits were changed last.
	looks     []time.Duration // When somebody looked, and
	whole     time.Duration   // when last at a time up to which all lines were stored by then.
	looking   []*simBroker    // As it was during the look at hand.
	replicas  int             // So many look by turns,
	replica   int             // now this one.
}

// simMessage is what really became of a message in its stream.
type simMessage struct {
	agent    string
	at       time.Duration
	gone     bool
	goneAt   time.Duration
	operator bool // Somebody deleted it.
	limited  bool // A limit of the stream removed it.
	aged     bool // It reached the age that the stream allows.
	expired  bool // It reached its own time to live.
	ttl      time.Duration
	lost     bool // No line tells of it.
}

// simCapture is a stream of captured lines.
type simCapture struct {
	name     string
	lines    []simLine
	told     int           // So many of them are stored,
	stored   time.Duration // and all up to then, as its durable says.
	lostTold bool          // That lines were lost is known.
}

type simLine struct {
	at   time.Duration
	text string
	last func() string
}

func newSimBroker(r *rand.Rand) *simBroker {
	b := &simBroker{
		r: r, messages: map[uint64]*simMessage{}, looked: map[int]bool{}, streams: []*simCapture{{name: fleet.CapturePub}, {name: fleet.CaptureAck}, {name: fleet.CaptureEvt}}, most: pick(r, 0, 0, 0, 2), age: pick(r, 0, 0, 0, 3*time.Second, 8*time.Second), kept: r.IntN(3) == 0, replicas: 1 + r.IntN(4)/3,
	}
	b.pages = pick(r, "", "", " page=8", " page=8 walked")
	b.script = append(b.script, b.limits())
	if b.kept {
		b.interest = r.IntN(3) == 0
		b.script = append(b.script, map[bool]string{false: "stream kept", true: "stream interest"}[b.interest])
	}
	if r.IntN(4) == 0 {
		b.blind = b.upTo(10_000, 0)
		b.until = b.blind + b.upTo(3000, 100)
	}
	b.consumer("a-task-worker", "a")
	switch n := r.IntN(4); {
	case n == 0 && b.kept: // It takes the same tasks, which a work queue allows to one.
		b.consumer("b-task-worker", "a")
	case n < 2:
		b.consumer("b-task-worker", "b")
	}
	if b.kept && r.IntN(3) == 0 {
		b.consumer("audit", "ab")
	}
	return b
}

// consumer creates one that takes the tasks of some agents.
func (b *simBroker) consumer(name, agents string) {
	c := &simConsumer{simBroker: b, name: name, agents: agents, forAll: b.r.IntN(8) == 0, looked: map[int]bool{}, counted: map[int][2]uint64{}, simLife: newSimLife(-time.Hour, 1)}
	c.unanswered = b.kept && !c.forAll && b.r.IntN(8) == 0
	c.configure()
	b.consumers = append(b.consumers, c)
}

// acts has somebody do something.
func (b *simBroker) acts() {
	c := pick(b.r, b.consumers...)
	switch n := b.r.IntN(200); {
	case n < 30 && b.last < 6:
		b.publish()
	case n < 90:
		c.pull()
	case n < 170:
		c.answer()
	case n < 176 && b.last > 0:
		if seq := 1 + uint64(b.r.IntN(int(b.last))); !b.messages[seq].gone {
			b.messages[seq].operator = true
			b.remove(seq)
		}
	case n < 177:
		b.purge()
	case n < 180:
		c.change()
	case n < 181:
		c.pause()
	case n < 184 && !c.gone:
		c.recreate()
	case n < 188 && c.gone:
		c.returns()
	case n < 190:
		b.restart()
	case n < 192:
		b.changeLimits()
	case n < 195:
		c.resets()
	}
}

// passes lets time pass, and the broker's timer look.
func (b *simBroker) passes(d time.Duration) {
	for end := b.now + d; b.now < end; {
		b.now = min(b.now+5*time.Millisecond, end)
		for seq := uint64(1); seq <= b.last; seq++ {
			m := b.messages[seq]
			if m.gone {
				continue
			}
			m.aged, m.expired = b.age > 0 && b.now-m.at >= b.age, m.ttl > 0 && b.now-m.at >= m.ttl
			if m.aged || m.expired {
				b.remove(seq)
			}
		}
		for _, c := range b.consumers {
			c.checkPending()
		}
	}
}

// publish stores a message for the agent of some workers' consumer. Its line may be lost.
func (b *simBroker) publish() {
	b.last++
	agents := pick(b.r, b.workers()...).agents
	m := &simMessage{agent: pick(b.r, strings.Split(agents, "")...), at: b.now, ttl: pick(b.r, 0, 0, 0, 0, 2*time.Second, 4*time.Second)}
	b.messages[b.last] = m
	b.script = append(b.script, fmt.Sprintf("message %d at=%s subject=genbrain.agents.%s.tasks.blog ttl=%s lost", b.last, short(b.now), m.agent, short(m.ttl)))
	if b.interest && !slices.ContainsFunc(b.consumers, func(c *simConsumer) bool { return c.needs(b.last) }) {
		m.lost = true
		b.goes(b.last) // It is not kept, and nothing tells of it.
		return
	}
	if m.lost = b.r.IntN(10) == 0 || b.isBlind(); !m.lost {
		b.line(fleet.CapturePub, "captured %d", b.last)
	}
	b.keepsMost(m.agent)
}

// keepsMost drops the oldest messages of an agent that are more than the stream keeps of a subject.
func (b *simBroker) keepsMost(agent string) {
	left := slices.DeleteFunc(slices.Sorted(maps.Keys(b.messages)), func(seq uint64) bool { return b.messages[seq].gone || b.messages[seq].agent != agent })
	for ; b.most > 0 && len(left) > b.most; left = left[1:] {
		m := b.messages[left[0]]
		m.limited, m.aged = true, b.age > 0 && b.now-m.at >= b.age
		b.remove(left[0])
	}
}

// changeLimits changes what the stream keeps. Nobody can know of two changes between two looks.
func (b *simBroker) changeLimits() {
	if b.seen && !b.allLooked(b.looked) {
		return
	}
	clear(b.looked)
	b.most, b.age = pick(b.r, 0, 0, 1, 2), pick(b.r, 0, 0, 3*time.Second, 8*time.Second)
	b.script = append(b.script, b.limits())
	if !b.isBlind() {
		b.script = append(b.script, "updated "+short(b.now))
	}
	for _, agent := range []string{"a", "b"} {
		b.keepsMost(agent)
	}
}

func (b *simBroker) limits() string {
	return fmt.Sprintf("stream max_per_subject=%d max_age=%s", b.most, short(b.age))
}

// workers are the workers' consumers.
func (b *simBroker) workers() []*simConsumer {
	return slices.DeleteFunc(slices.Clone(b.consumers), (*simConsumer).watches)
}

// first is the sequence of the first message that is left, or that will come.
func (b *simBroker) first() uint64 {
	for seq := uint64(1); seq <= b.last; seq++ {
		if !b.messages[seq].gone {
			return seq
		}
	}
	return b.last + 1
}

// remove takes a message out of the stream that no answer removes. The broker says so of each consumer whose worker had it.
func (b *simBroker) remove(seq uint64) {
	b.goes(seq)
	for _, c := range b.consumers {
		c.loses(seq)
	}
}

// purge removes all messages, those of an agent, or those up to one. The broker says nothing of those that workers had.
func (b *simBroker) purge() {
	agents, end := pick(b.r, "a", "b", "ab", "ab"), b.last+1
	if b.last > 0 && agents == "ab" && b.r.IntN(2) == 0 {
		end = 1 + uint64(b.r.IntN(int(b.last)))
	}
	for seq := uint64(1); seq < end; seq++ {
		if m := b.messages[seq]; !m.gone && strings.Contains(agents, m.agent) {
			m.operator = true
			b.goes(seq)
		}
	}
	for _, c := range b.consumers {
		switch {
		case len(agents) == 1 && c.agents == agents:
			c.purged(b.last+1, false)
		case strings.Contains(c.agents, agents):
			c.purged(b.first(), len(agents) == 1)
		case len(agents) > 1:
			c.purged(b.first(), false)
		}
	}
}

// releases drops a message that no consumer needs any more but the given one.
func (b *simBroker) releases(seq uint64, but *simConsumer) {
	needed := slices.ContainsFunc(b.consumers, func(c *simConsumer) bool { return c != but && c.needs(seq) })
	if m := b.messages[seq]; !m.gone && (!b.kept || b.interest && !needed) {
		b.goes(seq)
	}
}

func (b *simBroker) goes(seq uint64) {
	b.messages[seq].gone, b.messages[seq].goneAt = true, b.now
	b.script = append(b.script, fmt.Sprintf("gone %d", seq))
}

// restart is one of the broker: it keeps times in whole seconds, and forgets what it was about to deliver again, and when it delivered.
func (b *simBroker) restart() {
	b.restarted = true
	for _, c := range b.consumers {
		for _, p := range c.pending {
			p.from = p.from.Truncate(time.Second)
		}
		c.queue, c.moved, c.passed = nil, 0, c.seq
	}
	b.script = append(b.script, "broker-starts-again")
}

// poll says how the broker is, and what is stored by then. A look may take so many milliseconds and more, in which the broker goes on.
func (b *simBroker) poll(slow int) {
	if !b.seen {
		b.seen, b.seenAt = true, b.now
	}
	b.looks = append(b.looks, b.now)
	b.looking = []*simBroker{b.clone()}
	for _, c := range b.consumers {
		c.looked[b.replica], c.counted[b.replica] = true, [2]uint64{c.cseq, c.floorC}
		if !c.gone {
			b.script = append(b.script, c.state())
		}
		b.goesOn(slow)
	}
	b.looked[b.replica], b.looking = true, append(b.looking, b.clone())
	b.script = append(b.script, fmt.Sprintf("stream first=%d%s", b.first(), b.pages))
	if slow > 0 {
		b.script = append(b.script, "look "+short(b.now))
	}
	for _, c := range b.streams {
		b.goesOn(slow)
		b.stores(c, slow)
	}
	if began := b.looks[len(b.looks)-1]; b.stored() >= began {
		b.whole = began
	}
	b.goesOn(slow)
	b.script = append(b.script, "poll "+short(b.now))
}

// turn has a replica look next, which may have started again.
func (b *simBroker) turn() {
	if b.replicas > 1 {
		b.replica = b.r.IntN(b.replicas)
		b.script = append(b.script, fmt.Sprintf("replica %d", b.replica))
	}
	if b.r.IntN(12) == 0 {
		b.script = append(b.script, "starts-again")
	}
}

// allLooked reports whether all replicas did.
func (b *simBroker) allLooked(who map[int]bool) bool { return len(who) == b.replicas }

// goesOn lets up to so many milliseconds pass while somebody looks, in which somebody else may do something.
func (b *simBroker) goesOn(ms int) {
	if ms > 0 && b.r.IntN(2) == 0 {
		b.passes(b.upTo(ms, 1))
		b.acts()
		b.looking = append(b.looking, b.clone())
	}
}

// stores stores captured lines, and says up to when all are stored: where a look is slow some more are by the time that they are asked for.
func (b *simBroker) stores(c *simCapture, slow int) {
	c.stored = max(c.stored, b.now-b.upTo(pick(b.r, 1, 100, 1000), 0))
	upTo := c.stored
	if slow > 0 && b.r.IntN(2) == 0 {
		upTo = b.now
	}
	if b.until > 0 && !c.lostTold {
		if c.lostTold = c.stored >= b.until; !c.lostTold { // What was lost is known to be once the first line after it is read.
			c.stored, upTo = min(c.stored, b.blind), min(upTo, b.blind)
		} else if c.name != fleet.CapturePub {
			b.script = append(b.script, "lost "+c.name+" "+short(b.blind)+" "+short(b.until))
		}
	}
	for ; c.told < len(c.lines) && c.lines[c.told].at <= upTo; c.told++ {
		b.script = append(b.script, c.lines[c.told].text+c.lines[c.told].last())
	}
	b.script = append(b.script, "stored-up-to "+short(c.stored)+" "+c.name)
}

// stored is up to when all that was captured is stored.
func (b *simBroker) stored() time.Duration {
	return slices.MinFunc(b.streams, func(x, y *simCapture) int { return cmp.Compare(x.stored, y.stored) }).stored
}

// isBlind reports whether lines are lost now.
func (b *simBroker) isBlind() bool { return b.now >= b.blind && b.now < b.until }

// line captures one in one of the streams.
func (b *simBroker) line(capture, format string, args ...any) {
	b.captures(capture, fmt.Sprintf(format, args...), func() string { return "" })
}

// captures a line whose last word is said as it is stored.
func (b *simBroker) captures(capture, text string, last func() string) {
	if c := b.capture(capture); !b.isBlind() {
		c.lines = append(c.lines, simLine{b.now, text, last})
	}
}

// capture is what is captured in the stream of that name.
func (b *simBroker) capture(name string) *simCapture {
	return b.streams[slices.IndexFunc(b.streams, func(c *simCapture) bool { return c.name == name })]
}

// upTo is some time between a least one and more, in milliseconds.
func (b *simBroker) upTo(ms, least int) time.Duration {
	return time.Duration(least+b.r.IntN(ms)) * time.Millisecond
}

func short(d time.Duration) string { return fmt.Sprintf("%dus", d.Microseconds()) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
