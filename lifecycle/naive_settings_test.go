package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// nak is how the current attempt was handed back.
type nak struct {
	at    time.Duration
	delay time.Duration // Zero: the next free worker gets it.
	under time.Duration // The consumer's first wait at that time, with which the broker counts a delay.
	doubt bool          // The consumer's waits were changed since, so that nobody who does not know the former ones can tell when the delay is over.
}

// firstWait is the ack wait of the consumer as the broker keeps it: a backoff sets it to its first step.
func (g *grip) firstWait() time.Duration {
	if len(g.consumer.Backoff) > 0 {
		return g.consumer.Backoff[0]
	}
	return g.consumer.AckWait
}

// handBack ends the attempt. The broker keeps a delay as a wait that began so much earlier that the rest of it is the delay, by the consumer's first wait.
func (g *grip) handBack(r *rand.Rand, at time.Duration) {
	g.naked, g.nak = true, nak{at: at, delay: time.Duration(r.IntN(3)) * 4 * time.Second, under: g.firstWait()}
	g.setDue()
	g.lines = append(g.lines, fmt.Sprintf("naked %s seq=1 n=%d cseq=%d delay=%s", at, g.attempt, g.attempt, g.nak.delay))
	g.known = true
	g.sign(g.attempt, true)
}

func (g *grip) setDue() {
	if g.due = g.nak.at; g.nak.delay > 0 {
		g.due += g.nak.delay + g.wait() - g.nak.under
	}
}

// waits reports whether the message is there for whoever asks next, unless its attempts are used up.
func (g *grip) waits(at time.Duration) bool {
	return !g.dropped && ((g.naked && at >= g.due) || (!g.naked && at > g.deadline))
}

// pull is a worker that asks. A paused consumer gives nothing; one whose attempts are used up drops the message, says so, and never gives it again.
func (g *grip) pull(r *rand.Rand, at time.Duration) {
	switch {
	case g.consumer.Paused:
	case g.attempt == 0 || g.left():
		g.deliver(r, at)
	default:
		g.dropped, g.known = true, true
		g.sign(g.attempt, true)
		g.lines = append(g.lines, fmt.Sprintf("max_deliveries %s seq=1 n=%d", at, g.attempt))
	}
}

// configure changes the consumer while a message may be in hand. What has not run out lasts as long as is in force now, counted from where it began; what has
// run out stays due; what was dropped stays dropped.
func (g *grip) configure(r *rand.Rand, at time.Duration) {
	due := g.attempt > 0 && g.waits(at)
	if due && !g.naked && !g.clear {
		return // What a synchronizer concludes that did not see every line is another matter.
	}
	g.conclude(due, at)
	waits := true
	switch c := &g.consumer; r.IntN(3) {
	case 0:
		c.AckWait = pick(r, 30*time.Second, 2*time.Minute, 10*time.Minute)
	case 1:
		c.MaxDeliver, waits = pick(r, 0, 2, 3, 5), false
	case 2:
		c.Backoff = pick(r, nil, []time.Duration{10 * time.Second, 20 * time.Second}, []time.Duration{time.Minute})
	}
	if waits {
		g.consumer.WaitsSince, g.nak.doubt = base.Add(at), g.naked && g.nak.delay > 0
	}
	switch {
	case g.attempt == 0 || due || g.dropped:
	case g.naked:
		g.setDue()
	default:
		g.deadline = max(g.basis+g.wait(), at) // The broker did not look by the new wait before.
	}
	g.conclude(due, at+time.Millisecond)
}

// conclude is what the synchronizer says of a message that waits to be given again: before and after a change, at which another conclusion takes the place of the
// first. Of one that was handed back it says only whether an attempt is left.
func (g *grip) conclude(due bool, at time.Duration) {
	kind, basis, deadline := map[bool]string{true: "lease_expired", false: "presumed_dead"}[g.left()], g.basis, g.deadline
	if g.naked {
		basis, deadline = g.nak.at, g.nak.at
	}
	if !due || (g.naked && g.left() && !g.dead) {
		return
	}
	g.dead = !g.left()
	g.sign(g.attempt, true)
	g.lines = append(g.lines, fmt.Sprintf("%s %s seq=1 n=%d cseq=%d basis=%s deadline=%s judged=%s", kind, deadline, g.attempt, g.attempt, basis, deadline, at))
}

