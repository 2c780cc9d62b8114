package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// A workers' consumer that is made later is also to deliver messages that another one's worker was done with before. No answer names it beside itself, so the messages are
// looked for (ADR 73). One that is given other subjects may be past them: nobody can tell.

// ahead is how many sequences before a consumer are looked at for messages that it is still to deliver.
const ahead = 1000

// Comer is a workers' consumer that was made since the stream was looked at.
type Comer struct {
	At   lifecycle.Micros // The look that saw it first.
	UpTo uint64           // The stream's last message then. An answer to a later one names the consumer.
	Read uint64           // Of the messages up to this one it is said which it is to deliver.
}

// comersNow are the consumers that were made since a look before and are not at the end of what they found. At the first look at a stream there are none: the answers that are read
// from then on name who is there.
func (s State) comersNow(o Observation, drained lifecycle.Micros) map[string]Comer {
	comers, watched := map[string]Comer{}, s.knowsConsumers(o.Stream)
	for _, c := range o.Consumers {
		if !o.Kept || c.Watches || c.Unanswered {
			continue
		}
		comer, came := s.Comers[c.Name]
		if old, known := s.Consumers[consumerKey{c.Stream, c.Name}]; watched && (!known || old.Gone || old.CreatedAt != c.CreatedAt) {
			comer, came = Comer{At: o.ConsumersAt, UpTo: o.LastSeq}, true
		}
		over := c.DeliveredSeq >= comer.UpTo || comer.Read >= comer.UpTo || c.Pending == 0
		if came && (!over || drained < comer.At.Add(settleAfter)) {
			comers[c.Name] = comer
		}
	}
	return comers
}

// knowsConsumers reports whether a consumer of the stream was ever stored.
func (s State) knowsConsumers(stream lifecycle.StreamID) bool {
	for k := range s.Consumers {
		if k.stream == stream {
			return true
		}
	}
	return false
}

// settleAfter is how long after a consumer came an answer may be told that does not name it: the list of consumers that it goes by is older.
const settleAfter = 2 * time.Second

// readAhead reads which settled messages the new consumers are still to deliver.
func (st *step) readAhead() {
	st.known.ahead = map[string]aheadOf{}
	for _, c := range st.view.Consumers {
		comer, came := st.next.Comers[c.Name]
		from, to := max(c.DeliveredSeq, comer.Read)+1, min(c.DeliveredSeq+ahead, comer.UpTo)
		if !came || from > to || to < comer.UpTo && to-from < ahead/2 {
			continue
		}
		rows, ok := st.rowsIn(from, to, ahead)
		if !ok {
			continue
		}
		rows = slices.DeleteFunc(slices.Clone(rows), func(m lifecycle.MessageFacts) bool { return !st.view.comesTo(c, m) })
		st.known.ahead[c.Name] = aheadOf{rows, to}
	}
}

// aheadOf are settled messages that a consumer is still to deliver, where they are in the stream, up to a sequence.
type aheadOf struct {
	messages []lifecycle.MessageFacts
	to       uint64
}

// sayAhead says which of them a new consumer is to deliver: those that are in the stream.
func (st *step) sayAhead() {
	for _, c := range st.view.Consumers {
		all, looked := st.known.ahead[c.Name], true
		for _, m := range all.messages {
			present, known := st.view.Present.Has(m.Key.Seq)
			if looked = looked && known; present {
				st.batch.Events = append(st.batch.Events, toDeliver(c, m, st.view.ConsumersAt))
			}
		}
		if comer := st.next.Comers[c.Name]; all.to > 0 && looked && st.view.Drained >= comer.At.Add(settleAfter) {
			comer.Read = all.to
			st.next.Comers[c.Name] = comer
		}
	}
}

// comesTo reports whether a consumer is still to deliver a message that another one is done with, and that is not known yet.
func (v view) comesTo(c Consumer, m lifecycle.MessageFacts) bool {
	done := func(o lifecycle.ConsumerFacts) bool {
		part := m.Of(o.Consumer)
		return answered(part) || part.MaxDeliveriesAt.Known()
	}
	return m.Stored != nil && !m.VanishedAt.Known() && v.takes(c, m) && !m.Awaits(c.Name) && slices.ContainsFunc(m.Consumers, done)
}
