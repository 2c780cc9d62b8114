package views

import (
	"fmt"
	"slices"

	"fleetglass/lifecycle"
)

func (b *builder) message(i int, m lifecycle.MessageTrace) {
	if len(b.tl.Lanes) >= maxLanes {
		b.tl.Left += 1 + attemptsOfAll(m)
		return
	}
	lane := Lane{Message: true, Y: b.y, H: messageHeight, Name: fmt.Sprintf("Message %d", i+1), Note: Printable(m.Facts.Key.String()), Look: stateLook(m.Verdict.State)}
	start := m.Facts.FirstAt
	if m.Facts.Stored != nil {
		start = m.Facts.Stored.At
	}
	end := b.trace.AsOf
	if !m.Verdict.State.Open() {
		end = max(m.Verdict.Since, start)
	}
	lane.Bars = append(lane.Bars, b.bar(BarLife, start, end))
	b.messageMarks(&lane, i)
	b.add(lane)
	for _, p := range m.Parts() {
		for _, a := range p.Attempts {
			if len(b.tl.Lanes) >= maxLanes {
				b.tl.Left++
				continue
			}
			b.attempt(i, p, a)
		}
		b.waitingLane(p, consumerName(m, &p))
	}
}

// attemptsOfAll counts the attempts of all consumers of a message.
func attemptsOfAll(m lifecycle.MessageTrace) (n int) {
	for _, p := range m.Parts() {
		n += len(p.Attempts)
	}
	return n
}

func (b *builder) add(l Lane) {
	b.y += l.H
	b.tl.Lanes = append(b.tl.Lanes, l)
}

// waitingLane shows the time that the message waits now, for an attempt that has not begun, or that it waited in vain.
func (b *builder) waitingLane(m lifecycle.MessageTrace, consumer string) {
	if len(m.Spans) == 0 {
		return
	}
	s := m.Spans[len(m.Spans)-1]
	if s.Kind != lifecycle.SpanWaiting || (!s.Open && len(m.Attempts) > 0) {
		return
	}
	lane := Lane{Y: b.y, H: b.attemptHeight(), Name: ofConsumer(fmt.Sprintf("Attempt %d", s.Attempt), consumer), Note: "waiting " + lifecycle.Lasting(s.To.Sub(s.From)), Look: look{"published", "wait", "waiting"}}
	if !s.Open {
		lane.Name, lane.Note = "No attempt", "waited "+lifecycle.Lasting(s.To.Sub(s.From))
	}
	lane.Bars = []Bar{b.bar(BarWaiting, s.From, s.To)}
	b.add(lane)
}

func (b *builder) attemptHeight() float64 {
	if b.tl.Compact {
		return compactHeight
	}
	return attemptHeight
}

func (b *builder) attempt(i int, m lifecycle.MessageTrace, a lifecycle.Attempt) {
	lane := Lane{Y: b.y, H: b.attemptHeight(), Name: attemptName(a, m.Consumer), Look: attemptLook(a, m)}
	if a.End == lifecycle.EndOpen && m.Verdict.State.InFlight() && m.Lease != nil && m.Lease.Stale != "" {
		lane.Look = staleLook(m.Lease.Stale)
	}
	events := b.turns[turn{i, a.N, a.Former, a.Consumer}]
	own := slices.DeleteFunc(slices.Clone(events), func(e lifecycle.Event) bool { return !byHolder(&b.trace.Facts, e) })
	sign := lastSign(a, own)
	var until lifecycle.Micros
	for _, s := range m.Spans {
		if s.Attempt != a.N || s.Former != a.Former {
			continue
		}
		if s.Kind == lifecycle.SpanRunning {
			until = s.To
		}
		b.spanBars(&lane, s, a, sign)
	}
	lane.Note = lane.Look.Word
	if held := heldWords(a, until); held != "" {
		lane.Note += ", " + held
	}
	if use := usedModel(own); use.CostUSD > 0 {
		lane.Note += ", " + USD(use.CostUSD)
	}
	b.attemptLease(&lane, m, a)
	b.attemptMarks(&lane, events)
	lane.fitTexts()
	b.endLabel(&lane, a, own)
	b.add(lane)
}

func attemptName(a lifecycle.Attempt, c *lifecycle.ConsumerState) string {
	name := fmt.Sprintf("Attempt %d", a.N)
	switch {
	case a.Former && a.Consumer == "":
		return name + ", former consumer"
	case a.Former:
		return ofConsumer(name, "former "+a.Consumer)
	case c != nil && c.MaxDeliver >= a.N:
		name = fmt.Sprintf("%s of %d", name, c.MaxDeliver)
	}
	return ofConsumer(name, a.Consumer)
}

// ofConsumer says whose attempt it is, where that has to be said.
func ofConsumer(name, consumer string) string {
	if consumer == "" {
		return name
	}
	return name + ", " + Printable(consumer)
}
