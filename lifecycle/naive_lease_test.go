package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// grip is the lease of one message as its broker keeps it, and what it did: it counts from the last delivery, or from the last heartbeat of any attempt that came
// before the deadline, and lasts as long as the current attempt may.
type grip struct {
	consumer ConsumerState
	typical  Typical
	now      time.Duration
	clear    bool // Every line was seen, and the broker's time of every delivery.
	lines    []string
	dated    bool // The broker's time of the current delivery was seen, and of those before it.
	known    bool // Any line of the current attempt was seen.

	attempt  int
	began    time.Duration
	basis    time.Duration
	deadline time.Duration
	beat     time.Duration // The last heartbeat that extended it; zero for none.
	sender   int           // Whose that was.
	own      bool          // The current attempt sent a heartbeat that was in time.
	older    bool          // An older attempt sent one after the current began.
	overtook bool          // An older attempt sent one after any newer began.
	naked    bool
	due      time.Duration // When it is to be delivered again after it was handed back.
	nak      nak
	dropped  bool // The broker dropped it: its attempts were used up when somebody asked.
	claimed  bool // As reported of the current attempt.
	accepted bool
	sent     map[int][]time.Duration // All heartbeats, by attempt.
	dead     bool                    // It was concluded that no attempt is left.
	lives    int                     // How often its consumer was created anew.

	signs  map[int]bool // Attempts of the living consumer that left a sign; true where it says the number.
	claims map[int]bool // Attempts that only its agent reports to have begun.
}

// told is the number that the signs of attempts give the last of them. What an agent reports counts where at most one attempt before it left no sign but reports.
func (g *grip) told() int {
	n := 0
	for a := 1; a <= g.attempt; a++ {
		if numbered, seen := g.signs[a]; numbered {
			n = a
		} else if seen {
			n++
		}
	}
	told := n
	for a := range g.claims {
		if g.claims[a] && a <= n+2 {
			told = max(told, a)
		}
	}
	return told
}

// sign notes a sign of an attempt.
func (g *grip) sign(attempt int, numbered bool) { g.signs[attempt] = g.signs[attempt] || numbered }

func randomGrip(r *rand.Rand) *grip {
	g := &grip{clear: r.IntN(2) == 0, sent: map[int][]time.Duration{}, signs: map[int]bool{}, claims: map[int]bool{}, typical: Typical{P95: pick(r, time.Second, 10*time.Minute), Sample: 100}}
	g.consumer = ConsumerState{Stream: StreamID{Name: "TASKS"}, Name: "marketing-task-worker", AckWait: pick(r, 30*time.Second, 10*time.Minute), MaxDeliver: pick(r, 0, 2, 3, 5)}
	if g.consumer.AckWait < time.Minute && r.IntN(2) == 0 {
		g.consumer.Backoff = []time.Duration{10 * time.Second, 20 * time.Second}
	}
	g.lines = []string{"published 0s seq=1 task=T msgid=T"}
	at := time.Second
	g.deliver(r, at)
	for range r.IntN(16) {
		at += time.Duration(r.Int64N(int64(g.wait()*2/3))).Round(10*time.Millisecond) + 11*time.Millisecond
		g.step(r, at)
	}
	g.now = at + time.Duration(r.Int64N(int64(g.wait()))) + time.Microsecond
	return g
}

// step is one thing that happens at a time.
func (g *grip) step(r *rand.Rand, at time.Duration) {
	switch {
	case r.IntN(12) == 0:
		g.recreate(at)
	case r.IntN(8) == 0:
		g.configure(r, at)
	case r.IntN(12) == 0:
		g.consumer.Paused = !g.consumer.Paused
	case (g.attempt == 0 || g.waits(at)) && r.IntN(2) == 0:
		g.pull(r, at)
	case g.attempt == 0, g.naked, g.dropped:
	case at < g.deadline && r.IntN(8) == 0:
		g.handBack(r, at)
	case r.IntN(4) > 0:
		g.heartbeat(r, 1+r.IntN(g.attempt), at)
	}
}

