package brokersync

import "fleetglass/lifecycle"

// A stream that is no work queue keeps its messages after an acknowledgement, and several consumers may take one message. That a message is there says
// nothing of it then, and only workers' consumers judge it (SITUATIONS, "Streams and consumers"; ADR 23).

// pending reports whether a consumer may still wait for an answer to a message that it delivered and that is in the stream.
func (v view) pending(c Consumer, seq uint64) bool {
	return !v.Kept || (c.AckPending > 0 && seq > c.FloorSeq)
}

// watched reports whether a consumer that only watches takes the subject of a message.
func (v view) watched(m lifecycle.MessageFacts) bool {
	for _, c := range v.Consumers {
		if c.Watches && m.Stored != nil && lifecycle.MatchesAny(c.Filters, m.Stored.Subject) {
			return true
		}
	}
	return false
}

// shared reports whether several workers' consumers take the subject of a message, so that none of them alone proves what became of it.
func (v view) shared(m lifecycle.MessageFacts) bool {
	n := 0
	for _, c := range v.Consumers {
		if v.Kept && !c.Watches && m.Stored != nil && lifecycle.MatchesAny(c.Filters, m.Stored.Subject) {
			n++
		}
	}
	return n > 1
}

// unjudged says of a stream that its messages cannot be judged; empty where they can.
func (o Observation) unjudged() string {
	if !o.Kept || len(o.Consumers) == 0 {
		return ""
	}
	for _, c := range o.Consumers {
		if !c.Watches {
			return ""
		}
	}
	return o.Stream.Name + " keeps messages after they are acknowledged, and none of its consumers is named as a worker's (--worker-consumers): its tasks cannot be judged"
}
