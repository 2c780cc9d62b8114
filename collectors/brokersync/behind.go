package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// surelyBehind is how many messages of this page a consumer surely had left to deliver after the one of a sequence when it was looked at, if it had that one left.
func (st *step) surelyBehind(c *Consumer, seq uint64) uint64 {
	if st.counted == nil {
		st.counted = st.countedBy()
	}
	counted := st.counted[c.Name]
	at, _ := slices.BinarySearch(counted, seq+1)
	return uint64(len(counted) - at)
}

// countedBy are, by consumer, the messages that it takes, that come after all that it delivered, and that were in the stream when it was looked at.
func (st *step) countedBy() map[string][]uint64 {
	counted := map[string][]uint64{}
	for _, o := range st.known.open {
		m := o.Message
		if m.Stored == nil || m.Stored.At.Add(lifecycle.CountedAfter) > st.view.ConsumersAt || !st.view.has(m) {
			continue
		}
		for _, p := range st.view.partsOf(m) {
			if c := st.view.consumerOf(p); c != nil && c.comesAfter(m.Key.Seq) {
				counted[c.Name] = append(counted[c.Name], m.Key.Seq)
			}
		}
	}
	return counted
}

// mayWaitBehind is how many messages may be in the stream that a consumer is still to deliver after the one of that sequence, as far as this page tells.
func (st *step) mayWaitBehind(c *Consumer, seq uint64) (n uint64) {
	for _, o := range st.known.open {
		if at := o.Message.Key.Seq; at > seq && c.comesAfter(at) && st.view.takes(*c, o.Message) {
			n++
		}
	}
	for _, unheard := range st.known.unknown {
		if unheard > seq {
			n++
		}
	}
	return n
}
