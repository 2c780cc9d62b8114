package brokersync

import (
	"maps"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// The broker drops a message whose attempts are used up, and says so once, in an advisory. Where that line is lost, for instance because the capture
// stream had no leader just then, the broker's state still shows it: the message is in a work queue, its consumer is past it and awaits no answer to it.
// Nobody delivers it again.
//
// The same is to be seen of a message that its consumer never delivered, because it took the subject only later or was reset beyond it, and of one whose
// answer did not remove it. Which of them it is shows where a delivery is known, or where looks at the consumer prove one; else the message is stranded.
//
// A consumer that looked through the stream for other subjects delivered nothing then. That it overlooked a message shows where it has no more left to deliver than wait
// behind that one.

// drop notes since when consumers are past messages of this page as far as the broker's state shows, and says what follows of those that have been so for
// [believeAfter]: a message that was just acknowledged is in the stream for another moment.
func (st *step) drop() {
	still := map[uint64]bool{}
	for _, o := range st.known.open {
		m := o.Message
		left := st.leftBy(m)
		if again := st.readopted(m); left == nil || len(again) > 0 {
			st.say(again...)
			continue
		}
		still[m.Key.Seq] = true
		since, noted := st.next.Dropped[m.Key.Seq]
		switch {
		case !noted:
			st.next.Dropped[m.Key.Seq], st.believing = st.view.ConsumersAt, true
		case st.view.ConsumersAt < since.Add(believeAfter) || st.view.Drained < since.Add(captureLagMax):
			st.believing = true
		case st.dropped(*left, m, since):
			st.say(newEvent(lifecycle.MaxDeliveries, m, left, since, uint64(since)))
		case !m.Stranded() || m.CurrentAttempt() > m.StrandedN:
			st.say(stranded(m, left, since))
		}
	}
	if st.page.read {
		maps.DeleteFunc(st.next.Dropped, func(seq uint64, _ lifecycle.Micros) bool {
			return seq >= st.page.from && seq <= st.page.to && !still[seq]
		})
	}
}

// stranded says that nobody delivers a message again, and what was known of its attempts.
func stranded(m lifecycle.MessageFacts, c *Consumer, since lifecycle.Micros) lifecycle.Event {
	n := m.CurrentAttempt()
	e := newEvent(lifecycle.Stranded, m, c, max(since, m.AdoptedAt+1), uint64(m.AdoptedAt), uint64(n))
	e.Attempt = n
	return e
}

func (st *step) say(events ...lifecycle.Event) { st.batch.Events = append(st.batch.Events, events...) }

// leftBy is the consumer that is past a message in the stream and awaits no answer to it, although none is known; nil where there is none. Where several
// take the message each of them must be past it, or have its answer.
func (st *step) leftBy(m lifecycle.MessageFacts) (left *Consumer) {
	if !st.view.has(m) {
		return nil
	}
	for _, p := range st.view.partsOf(m) {
		c := st.view.deliveredOnce(p)
		if c == nil || !st.isPast(c, m.Key.Seq) || len(p.Claims) > 0 {
			return nil
		}
		if !answered(p) && !exhausted(p, *c) {
			left = c
		}
	}
	return left
}

// has reports whether a message was in the stream when that was looked at.
func (v view) has(m lifecycle.MessageFacts) bool {
	present, known := v.Present.Has(m.Key.Seq)
	return known && present
}

// isPast reports whether a consumer is past a message in the stream and surely awaits no answer to it.
func (st *step) isPast(c *Consumer, seq uint64) bool {
	switch {
	case c.fromBeforeReset():
		return false
	case c.comesAfter(seq):
		return c.Pending < uint64(len(st.known.open)) && c.Pending <= st.surelyBehind(c, seq)
	}
	return c.AckPending == 0 || seq <= c.FloorSeq || (c.surelySingle() && seq != c.DeliveredSeq)
}

// comesAfter reports whether a message comes after all that the consumer delivered.
func (c Consumer) comesAfter(seq uint64) bool { return seq > c.DeliveredSeq }

// fromBeforeReset reports whether the broker may tell what a consumer had delivered before it was reset to its beginning: where it was just writing that
// down, it goes on telling it until the next delivery. It knows no time of the last delivery then, as after a restart.
func (c Consumer) fromBeforeReset() bool {
	return c.DeliveredCSeq > 0 && !c.DeliveredAt.Known() && c.AckPending == 0 && c.Pending > 0
}

// answered reports whether an answer to the current attempt is known that would have ended the message.
func answered(m lifecycle.MessageFacts) bool {
	a := attemptOf(m.CurrentLife(), m.CurrentAttempt())
	return a.LastAckAt.Known() || a.ConfirmedAt.Known() || a.TermAt.Known()
}

// dropped reports whether a consumer that is past a message dropped it because its attempts are used up: it delivered the message, which lines or looks
// prove, and did not come in the place of another that did. Of a message of which nothing was seen the waits of all its attempts must have been over.
func (st *step) dropped(c Consumer, m lifecycle.MessageFacts, since lifecycle.Micros) bool {
	switch {
	case st.view.Kept || c.MaxDeliver <= 0 || c.beganBehind(m) || c.comesAfter(m.Key.Seq) || c.tookOver(m):
		return false
	case m.CurrentAttempt() > 0 || len(evidenceOf(m, c)) > 0:
		return true
	}
	from, watched := st.next.Unbroken[c.Name]
	if !watched || m.Key.Seq <= from || m.Stored == nil {
		return false
	}
	over := m.Stored.At
	for n := 1; n <= c.MaxDeliver && over <= since; n++ {
		over = over.Add(c.Wait(n))
	}
	return over <= since
}

// readopted says of a stranded message that a consumer delivers it after all: one that was created since, that was reset to it, or that looks through the stream
// anew since its broker started again.
func (st *step) readopted(m lifecycle.MessageFacts) []lifecycle.Event {
	if !m.Stranded() {
		return nil
	}
	for _, p := range st.view.partsOf(m) {
		c := st.view.consumerOf(p)
		if c == nil {
			continue
		}
		holds := c.surelySingle() && c.AckPending == 1 && m.Key.Seq == c.DeliveredSeq
		at := c.CreatedAt
		if at <= m.StrandedAt { // It was reset.
			at = max(st.view.ConsumersAt.Truncate(time.Second), m.StrandedAt+1)
		}
		comes := c.comesAfter(m.Key.Seq) && c.Pending > st.mayWaitBehind(c, m.Key.Seq)
		if c.CreatedAt > m.StrandedAt || comes || holds {
			return []lifecycle.Event{newEvent(lifecycle.Adopted, m, c, at, uint64(m.StrandedAt))}
		}
	}
	return nil
}

// unbrokenNow is [State.Unbroken] after one more observation. A consumer that was not there at the one before has had its filters since it was created.
func (s State) unbrokenNow(o Observation) map[string]uint64 {
	unbroken := map[string]uint64{}
	for _, c := range o.Consumers {
		old, known := s.Consumers[consumerKey{c.Stream, c.Name}]
		from, watched := s.Unbroken[c.Name]
		goesOn := known && old.CreatedAt == c.CreatedAt && old.DeliveredCSeq <= c.DeliveredCSeq && old.DeliveredSeq <= c.DeliveredSeq && slices.Equal(old.Filters, c.Filters)
		switch {
		case watched && goesOn:
			unbroken[c.Name] = from
		case s.At.Known() && c.CreatedAt > s.At && !c.ResetBy.Known(): // One that was reset may have begun anywhere.
			unbroken[c.Name] = 0
		default:
			unbroken[c.Name] = c.DeliveredSeq
		}
	}
	return unbroken
}
