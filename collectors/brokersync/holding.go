package brokersync

// A consumer that is set to hold one message at a time may have held several before, and hold them still: the broker takes none back. That the message in
// hand is the one that was delivered last follows only where nothing else was in hand when that one was given out.

// single reports whether a consumer holds one message at a time, as far as is known.
func (c Consumer) single() bool { return c.MaxAckPending == 1 && !c.Several }

// surelySingle reports whether what a consumer holds can only be the message that it delivered last.
func (c Consumer) surelySingle() bool { return c.MaxAckPending == 1 && c.Single > 0 }

// holding is [State.Single] of a consumer after one more observation, and whether it may hold several. A message that was delivered for the first time while its consumer
// might hold one is the only one in hand. Where none was delivered again, of several deliveries that were not all answered not all can be of one message. One whose answers are
// for all before them may have a message in hand that it delivered before the last answered one, and its later deliveries may have been of others.
func (s State) holding(c Consumer) (single uint64, several bool) {
	old, same := s.Consumers[consumerKey{c.Stream, c.Name}]
	same = same && old.CreatedAt == c.CreatedAt
	one := same && old.MaxAckPending == 1
	held := same && (old.Several || !one) // It may have held several then.
	switch {
	case c.MaxAckPending != 1:
	case c.AckPending == 0, c.openSpan() < 2 && (!c.ForAll || !held):
		return 1, false // What it held before is over, and all deliveries of it.
	case c.AckPending > 1, c.Redelivered == 0:
		return 0, true
	case one && s.Single[c.Name] > 0:
		return s.Single[c.Name], false
	case one && c.DeliveredSeq > old.DeliveredSeq:
		return c.DeliveredSeq, false
	}
	return 0, c.MaxAckPending == 1 && held
}

// singleNow is [State.Single] after one more observation.
func (s State) singleNow(o Observation) map[string]uint64 {
	now := map[string]uint64{}
	for _, c := range o.Consumers {
		if single, _ := s.holding(c); single > 0 {
			now[c.Name] = single
		}
	}
	return now
}
