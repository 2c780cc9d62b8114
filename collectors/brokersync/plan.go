package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// Facts is what the store knows about the messages that a poll looks at.
type Facts struct {
	Open     []lifecycle.OpenMessage             // Unsettled, in sequence order, of the incarnation that the look is about.
	Settled  []lifecycle.MessageFacts            // In the stream, yet settled by the store's account.
	Answered []lifecycle.MessageFacts            // Messages that a consumer delivered last and that are settled.
	Others   map[string][]lifecycle.MessageFacts // By consumer: settled messages that its open deliveries may belong to. Missing where not asked.
	Early    map[string]bool                     // By consumer: it is too early to ask for Others.
	Missing  map[uint64]lifecycle.Micros         // Since when an open message is known to be missing from the stream.
}

// Waits are how long a poll waits before it believes what it sees.
type Waits struct {
	Refute time.Duration // An answered message must still be there so long after.
	Vanish time.Duration // A missing message must have been missing so long, and all lines up to then be stored.
	Orphan time.Duration // A message must have been without a consumer so long.
}

// Result is what follows from a look and the facts.
type Result struct {
	Events  []lifecycle.Event
	Missing []uint64 // Open messages that are not in the stream and are not explained yet.
	Ask     []uint64 // Whether these are in the stream must be asked before more can be said about them.
	Repair  []uint64 // Messages in the stream whose publish line was lost.
}

// Plan compares what the broker says with what the store knows. It is pure: the same look and facts give the same result.
func Plan(look Look, facts Facts, w Waits) Result {
	p := planner{look: look, facts: facts, waits: w, hands: map[string]*Hands{}}
	open := slices.Clone(facts.Open)
	p.sort(open)
	for i := range open {
		open[i].Message = open[i].Message.Clone()
		p.inHand(&open[i].Message)
	}
	for i := range open {
		p.judge(open[i])
	}
	for _, m := range facts.Settled {
		p.out.Events = append(p.out.Events, refuted(look, look.consumerOf(m), m, w.Refute)...)
	}
	for _, m := range facts.Answered {
		if c := look.consumerOf(m); c != nil {
			p.out.Events = append(p.out.Events, answeredDelivery(look, *c, m)...)
		}
	}
	return p.out
}

type planner struct {
	look  Look
	facts Facts
	waits Waits
	hands map[string]*Hands // By consumer.
	said  map[lifecycle.MessageKey][]lifecycle.Event
	out   Result
}

// sort finds what every consumer has in hand, and attributes its deliveries.
func (p *planner) sort(open []lifecycle.OpenMessage) {
	for _, o := range open {
		m := o.Message
		c := p.look.consumerOf(m)
		if c == nil || m.Key.Seq > c.DeliveredSeq || c.DeliveredCSeq == 0 {
			continue
		}
		h := p.hands[c.Name]
		if h == nil {
			h = &Hands{}
			h.Others, h.Complete = p.facts.Others[c.Name]
			p.hands[c.Name] = h
		}
		present, known := p.look.Present.Has(m.Key.Seq)
		switch {
		case !known:
			p.out.Ask = append(p.out.Ask, m.Key.Seq)
		case present && !exhausted(m, *c):
			h.Messages = append(h.Messages, m)
		default:
			h.Others = append(h.Others, m)
		}
	}
	p.said = map[lifecycle.MessageKey][]lifecycle.Event{}
	for i := range p.look.Consumers {
		c := p.look.Consumers[i]
		if h := p.hands[c.Name]; h != nil {
			for _, e := range deliveries(p.look, c, *h) {
				p.said[e.Message] = append(p.said[e.Message], e)
			}
		}
	}
}

// exhausted reports whether the broker said that no attempt is left, and its consumer is still the one that it spoke of.
func exhausted(m lifecycle.MessageFacts, c Consumer) bool {
	return m.MaxDeliveriesAt.Known() && m.MaxDeliveriesAt >= c.CreatedAt
}

// inHand adds what was found out about the deliveries of m to its facts.
func (p *planner) inHand(m *lifecycle.MessageFacts) {
	events := p.said[m.Key]
	if c := p.look.consumerOf(*m); len(events) == 0 && c != nil && p.held(*m, *c) && !p.pending(*m, *c) {
		events = inHandUnknown(p.look, *c, *m)
	}
	for _, e := range events {
		m.Join(e)
	}
	p.out.Events = append(p.out.Events, events...)
}

// held reports whether the broker and the store agree on what the consumer has in hand, m among it.
func (p *planner) held(m lifecycle.MessageFacts, c Consumer) bool {
	h := p.hands[c.Name]
	if h == nil || !slices.ContainsFunc(h.Messages, func(x lifecycle.MessageFacts) bool { return x.Key == m.Key }) {
		return false
	}
	if c.MaxAckPending == 1 {
		return c.AckPending == 1 && m.Key.Seq == c.DeliveredSeq
	}
	return len(h.Messages) == c.AckPending
}

// patience is how long a message may have been stored while a better moment to attribute its delivery is waited for.
const patience = 10 * time.Second

// pending reports whether a later look may tell which delivery is that of m.
func (p *planner) pending(m lifecycle.MessageFacts, c Consumer) bool {
	if c.MaxAckPending == 1 {
		return false
	}
	young := m.Stored != nil && m.Stored.At.Add(patience) > p.look.ConsumersAt
	return p.facts.Early[c.Name] || (young && p.look.Drained < c.quietSince().Add(settle))
}

func (p *planner) judge(o lifecycle.OpenMessage) {
	m := o.Message
	c := p.look.consumerOf(m)
	present, known := p.look.Present.Has(m.Key.Seq)
	switch {
	case !known:
	case !present:
		p.missing(c, o)
	default:
		if m.Stored == nil && m.Key.Seq <= p.look.Verifiable {
			p.out.Repair = append(p.out.Repair, m.Key.Seq)
		}
		p.out.Events = append(p.out.Events, served(p.look, c, m, p.waits.Orphan)...)
		if c == nil {
			return
		}
		if events := recreated(*c, m); len(events) > 0 {
			p.out.Events = append(p.out.Events, events...)
			return
		}
		p.out.Events = append(p.out.Events, leases(p.look, *c, o)...)
	}
}

func (p *planner) missing(c *Consumer, o lifecycle.OpenMessage) {
	m := o.Message
	if m.VanishedAt.Known() {
		return
	}
	p.out.Missing = append(p.out.Missing, m.Key.Seq)
	since, ok := p.facts.Missing[m.Key.Seq]
	if !ok || p.look.Drained < since.Add(p.waits.Vanish) {
		return
	}
	p.out.Events = append(p.out.Events, vanished(p.look, c, o, since))
}
