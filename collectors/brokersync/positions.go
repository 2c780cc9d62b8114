package brokersync

import "fleetglass/lifecycle"

// A consumer's floor says up to which delivery, and up to which message, everything is answered. Where messages are purged it moves on in the stream and not among the
// deliveries, so it does not tell any more where the consumer began, nor whose the deliveries after it were.

// startNow is [lifecycle.ConsumerState.StartSeq] of a consumer that is seen once more, the same as before or another one. Until its first delivery is answered the broker's
// floor tells where it began, or what was purged since.
func startNow(old lifecycle.ConsumerState, c Consumer, same bool) uint64 {
	switch {
	case same && old.StartSeq > 0:
		return old.StartSeq
	case c.FloorCSeq == 0:
		return c.FloorSeq + 1
	}
	return 0
}

// passedNow is [lifecycle.ConsumerState.PassedSeq] of such a consumer.
func passedNow(old lifecycle.ConsumerState, c Consumer, same bool) uint64 {
	if same && old.FloorCSeq == c.FloorCSeq {
		return min(old.PassedSeq, c.FloorSeq)
	}
	return c.FloorSeq
}

// beganBehind reports whether a consumer began behind a message, of which it has made no delivery.
func (c Consumer) beganBehind(m lifecycle.MessageFacts) bool {
	return m.Key.Seq < c.StartSeq && len(evidenceOf(m, c)) == 0
}

// wasResetBehind reports whether a consumer begins behind a message although it was there when that was stored: it was reset, whether or not a look saw that.
func (c Consumer) wasResetBehind(m lifecycle.MessageFacts) bool {
	return m.Stored != nil && c.CreatedAt <= m.Stored.At && m.Key.Seq < c.StartSeq
}
