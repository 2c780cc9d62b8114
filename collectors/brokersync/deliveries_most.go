package brokersync

import (
	"time"

	"fleetglass/lifecycle"
)

// mostUnseen is how many deliveries of a message that no line tells of may have happened up to a time: those that are known to be missing, and those for
// which its waits left room. What is not known of a wait counts as over early, so the number is never too small.
func mostUnseen(c Consumer, m lifecycle.MessageFacts, known evidence, until lifecycle.Micros) int {
	n := max(1, m.CurrentAttempt())
	unseen := max(0, n-len(known))
	for next := earliestNext(c, m, n); next.Known() && next <= until; next = next.Add(c.Wait(n)) {
		if c.Wait(n) <= 0 || (c.MaxDeliver > 0 && n >= c.MaxDeliver) {
			break
		}
		unseen, n = unseen+1, n+1
	}
	return unseen
}

// earliestNext is the earliest time at which the broker may have delivered a message again after an attempt; zero where it was never stored.
func earliestNext(c Consumer, m lifecycle.MessageFacts, attempt int) lifecycle.Micros {
	a := attemptOf(m.CurrentLife(), attempt)
	c.Steps = nil // A jump ahead ends a wait early where the broker happens to look.
	l, _ := lifecycle.LeaseOf(lifecycle.OpenMessage{Message: m}, &c.ConsumerState, lifecycle.Typical{}, lifecycle.Moment{})
	switch {
	case a.NakAt.Known() && a.NakAt >= c.Steady && a.LastNakAt <= a.NakAt.Add(captureLagMax) && a.LastBeat <= a.NakAt && l.Next.What == "redelivery":
		return max(a.NakAt, l.Next.At.Add(-delaySlack))
	case a.NakAt.Known():
		return a.NakAt
	case l.Deadline.Known() && (l.BeganExact || l.LastBeat.Known()):
		return l.Deadline
	case m.Stored == nil:
		return 0
	}
	return m.Stored.At.Add(c.Wait(attempt))
}

// lastAnswer is the latest sign of a message's workers.
func lastAnswer(m lifecycle.MessageFacts) (at lifecycle.Micros) {
	for _, a := range m.Attempts {
		at = max(at, lastSign(a))
	}
	return at
}

// delaySlack is how much too early a delay may end: the broker keeps it in whole seconds over a restart.
const delaySlack = 2 * time.Second

// waitsStill reports whether the broker has surely not delivered a message again: all its deliveries are known, and the wait after the last one, which
// did not change since, is not over.
func waitsStill(c Consumer, m lifecycle.MessageFacts, known evidence) bool {
	a := attemptOf(m.CurrentLife(), m.CurrentAttempt())
	return c.Steady.Known() && a.SeenAt >= c.Steady && mostUnseen(c, m, known, c.ObservedAt) == 0
}
