package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// judge compares what the broker said with what the store knows of the messages at hand, and returns what follows.
func judge(v view, k known, missing map[uint64]Missed, w Waits) []lifecycle.Event {
	j := judgement{view: v, known: k, missed: missing, waits: w, inFlight: map[string]*inFlight{}, said: map[lifecycle.MessageKey][]lifecycle.Event{}, gone: map[lifecycle.MessageKey]bool{}}
	j.known.open, j.shared = v.partsOfOpen(k.open)
	j.doneBeside = v.doneBeside(k.open)
	j.sort()
	j.exhaustions()
	j.inFlight = map[string]*inFlight{}
	j.sort() // Without those whose attempts proved to be used up.
	j.attribute()
	for _, o := range j.known.open {
		j.message(j.withDeliveries(o))
	}
	for _, o := range k.open {
		j.say(v.notTaken(o.Message)...)
		j.notHeld(o.Message)
	}
	j.say(k.anew...)
	for _, c := range v.Consumers {
		for _, part := range k.beside[c.Name] {
			j.withDeliveries(lifecycle.OpenMessage{Message: part})
		}
	}
	for _, m := range k.settled {
		j.say(refuted(v, v.consumerOf(m), m, w.Refute)...)
	}
	for _, m := range k.answered {
		for _, p := range v.partsOf(m) {
			inHand := func(o lifecycle.MessageFacts) bool { return o.Key == p.Key } // It was given again, and told of above.
			if c := v.consumerOf(p); c != nil && !slices.ContainsFunc(k.beside[c.Name], inHand) {
				j.say(answeredDelivery(v, *c, p, k.moved)...)
			}
		}
	}
	v.setApart(j.events)
	return j.events
}

// judgement is one call of [judge].
type judgement struct {
	view     view
	known    known
	missed   map[uint64]Missed
	waits    Waits
	inFlight map[string]*inFlight // By consumer.
	said     map[lifecycle.MessageKey][]lifecycle.Event
	gone     map[lifecycle.MessageKey]bool // Missing messages, and whether they were concluded about.
	shared   map[lifecycle.MessageKey]bool // Open messages that several consumers may have.

	doneBeside map[lifecycle.MessageKey]bool // Those of a work queue of which a worker of one consumer ended the message.
	events     []lifecycle.Event
}

func (j *judgement) say(events ...lifecycle.Event) { j.events = append(j.events, events...) }

// sort finds what every consumer has in flight.
func (j *judgement) sort() {
	for _, o := range j.known.open {
		m := o.Message
		c := j.view.consumerOf(m)
		if c == nil || !deliveredBy(*c, m.Key.Seq) || c.skipped(m) {
			continue
		}
		f := j.of(*c)
		switch present, known := j.view.Present.Has(m.Key.Seq); {
		case !known:
		case present && c.mayHaveSkipped(m):
			f.others, f.unclear = append(f.others, m), true
		case present && !exhausted(m, *c) && !m.Stranded() && (!j.shared[m.Key] || awaits(*c, m.Key.Seq) && !answered(m)):
			f.messages = append(f.messages, m)
		default:
			f.others = append(f.others, m)
		}
	}
	for _, c := range j.view.Consumers {
		if c.Refiltered.At.Known() {
			j.addFormer(c)
		}
		j.addBeside(c)
	}
}

// of is what a consumer has in flight.
func (j *judgement) of(c Consumer) *inFlight {
	f := j.inFlight[c.Name]
	if f == nil {
		others, complete := j.known.others[c.Name]
		f = &inFlight{others: slices.Clone(others), complete: complete && !j.known.unheard[c.Name], moved: j.known.moved}
		j.inFlight[c.Name] = f
	}
	return f
}

// addFormer adds to what a consumer's deliveries may belong to the messages that it takes no more.
func (j *judgement) addFormer(c Consumer) {
	f := j.of(c)
	for _, o := range j.known.open {
		if c.took(o.Message) && !j.view.takes(c, o.Message) {
			f.others = append(f.others, o.Message)
		}
	}
}

// addBeside adds to what a consumer has in flight what is settled by what another did.
func (j *judgement) addBeside(c Consumer) {
	for _, m := range j.known.beside[c.Name] {
		if present, known := j.view.Present.Has(m.Key.Seq); !known || !present {
			continue
		}
		f := j.of(c)
		f.others = slices.DeleteFunc(f.others, func(o lifecycle.MessageFacts) bool { return o.Key == m.Key })
		f.messages = append(f.messages, m)
	}
	if f := j.inFlight[c.Name]; f != nil {
		slices.SortFunc(f.messages, func(a, b lifecycle.MessageFacts) int { return a.Key.Compare(b.Key) })
	}
}

// attribute finds out to which messages the deliveries of each consumer belong.
func (j *judgement) attribute() {
	for _, c := range j.view.Consumers {
		f := j.inFlight[c.Name]
		if f == nil {
			continue
		}
		for _, e := range deliveries(j.view, c, *f) {
			j.said[e.Message] = append(j.said[e.Message], e)
		}
	}
}

// exhausted reports whether the broker said that no attempt is left, and its consumer is still the one that it spoke of.
func exhausted(m lifecycle.MessageFacts, c Consumer) bool {
	return m.MaxDeliveriesAt.Known() && m.MaxDeliveriesAt >= max(c.Began(), m.RecreatedAt)
}