// returned compares what is said of a message that was handed back, or that the broker dropped.
func (g *grip) returned(l Lease, ok bool) string {
	next := map[bool]string{true: "redelivery", false: "exhaustion"}[g.left()]
	if g.dead || g.dropped {
		next = "dead_letter"
	}
	due := next == "redelivery" && g.now >= g.due
	switch {
	case l.Next.What != next, l.Stale != "", ok && !due, due && !ok && !g.nak.doubt:
		return fmt.Sprintf("handed back, due at %s, dropped %v: held %v, stale %q, next %s", g.due, g.dropped, ok, l.Stale, l.Next.What)
	case next == "redelivery" && l.Next.At.Known() && l.Next.At.Sub(base) != g.due:
		return fmt.Sprintf("handed back, due at %s, said to be due at %s", g.due, l.Next.At.Sub(base))
	}
	return ""
}

// misled is what the state and the answers say that must not be said of the message; empty where nothing is.
func (g *grip) misled(t Trace) string {
	state, words := t.Messages[0].Verdict.State, t.Answers.Ownership.Text+" "+t.Answers.Recovery.Headline+" "+t.Answers.Recovery.Text
	if g.clear && !slices.Contains(g.states(), state) {
		return fmt.Sprintf("its state is %s, may be %v", state, g.states())
	}
	for phrase, why := range g.unsayable() {
		if strings.Contains(words, phrase) {
			return fmt.Sprintf("%q is said, %s: %s", phrase, why, words)
		}
	}
	idle := g.attempt == 0 || (g.left() && !g.dropped)
	if g.clear && g.consumer.Paused && idle && !strings.Contains(words, "paused") {
		return "its consumer is paused, and nobody says so: " + words
	}
	return ""
}

// states are those that may be said where every line was seen.
func (g *grip) states() []State {
	switch {
	case g.dropped || g.dead:
		return []State{StateExhausted}
	case g.attempt == 0:
		return []State{StatePublished}
	case g.naked:
		return []State{StateFailed}
	case g.now > g.deadline: // Nobody may have concluded it yet.
		return []State{StateFailed, StateRedelivered, StateDelivered, StateProcessing}
	case g.attempt > 1:
		return []State{StateRedelivered}
	}
	return []State{StateDelivered, StateProcessing}
}

// unsayable are phrases that the broker contradicts, and why.
func (g *grip) unsayable() map[string]string {
	out := map[string]string{}
	because := func(holds bool, why string, phrases ...string) {
		for _, p := range phrases {
			if holds {
				out[p] = why
			}
		}
	}
	because(g.consumer.Paused, "and its consumer is paused", "next free worker", "broker delivers it again")
	because(g.clear && g.dropped, "and the broker dropped it", "next free worker", "delivers it again", "waits until consumer")
	because(g.clear && g.left() && !g.dropped, "and an attempt is left", "No attempt is left", "last attempt")
	because(g.clear && g.naked && !g.dropped && g.now < g.due, "and its delay is not over", "Due since")
	because(g.clear && !g.naked && g.attempt > 0 && g.now <= g.deadline, "and its deadline is to come", "Due since")
	if top := g.consumer.MaxDeliver; top > 0 {
		for n := top + 1; n <= g.attempt; n++ {
			because(true, "and no such attempt is allowed", fmt.Sprintf("attempt %d of %d", n, top))
		}
		because(g.dropped && g.clear && g.attempt < top, "and the broker dropped it", fmt.Sprintf("attempt %d of %d", g.attempt, top))
	}
	return out
}