// recreate deletes the consumer and creates it again under its name: nobody has the message, and its attempts are numbered from one.
func (g *grip) recreate(at time.Duration) {
	g.lives++
	g.attempt, g.began, g.basis, g.deadline, g.beat, g.sender, g.naked, g.known, g.dated = 0, 0, 0, 0, 0, 0, false, false, false
	g.dropped, g.consumer.Paused, g.consumer.WaitsSince = false, false, 0
	g.own, g.older, g.overtook, g.claimed, g.accepted, g.dead = false, false, false, false, false, false
	g.signs, g.claims = map[int]bool{}, map[int]bool{}
	g.consumer.CreatedAt = base.Add(at)
	g.lines = append(g.lines, fmt.Sprintf("consumer_recreated %s seq=1", at))
}

// left reports whether the broker delivers it once more.
func (g *grip) left() bool { return g.consumer.MaxDeliver <= 0 || g.attempt < g.consumer.MaxDeliver }

// wait is how long the current attempt may take: the backoff overrides the ack wait, and its last step is that of all later attempts.
func (g *grip) wait() time.Duration {
	if b := g.consumer.Backoff; len(b) > 0 {
		return b[min(max(g.attempt, 1), len(b))-1]
	}
	return g.consumer.AckWait
}

// line tells a line, unless it was lost.
func (g *grip) line(r *rand.Rand, format string, args ...any) bool {
	seen := g.clear || r.IntN(4) > 0
	if seen {
		g.lines = append(g.lines, fmt.Sprintf(format, args...))
	}
	return seen
}

func (g *grip) deliver(r *rand.Rand, at time.Duration) {
	g.attempt++
	g.began, g.basis, g.deadline = at, at, at+g.wait()
	g.beat, g.sender, g.own, g.older, g.naked, g.claimed, g.accepted, g.dead = 0, 0, false, false, false, false, false, false
	seen := g.line(r, "delivered %s seq=1 cseq=%d exact", at, g.attempt)
	if seen {
		g.sign(g.attempt, false)
	}
	g.dated = seen && (g.attempt == 1 || g.dated) // It has a number where those before it have.
	g.known = false                               // The broker's state numbers no attempt.
	if g.lives == 0 && r.IntN(4) == 0 {           // What agents report of both incarnations under one number is kept together.
		g.claimed = g.line(r, "claimed %s task=T msgid=T n=%d agent=marketing", at+2*time.Millisecond, g.attempt)
		g.accepted = r.IntN(2) == 0 && g.line(r, "accepted %s task=T msgid=T n=%d agent=marketing", at+4*time.Millisecond, g.attempt)
		g.claims[g.attempt] = g.claimed || g.accepted
	}
}

// heartbeat of an attempt extends the lease, whichever it is, while the deadline has not passed. Later it changes nothing.
func (g *grip) heartbeat(r *rand.Rand, of int, at time.Duration) {
	g.sent[of] = append(g.sent[of], at)
	if at <= g.deadline {
		g.beat, g.sender, g.basis, g.deadline = at, of, at, at+g.wait()
		g.own = g.own || of == g.attempt
	}
	g.older = g.older || of < g.attempt
	g.overtook = g.overtook || of < g.attempt
	if g.line(r, "heartbeat %s seq=1 n=%d cseq=%d", at, of, of) {
		g.known = g.known || of == g.attempt
		g.sign(of, true)
	}
}

// stale are the kinds that may be said, the worst that must be said first.
func (g *grip) stale() StaleKind {
	held := g.now - g.began
	switch {
	case g.naked, g.dropped:
		return ""
	case g.now > g.deadline && !g.left():
		return StalePresumedDead
	case g.now > g.deadline:
		return StaleLease
	case g.older:
		return StaleZombie
	case g.own && held > max(3*g.typical.P95, 15*time.Minute):
		return StaleStuck
	case g.claimed && !g.accepted && !g.own && held > time.Minute:
		return StaleWeakAccept
	case g.deadline-g.now < g.wait()/5:
		return StaleExpiring
	}
	return ""
}

