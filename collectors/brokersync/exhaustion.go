package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// An advisory that the attempts of a message are used up may come from anybody who may publish, so it counts when the broker's own state
// agrees: such a message is in the stream, its consumer has delivered it, and it is not among the deliveries that await an answer.

// believeAfter is how long after such an advisory lines must be read, and the state be looked at, before it is believed although the state allows both readings.
const believeAfter = 10 * time.Second

// exhaustions says which advisories count and which do not, and adds that to the messages at hand.
func (j *judgement) exhaustions() {
	for i, o := range j.known.open {
		m := o.Message
		if present, known := j.view.Present.Has(m.Key.Seq); !known || !present || !undecidedExhaustion(m) {
			continue
		}
		e, decided := j.exhaustion(j.view.deliveredOnce(m), m)
		if !decided {
			continue
		}
		j.say(e)
		j.known.open[i].Message = m.Clone()
		j.known.open[i].Message.Join(e)
	}
}

// undecidedExhaustion reports whether an advisory about the message waits for the broker's state.
func undecidedExhaustion(m lifecycle.MessageFacts) bool {
	return m.ExhaustedSaid > max(m.MaxDeliveriesAt, m.ExhaustedDenied)
}

// exhaustion compares the latest advisory about a message that is in the stream with the state of its consumer.
func (j *judgement) exhaustion(c *Consumer, m lifecycle.MessageFacts) (lifecycle.Event, bool) {
	if j.view.ConsumersAt < m.ExhaustedSaid.Add(captureLagMax) {
		return lifecycle.Event{}, false // The state may be older than the advisory.
	}
	if j.view.Kept && m.Stored == nil {
		return lifecycle.Event{}, false // Who else takes it is known once it is read from the stream.
	}
	c = c.spokenOf(m)
	if c == nil && m.CurrentAttempt() == 0 {
		return lifecycle.Event{}, false // Its consumer cannot be asked, and nothing tells of a delivery. One that is made anew delivers the message in either case.
	}
	switch pending, known := j.pending(c, m); {
	case pending && known:
		return j.exhaustionEvent(lifecycle.ExhaustionDenied, c, m), true
	case pending: // As it seems: a later look tells.
	case known || min(j.view.ConsumersAt, j.view.Drained) >= m.ExhaustedSaid.Add(believeAfter):
		return j.exhaustionEvent(lifecycle.MaxDeliveries, c, m), true
	}
	return lifecycle.Event{}, false
}

// exhaustionOfGone decides about the latest advisory about a message that has left the stream: the broker cannot be asked any more whether the message waits for an answer. It
// counts where the consumer may have made so many deliveries of it, or lives no more and a delivery is known.
func (j *judgement) exhaustionOfGone(c *Consumer, m lifecycle.MessageFacts) (lifecycle.Event, bool) {
	c = c.spokenOf(m)
	switch {
	case j.view.ConsumersAt < m.ExhaustedSaid.Add(captureLagMax), c == nil && j.view.Drained < m.ExhaustedSaid.Add(believeAfter):
		return lifecycle.Event{}, false
	case c == nil && m.CurrentAttempt() > 0, c != nil && c.mayHaveUsedUp(m):
		return j.exhaustionEvent(lifecycle.MaxDeliveries, c, m), true
	}
	return j.exhaustionEvent(lifecycle.ExhaustionDenied, c, m), true
}

// mayHaveUsedUp reports whether the consumer was there when its attempts at a message are said to have been used up, and made as many deliveries.
func (c Consumer) mayHaveUsedUp(m lifecycle.MessageFacts) bool {
	return c.Began() <= m.ExhaustedSaid && deliveredBy(c, m.Key.Seq) && uint64(m.ExhaustedSaidN) <= c.DeliveredCSeq
}

// pending reports whether the consumer will deliver the message, or awaits its answer, and whether that is known.
func (j *judgement) pending(c *Consumer, m lifecycle.MessageFacts) (pending, known bool) {
	switch {
	case c == nil:
		return false, false
	case !c.mayHaveUsedUp(m):
		return true, true
	case c.AckPending == 0:
		return false, true
	case c.Refiltered.Strays:
		return false, false
	case c.surelySingle():
		return m.Key.Seq == c.DeliveredSeq, true
	}
	all, undecided, among := 0, 0, false
	if f := j.inFlight[c.Name]; f != nil {
		if f.unclear {
			return false, false
		}
		for _, other := range f.messages {
			all++
			among = among || other.Key == m.Key
			if undecidedExhaustion(other) && other.ExhaustedSaid >= c.Began() {
				undecided++
			}
		}
	}
	switch {
	case all-undecided == c.AckPending:
		return false, true
	case all == c.AckPending && among:
		return true, j.knowsInHand(*c)
	}
	return false, false
}

// knowsInHand reports whether the store knows every message that a consumer had in hand when it was looked at: no publish is still to be
// read, as a line or from the stream, and no other message was answered, or taken away, only after that look.
func (j *judgement) knowsInHand(c Consumer) bool {
	f := j.of(c)
	switch {
	case c.DeliveredSeq > j.view.Verified:
		return false
	case accountFor(c, f.messages):
		return true
	}
	return f.complete && !slices.ContainsFunc(f.others, func(m lifecycle.MessageFacts) bool {
		present, _ := j.view.Present.Has(m.Key.Seq)
		return m.LastAt.Add(captureLagMax) >= j.view.ConsumersAt || !present && !answered(m) && !m.VanishedAt.Known()
	})
}

// exhaustionEvent is what follows from the latest advisory about a message, at its time.
func (j *judgement) exhaustionEvent(kind lifecycle.Kind, c *Consumer, m lifecycle.MessageFacts) lifecycle.Event {
	e := newEvent(kind, m, c, m.ExhaustedSaid, uint64(m.ExhaustedSaid))
	if kind == lifecycle.MaxDeliveries {
		e.Attempt, e.Detail.Beside = m.ExhaustedSaidN, j.view.beside(c, m)
		return e
	}
	e.Detail.Former = c == nil || max(c.Began(), c.ResetBy) > m.ExhaustedSaid || c.wasResetBehind(m) // Its state tells nothing of what the broker said of the one before.
	return e
}
