package brokersync

import (
	"maps"

	"fleetglass/lifecycle"
)

// The broker drops a message whose attempts are used up, and says so once, in an advisory. Where that line is lost, for instance because the capture
// stream had no leader just then, the broker's state still shows it: the message is in a work queue, its consumer has delivered it and awaits no answer
// to it. Nobody delivers it again.

// drop notes since when messages of this page are dropped as far as the broker's state shows, and says so of those that have been for
// [believeAfter]: a message that was just acknowledged is in the stream for another moment.
func (st *step) drop() {
	still := map[uint64]bool{}
	for _, o := range st.known.open {
		m, c := o.Message, st.view.consumerOf(o.Message)
		if c == nil || !st.view.dropped(*c, m) {
			continue
		}
		still[m.Key.Seq] = true
		since, noted := st.next.Dropped[m.Key.Seq]
		if !noted {
			st.next.Dropped[m.Key.Seq] = st.view.ConsumersAt
		} else if st.view.ConsumersAt >= since.Add(believeAfter) {
			st.batch.Events = append(st.batch.Events, newEvent(lifecycle.MaxDeliveries, m, c, since, uint64(since)))
		}
	}
	if st.page.read {
		maps.DeleteFunc(st.next.Dropped, func(seq uint64, _ lifecycle.Micros) bool {
			return seq >= st.page.from && seq <= st.page.to && !still[seq]
		})
	}
}

// dropped reports whether a consumer that delivered a message awaits no answer to it, although it is in the stream and no answer is known. A delivery must
// be known: a consumer whose filter was changed has passed over messages that it never delivered.
func (v view) dropped(c Consumer, m lifecycle.MessageFacts) bool {
	present, known := v.Present.Has(m.Key.Seq)
	if v.Kept || !known || !present || !deliveredBy(c, m.Key.Seq) || exhausted(m, c) || len(evidenceOf(m, c)) == 0 {
		return false
	}
	a := attemptOf(m.CurrentLife(), m.CurrentAttempt())
	if a.LastAckAt.Known() || a.ConfirmedAt.Known() || a.TermAt.Known() || len(m.Claims) > 0 {
		return false
	}
	return c.AckPending == 0 || m.Key.Seq <= c.FloorSeq || (c.MaxAckPending == 1 && m.Key.Seq != c.DeliveredSeq)
}