// wrong is what the lease says that the broker contradicts; empty where nothing is.
func (g *grip) wrong(l Lease, ok bool) string {
	if g.clear {
		return g.differs(l, ok)
	}
	beat := l.LastBeat.Sub(base)
	g.known = g.known || (g.claims[g.attempt] && g.told() == g.attempt)
	switch {
	case g.known && (l.Attempt != g.attempt):
		return fmt.Sprintf("attempt %d is said, and lines of %d were seen", l.Attempt, g.attempt)
	case g.known && !g.naked && !g.dropped && !ok:
		return "nobody is said to hold it"
	case l.Attempt > g.attempt:
		return fmt.Sprintf("attempt %d is said, and there were %d", l.Attempt, g.attempt)
	case ok && l.Deadline > 0 && l.Attempt == g.attempt && g.dated && l.Deadline.Sub(base) > g.deadline:
		return fmt.Sprintf("the deadline is said to be %s, and it is %s", l.Deadline.Sub(base), g.deadline)
	case l.LastBeat > 0 && !slicesHas(g.sent[l.Sender], beat):
		return fmt.Sprintf("attempt %d is said to have sent a heartbeat at %s", l.Sender, beat)
	case l.Stale == StaleZombie && !g.overtook:
		return "it is called a zombie's, and no older attempt acted after a newer began"
	case (l.Stale == StaleExpiring || l.Stale == StaleLease || l.Stale == StalePresumedDead) && l.Deadline == 0:
		return fmt.Sprintf("it is called %s without a deadline", l.Stale)
	case l.Stale == StaleExpiring && base.Add(g.now) > l.Deadline:
		return "it is called expiring after its deadline"
	}
	return ""
}

func slicesHas(all []time.Duration, one time.Duration) bool {
	for _, d := range all {
		if d == one {
			return true
		}
	}
	return false
}

// differs compares where every line was seen: then all that the broker knows is told.
func (g *grip) differs(l Lease, ok bool) string {
	if g.attempt == 0 {
		if ok || l.Stale != "" || l.Next.What != "delivery" {
			return fmt.Sprintf("nobody has it: held %v, stale %q, next %s", ok, l.Stale, l.Next.What)
		}
		return ""
	}
	if g.naked || g.dropped {
		return g.returned(l, ok)
	}
	next := NextStep{What: map[bool]string{true: "redelivery", false: "exhaustion"}[g.left()], At: base.Add(g.deadline)}
	if g.dead {
		next = NextStep{What: "dead_letter"}
	}
	want := fmt.Sprint(true, g.attempt, g.consumer.MaxDeliver, g.wait(), g.basis, g.deadline, g.beat, g.sender, next, g.stale())
	beat := time.Duration(0)
	if l.LastBeat > 0 {
		beat = l.LastBeat.Sub(base)
	}
	got := fmt.Sprint(ok, l.Attempt, l.MaxDeliver, l.Wait, l.Basis.Sub(base), l.Deadline.Sub(base), beat, l.Sender, l.Next, l.Stale)
	if got != want {
		return "got " + got + ", want " + want
	}
	return ""
}

// The lease against the broker that keeps it.
func TestTheLeaseToldAgainFromTheSpecification(t *testing.T) {
	t.Parallel()
	for i := range Histories(2_000) {
		seed := uint64(2_000_000 + i)
		r := newRand(t, seed)
		g := randomGrip(r)
		r.Shuffle(len(g.lines), func(a, b int) { g.lines[a], g.lines[b] = g.lines[b], g.lines[a] })
		events := parseScenario(t, strings.Join(g.lines, "\n"))
		task := foldAll(batches(events, 1+r.IntN(len(events)))).record("T")
		l, ok := LeaseOf(OpenMessage{Message: task.Messages[0], Task: task.Facts}, &g.consumer, g.typical, At(base.Add(g.now)))
		said := AssembleTrace(TraceInput{Record: task, Consumers: []ConsumerState{g.consumer}, Now: base.Add(g.now)})
		for _, wrong := range []string{g.wrong(l, ok), g.misled(said)} {
			if wrong != "" {
				t.Fatalf("seed %d: at %s: %s\n%s\nby the broker: %+v", seed, g.now, wrong, strings.Join(g.lines, "\n"), *g)
			}
		}
	}
}
