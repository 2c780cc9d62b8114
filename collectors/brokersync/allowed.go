package brokersync

import "fleetglass/lifecycle"

// loweredNow is the Lowered of a consumer that is observed now and was known before.
func loweredNow(old lifecycle.ConsumerState, c Consumer, now lifecycle.Micros) lifecycle.Lowered {
	l := old.Lowered
	if !fewer(c.MaxDeliver, old.MaxDeliver) {
		return l
	}
	if !l.At.Known() || fewer(l.From, old.MaxDeliver) {
		l.From = old.MaxDeliver
	}
	l.At = now
	return l
}

// fewer reports whether a number of attempts is less than another; zero or less is no end of them.
func fewer(n, than int) bool { return n > 0 && (than <= 0 || n < than) }

// hidesRedelivered reports whether the broker tells of no message that it was redelivered, although some may have been: it does not where one attempt is allowed.
func (c Consumer) hidesRedelivered() bool { return c.MaxDeliver == 1 && c.Lowered.At.Known() }

// allowed is how many attempts a message may have had; zero or less for no end. One that was stored before fewer were allowed may have had as many as before.
func (c Consumer) allowed(m lifecycle.MessageFacts) int {
	if c.Lowered.At.Known() && (m.Stored == nil || m.Stored.At <= c.Lowered.At) {
		return c.Lowered.From
	}
	return c.MaxDeliver
}

// mayHaveGiven reports whether a message may have been delivered once more, unseen, after an attempt that would be the last one now, before fewer were allowed. What was
// allowed before the consumer was looked at is not known.
func (c Consumer) mayHaveGiven(m lifecycle.MessageFacts, attempt int) bool {
	next, fewerAt, allowed := earliestNext(c, m, attempt), c.Lowered.At, c.allowed(m)
	if c.Unseen(next) {
		fewerAt, allowed = max(fewerAt, c.Seen), 0
	}
	if allowed == c.MaxDeliver || allowed > 0 && attempt >= allowed {
		return false
	}
	_, latest := evidenceOf(m, c)[c.DeliveredCSeq]
	return next < fewerAt && !latest && (!c.DeliveredAt.Known() || c.DeliveredAt >= next)
}
