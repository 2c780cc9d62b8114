package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// mostUnseen is how many deliveries of a message that no line tells of may have happened up to a time: those that are known to be missing, and those for
// which its waits left room. What is not known of a wait counts as over early, so the number is never too small.
func mostUnseen(c Consumer, m lifecycle.MessageFacts, known evidence, until lifecycle.Micros) int {
	n, more := max(1, m.CurrentAttempt()), 0
	missing := max(0, n-len(known))
	for next := earliestNext(c, m, n); next.Known() && next <= until && more < int(c.openSpan()); next = next.Add(c.Wait(n)) {
		if allowed := c.allowed(m); c.Wait(n) <= 0 || (allowed > 0 && n >= allowed) {
			break
		}
		more, n = more+1, n+1
	}
	return missing + more
}

// earliestNext is the earliest time at which the broker may have delivered a message again after its latest attempt.
func earliestNext(c Consumer, m lifecycle.MessageFacts, attempt int) lifecycle.Micros {
	a := attemptOf(m.CurrentLife(), attempt)
	c.Steps = nil // A jump ahead ends a wait early where the broker happens to look.
	l, _ := lifecycle.LeaseOf(lifecycle.OpenMessage{Message: m}, &c.ConsumerState, lifecycle.Typical{}, lifecycle.Moment{})
	begun := earliestBegin(c, m, l)
	inTime := a.HandedBackInTime(&c.ConsumerState, begun)
	back := handedBackAfter(m, a)
	switch {
	case inTime && a.NakAt >= c.Steady && a.LastNakAt <= a.NakAt.Add(captureLagMax) && a.LastBeat <= a.NakAt && l.Next.What == "redelivery":
		return max(a.NakAt, l.Next.At.Add(-delaySlack))
	case inTime:
		return a.NakAt
	case back.Known():
		return back
	case begun < c.WaitsSince: // Its wait may have been shorter.
		return begun
	}
	next := begun.Add(c.Wait(attempt))
	if l.Deadline.Known() && (l.BeganExact || l.LastBeat.Known()) && !l.AtLatest {
		next = l.Deadline
	}
	if a.NakAt.Known() {
		next = min(next, a.NakAt) // It may have been handed back in time.
	}
	return next
}

// earliestBegin is the earliest time at which the attempt of a lease may have begun.
func earliestBegin(c Consumer, m lifecycle.MessageFacts, l lifecycle.Lease) lifecycle.Micros {
	switch {
	case l.BeganExact:
		return l.BeganAt
	case m.Stored != nil:
		return max(c.Began(), m.Stored.At)
	}
	return c.Began()
}

// handedBackAfter is when a worker of an earlier attempt handed the message back after an attempt began, so that the broker delivers it again; zero where none did.
func handedBackAfter(m lifecycle.MessageFacts, a lifecycle.AttemptFacts) (back lifecycle.Micros) {
	sign := a.DeliveredAt
	if !sign.Known() {
		sign = a.FirstBeat
	}
	for _, earlier := range m.CurrentLife().Attempts {
		for _, at := range []lifecycle.Micros{earlier.NakAt, earlier.LastNakAt} {
			if earlier.N < a.N && sign.Known() && at >= sign && (!back.Known() || at < back) {
				back = at
			}
		}
	}
	return back
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
// did not change since, is not over. What began before may have been due before its first heartbeat: the broker had another wait, or started again and keeps times in
// whole seconds.
func waitsStill(c Consumer, m lifecycle.MessageFacts, known evidence) bool {
	l, _ := lifecycle.LeaseOf(lifecycle.OpenMessage{Message: m}, &c.ConsumerState, lifecycle.Typical{}, lifecycle.Moment{})
	return c.Steady.Known() && earliestBegin(c, m, l) >= c.Steady && mostUnseen(c, m, known, c.ObservedAt) == 0
}

// unread reports whether publishes were not read yet, from their lines or where those were lost from the stream, of messages that may be among the consumer's open deliveries.
func (v view) unread(c Consumer) bool {
	return c.openSpan() > 1 && c.DeliveredSeq-1 > max(c.FloorSeq, v.Verified)
}

// tellsLater reports whether a later poll, for which they are read, may tell whose each of the open deliveries was.
func (v view) tellsLater(c Consumer) bool { return v.unread(c) && v.Blind == "" }

// left is how many of the open deliveries are of the message in hand, at least and at most: those that no other message can have had, and two where the broker
// delivered it again and they can be of no other. An answer to all may pass the only one of a message that it leaves in hand.
func (f inFlight) left(v view, c Consumer, hand lifecycle.MessageFacts) (least, most uint64) {
	least, most = c.openSpan(), c.openSpan()
	fewest := uint64(1)
	if c.ForAll && !c.single() {
		fewest = 0
	}
	again := c.Redelivered
	for _, m := range slices.Concat(f.messages, f.others) {
		if m.Key == hand.Key {
			continue
		}
		least -= min(least, mostOpen(v, c, m))
		most -= min(most, evidenceOf(m, c).open(c))
		over := answered(m) && !exhausted(m, c) && lastAnswer(m).Add(captureLagMax) <= c.ObservedAt
		if forgotten := over || m.Removal == lifecycle.RemovedByBroker; !forgotten {
			again-- // The broker counted it: it does for as long as the message is in the stream.
		}
	}
	switch all := f.complete && !v.unread(c); {
	case !all || most == 0:
		return fewest, c.openSpan()
	case again > 0 && !c.ForAll && v.FirstSeq+lookback > c.FloorSeq && (most == 2 || most > 2 && c.surelySingle()):
		least = max(least, 2)
	}
	if allowed := c.allowed(hand); allowed > 0 {
		least = min(least, uint64(allowed))
	}
	return max(least, fewest), most
}

// mostOpen is how many of the consumer's open deliveries may have been of a message that is not in hand: all of them where it was neither answered nor removed after
// a delivery that is known, and no advisory says how many attempts it used up.
func mostOpen(v view, c Consumer, m lifecycle.MessageFacts) uint64 {
	lines, n := evidenceOf(m, c), m.CurrentAttempt()
	usedUp := m.ExhaustedSaid >= max(m.MaxDeliveriesAt, c.Began()) && m.ExhaustedSaid > m.ExhaustedDenied
	if usedUp {
		n = max(n, m.ExhaustedSaidN)
	}
	end := lastAnswer(m)
	if !answered(m) {
		end = m.VanishedAt
	}
	unseen, more := max(0, n-len(lines)), 0
	if !usedUp && end.Known() {
		more = max(0, mostUnseen(c, m, lines, end)-unseen)
		if c.ForAll && firstSign(m) < c.Steady { // A broker that started again may have delivered it once more, before its wait was over.
			more++
		}
	}
	passed := m.Key.Seq <= c.PassedSeq && !c.ForAll // With what was delivered of it.
	switch {
	case passed && c.surelySingle() && m.Key.Seq >= c.Single: // Nothing else was in hand when the floor passed it.
		return lines.open(c)
	case n == 0 && (m.Undelivered || passed && !v.answersLost(m)):
		return lines.open(c)
	case n > 0 && len(lines) == 0 && firstSign(m) < c.CreatedAt && answered(m):
		return lines.open(c)
	case n == 0, !usedUp && (m.Stranded() || exhausted(m, c) || !end.Known()):
		return c.openSpan()
	case passed && lines.open(c) == 0:
		return uint64(more)
	}
	return lines.open(c) + uint64(unseen+more)
}
