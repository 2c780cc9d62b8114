package brokersync

import "fleetglass/lifecycle"

// lowered is that a consumer allows fewer attempts than before. The zero value says that it does not.
type lowered struct {
	From int              // The most that were allowed before; zero or less for no end.
	At   lifecycle.Micros // The last look that saw fewer than the one before.
}

// loweredNow is [State.Lowered] after one more observation.
func (s State) loweredNow(o Observation) map[string]lowered {
	now := map[string]lowered{}
	for _, c := range o.Consumers {
		old, known := s.Consumers[consumerKey{c.Stream, c.Name}]
		if !known || old.CreatedAt != c.CreatedAt {
			continue
		}
		l, was := s.Lowered[c.Name]
		if fewer(c.MaxDeliver, old.MaxDeliver) {
			if !was || fewer(l.From, old.MaxDeliver) {
				l.From = old.MaxDeliver
			}
			l.At, was = o.ConsumersAt, true
		}
		if was {
			now[c.Name] = l
		}
	}
	return now
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
