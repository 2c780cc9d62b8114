package brokersync

// A consumer that is set to hold one message at a time may have held several before, and hold them still: the broker takes none back. That the message in
// hand is the one that was delivered last follows only where nothing else was in hand when that one was given out.

// single reports whether a consumer holds one message at a time, as far as is known.
func (c Consumer) single() bool { return c.MaxAckPending == 1 && !c.Several }

// surelySingle reports whether what a consumer holds can only be the message that it delivered last.
func (c Consumer) surelySingle() bool { return c.MaxAckPending == 1 && c.Single > 0 }

// holdingNow is [State.Single] and [State.Several] after one more observation. A message that was delivered for the first time while its consumer might hold
// one is the only one in hand. Where none was delivered again, of several deliveries that were not all answered not all can be of one message.
func (s State) holdingNow(o Observation) (single map[string]uint64, several map[string]bool) {
	single, several = map[string]uint64{}, map[string]bool{}
	for _, c := range o.Consumers {
		old, same := s.Consumers[consumerKey{c.Stream, c.Name}]
		same = same && old.CreatedAt == c.CreatedAt
		one := same && old.MaxAckPending == 1
		switch {
		case c.MaxAckPending != 1:
		case c.AckPending == 0, c.openSpan() < 2:
			single[c.Name] = 1 // What it held before is over, and all deliveries of it.
		case c.AckPending > 1, c.Redelivered == 0:
			several[c.Name] = true
		case one && s.Single[c.Name] > 0:
			single[c.Name] = s.Single[c.Name]
		case one && c.DeliveredSeq > old.DeliveredSeq:
			single[c.Name] = c.DeliveredSeq
		case same && (s.Several[c.Name] || !one):
			several[c.Name] = true
		}
	}
	return single, several
}
