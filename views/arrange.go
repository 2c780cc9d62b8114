package views

import (
	"cmp"
	"slices"

	"fleetglass/lifecycle"
)

// Placed is an event with its place in the story: the message and attempt that it belongs to, also where the line itself names
// neither.
type Placed struct {
	lifecycle.Event
	Index int // Of the message in the trace, from 0; -1 when no stored message is known.
	Turn  int // Attempt, 0 for what comes before the attempts, end for what comes after them.

	// Former is whether the attempt is one that a former incarnation of the consumer made.
	Former bool

	// Consumer is whose attempt it is, where several consumers take the message: as [lifecycle.Attempt] says.
	Consumer string
	phase    lifecycle.Phase
}

func (p Placed) turn() turn { return turn{p.Index, p.Turn, p.Former, p.Consumer} }

// order is the place of the attempt among those of its consumer: former incarnations come first.
func (p Placed) order() int {
	if p.Turn == 0 || p.Former {
		return p.Turn
	}
	return p.Turn + 1<<28
}

// stage puts what comes before the attempts and what comes after them around those of all consumers.
func (p Placed) stage() int {
	switch p.Turn {
	case 0:
		return 0
	case end:
		return 2
	}
	return 1
}

// end is the turn of what ends a message without naming an attempt.
const end = 1 << 30

// shownAt is an instant as lists show it. Within a millisecond clocks order nothing: the broker's time of a confirmation may be before that of the captured answer.
func shownAt(at lifecycle.Micros) lifecycle.Micros { return at - at%1000 }

// Arrange puts events into the order of the story: by message, then attempt, then time. Message and attempt decide; clocks only
// order what happened within one attempt, and what happened within one millisecond is ordered by its cause.
func Arrange(events []lifecycle.Event, t lifecycle.Trace) []Placed {
	index := map[lifecycle.MessageKey]int{}
	byMsgID := map[string]int{}
	for i, m := range t.Messages {
		index[m.Facts.Key] = i
		if m.Facts.Stored != nil && m.Facts.Stored.MsgID != "" {
			byMsgID[m.Facts.Stored.MsgID] = i
		}
	}
	out := make([]Placed, 0, len(events))
	for _, e := range events {
		row := e.Kind.Row()
		p := Placed{Event: e, Index: -1, phase: row.Phase}
		if i, ok := index[e.Message]; ok {
			p.Index = i
		} else if i, ok := byMsgID[e.Detail.MsgID]; ok {
			p.Index = i
		} else if len(t.Messages) > 0 {
			p.Index = messageAt(t, e.At)
		}
		m := partOf(t, p.Index, e)
		p.Turn = turnOf(e, row.Turn, m)
		p.Former = formerTurn(p, m)
		if p.stage() == 1 && m != nil {
			p.Consumer = consumerName(t.Messages[p.Index], m)
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Placed) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.stage(), b.stage()), cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.order(), b.order()), cmp.Compare(shownAt(a.At), shownAt(b.At)), cmp.Compare(a.phase, b.phase), cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// messageAt is the last message that was stored before an instant.
func messageAt(t lifecycle.Trace, at lifecycle.Micros) int {
	found := 0
	for i, m := range t.Messages {
		if m.Facts.Stored != nil && m.Facts.Stored.At <= at {
			found = i
		}
	}
	return found
}

// partOf is the message of an event as the event's consumer has it; nil where no stored message is known.
func partOf(t lifecycle.Trace, index int, e lifecycle.Event) *lifecycle.MessageTrace {
	if index < 0 {
		return nil
	}
	return t.Messages[index].Part(e.Consumer)
}

// consumerName is the name of the consumer whose part of a message it is, where the message has several.
func consumerName(whole lifecycle.MessageTrace, part *lifecycle.MessageTrace) string {
	if len(whole.Others) == 0 {
		return ""
	}
	return part.Facts.Consumer
}

func turnOf(e lifecycle.Event, turn lifecycle.Turn, m *lifecycle.MessageTrace) int {
	switch {
	case e.Attempt > 0:
		return e.Attempt
	case turn == lifecycle.OfDelivery:
		return deliveryTurn(e, m)
	case turn == lifecycle.BeforeAttempts:
		return 0
	case turn == lifecycle.AtItsTime:
		return attemptAt(m, e.At)
	}
	return end
}

// formerTurn reports whether an event of a numbered attempt is from before the consumer was created anew, or speaks of one that was made before.
func formerTurn(p Placed, m *lifecycle.MessageTrace) bool {
	if m == nil || p.Turn == 0 || p.Turn == end {
		return false
	}
	since := m.Facts.RecreatedAt
	return p.Detail.Former || (since.Known() && p.At < since)
}

// deliveryTurn is the attempt of a delivery that broker state showed without its number: the one with its consumer sequence.
func deliveryTurn(e lifecycle.Event, m *lifecycle.MessageTrace) int {
	if m != nil && e.ConsumerSeq != 0 {
		for _, a := range m.Attempts {
			if a.ConsumerSeq == e.ConsumerSeq {
				return a.N
			}
		}
	}
	return attemptAt(m, e.At)
}

// attemptAt is the attempt of a message that had begun at an instant.
func attemptAt(m *lifecycle.MessageTrace, at lifecycle.Micros) int {
	if m == nil {
		return end
	}
	found := end
	for _, a := range m.Attempts {
		if a.BeganAt.Known() && a.BeganAt <= at {
			found = a.N
		}
	}
	return found
}

// Events are the events of a story, in its order.
func Events(placed []Placed) []lifecycle.Event {
	out := make([]lifecycle.Event, len(placed))
	for i, p := range placed {
		out[i] = p.Event
	}
	return out
}

// caughtLook is how a publish that the stream swallowed looks.
var caughtLook = look{"m-dup", "dup", "duplicate caught"}

// caughtPublishes are the publish attempts that the stream swallowed.
func caughtPublishes(t lifecycle.Trace) map[lifecycle.EventID]bool {
	out := map[lifecycle.EventID]bool{}
	for _, p := range t.Facts.Publishes {
		for _, a := range p.Caught() {
			out[a.ID] = true
		}
	}
	return out
}
