package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// A consumer that is created again may have ended a message that its former incarnation's worker had before anybody looks at the broker: the message is not
// open any more then, and only the lines tell which consumer had it when.

// freshNow is [State.Fresh] after one more observation.
func (s State) freshNow(o Observation) map[string]lifecycle.Micros {
	fresh := map[string]lifecycle.Micros{}
	for _, c := range o.Consumers {
		old, known := s.Consumers[consumerKey{c.Stream, c.Name}]
		since, waits := s.Fresh[c.Name]
		switch {
		case known && old.CreatedAt == c.CreatedAt && waits:
			fresh[c.Name] = since
		case (!known || old.CreatedAt != c.CreatedAt || old.DeliveredCSeq == 0) && c.DeliveredCSeq > 0:
			fresh[c.Name] = o.ConsumersAt
		}
	}
	return fresh
}

// sayAnew says of the messages that consumers which were not seen to deliver before ended that those were created anew after others of their names had the messages.
// It looks once, at the last messages that they delivered, when all lines up to the observation that saw them first are stored.
func (st *step) sayAnew() {
	var ready []Consumer
	to := uint64(0)
	for _, c := range st.view.Consumers {
		if since, fresh := st.next.Fresh[c.Name]; fresh && st.view.Drained >= since.Add(captureLagMax) {
			ready, to = append(ready, c), max(to, c.DeliveredSeq)
		}
	}
	if len(ready) == 0 {
		return
	}
	rows, ok := st.rowsIn(to-min(to-1, lookback), to, lookback+1)
	if !ok {
		return
	}
	for _, c := range ready {
		delete(st.next.Fresh, c.Name)
		for _, m := range rows {
			part := m.Of(c.Name)
			said := slices.ContainsFunc(st.known.anew, func(e lifecycle.Event) bool { return e.Message == m.Key && e.Consumer == c.Name })
			if !said && st.view.takes(c, m) && deliveredBy(c, m.Key.Seq) && !st.known.isOpen(m.Key.Seq) && endedSince(part, c.Began()) {
				st.known.anew = append(st.known.anew, recreated(c, part)...)
			}
		}
	}
}

// endedSince reports whether workers ended a message for its consumer, and none did before a time.
func endedSince(m lifecycle.MessageFacts, since lifecycle.Micros) bool {
	ended := false
	for _, a := range m.Attempts {
		for _, at := range []lifecycle.Micros{a.AckAt, a.TermAt} {
			if at.Known() && at < since {
				return false
			}
			ended = ended || at.Known()
		}
	}
	return ended
}