// withDeliveries is the message with what was found out about its deliveries.
func (j *judgement) withDeliveries(o lifecycle.OpenMessage) lifecycle.OpenMessage {
	m := o.Message
	events := j.said[m.Key]
	if j.shared[m.Key] {
		events = slices.DeleteFunc(slices.Clone(events), func(e lifecycle.Event) bool { return e.Consumer != m.Consumer })
	}
	if c := j.view.consumerOf(m); len(events) == 0 && c != nil && j.held(m, *c) && !j.tooEarly(m, *c) {
		events = unknownDelivery(j.view, *c, m)
	}
	if len(events) == 0 {
		return o
	}
	o.Message = m.Clone()
	for _, e := range events {
		o.Message.Join(e)
	}
	j.say(events...)
	return o
}

// held reports whether the broker and the store agree on what the consumer has in flight, m among it.
func (j *judgement) held(m lifecycle.MessageFacts, c Consumer) bool {
	f := j.inFlight[c.Name]
	if f == nil || !slices.ContainsFunc(f.messages, func(x lifecycle.MessageFacts) bool { return x.Key == m.Key }) {
		return false
	}
	if c.single() { // While it holds one it looks at no other.
		return c.AckPending == 1 && m.Key.Seq == c.DeliveredSeq
	}
	if c.Refiltered.Strays {
		return false
	}
	undecided := 0 // The broker may have dropped these: it says that their attempts are used up.
	for _, x := range f.messages {
		if undecidedExhaustion(x) {
			undecided++
		}
	}
	return len(f.messages)-undecided <= c.AckPending && c.AckPending <= len(f.messages)
}

// patience is how long a consumer may be busy while a better moment to attribute its deliveries is waited for. The attribution may still come
// later; until then the board shows that some worker has the message.
const patience = time.Second

// tooEarly reports whether a later observation may tell which delivery is that of m. A consumer that is never quiet is not waited for.
func (j *judgement) tooEarly(m lifecycle.MessageFacts, c Consumer) bool {
	if c.single() {
		return j.view.tellsLater(c)
	}
	since, busy := j.view.Busy[c.Name]
	wait := busy && j.view.ConsumersAt < since.Add(patience)
	return wait || (j.known.early[c.Name] && !j.view.deliveredBefore(c, m.Key.Seq))
}

// message concludes about one open message.
func (j *judgement) message(o lifecycle.OpenMessage) {
	m := o.Message
	c := j.view.consumerOf(m)
	present, known := j.view.Present.Has(m.Key.Seq)
	switch {
	case !known:
		return
	case !present && j.doneBeside[m.Key]: // Another one's worker ended it for all.
		return
	case !present:
		concluded, seen := j.gone[m.Key]
		switch {
		case m.VanishedAt.Known() && undecidedExhaustion(m):
			if e, decided := j.exhaustionOfGone(c, m); decided {
				j.say(e)
			}
		case !seen: // Once, where several consumers take it.
			j.gone[m.Key] = j.absent(c, o)
		case concluded && undecidedExhaustion(m) && c != nil && c.Began() <= m.ExhaustedSaid && deliveredBy(*c, m.Key.Seq):
			j.say(j.exhaustionEvent(lifecycle.MaxDeliveries, c, m)) // The broker cannot be asked any more.
		}
		return
	}
	if len(m.Claims) > 0 {
		j.say(refuted(j.view, c, m, j.waits.Refute)...)
	}
	j.say(j.served(c, m)...)
	if c == nil {
		c = j.view.strayOf(m)
	}
	if c == nil {
		return
	}
	if events := recreated(*c, m); len(events) > 0 && (!j.shared[m.Key] || !c.tookOver(m)) {
		j.say(events...)
		return
	}
	j.say(leases(j.view, *c, o)...)
}

// absent concludes about an open message that is not in the stream, once it was missing for long enough, and reports whether it did.
func (j *judgement) absent(c *Consumer, o lifecycle.OpenMessage) (concluded bool) {
	missed, ok := j.missed[o.Message.Key.Seq]
	missed.Over, missed.Room = j.known.passed[c.name()].overflowed(missed, o.Message)
	missed.Full = missed.Full || missed.Over.Known()
	if !ok || o.Message.VanishedAt.Known() || j.view.Drained < missed.Since.Add(j.waits.Vanish) {
		return false
	}
	if e, proved := tookEffect(j.view, o.Message); proved {
		j.say(e)
		return true
	}
	if j.known.undecided(j.view, c, o.Message, missed) {
		return false
	}
	undelivered := j.known.undelivered(j.view, c, o.Message) && !o.Task.RecordNames(&o.Message)
	if undelivered && j.mayHaveStrayed(o.Message) {
		if j.view.Drained < missed.Since.Add(proofWait) { // What else the consumer awaits an answer to may not have been read yet.
			return false
		}
		undelivered = false
	}
	if undecidedExhaustion(o.Message) && !undelivered { // The broker cannot be asked any more.
		e := j.exhaustionEvent(lifecycle.MaxDeliveries, c.spokenOf(o.Message), o.Message)
		j.say(e)
		o.Message = o.Message.Clone()
		o.Message.Join(e)
	}
	j.say(vanished(j.view, c, o, missed, undelivered))
	return true
}
