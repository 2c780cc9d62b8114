package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// EventRow is a line of the list of events: an event, folded heartbeats, a gap, or the head of a group.
type EventRow struct {
	Group  string // The head of a group; nothing else is set then.
	Gap    *lifecycle.Gap
	Event  lifecycle.Event
	Folded int              // Further heartbeats that the line stands for.
	Until  lifecycle.Micros // Of the last of them.
	After  time.Duration    // Since the line before; negative when clocks disagree.
	First  bool             // There is no line before.
	Href   string
	On     bool // Selected.
	Caught bool // A publish that the stream swallowed.

	Stranger bool // A report of an agent that is not known to have had the message.
}

// text is what the line says of its event, after who says it where that counts for nothing.
func (r EventRow) text() string {
	text := EventText(r.Event)
	if !r.Stranger {
		return text
	}
	return strings.TrimSuffix(Printable(r.Event.Agent)+" is not known to have had the message · "+text, " · ")
}

// EventRows writes the events of a story as lines: heads of messages and attempts between them, runs of heartbeats as one line when
// fold is set, and gaps where they began.
func EventRows(events []Placed, t lifecycle.Trace, selected lifecycle.EventID, fold bool, href func(lifecycle.EventID) string) []EventRow {
	var out []EventRow
	var group string
	var last lifecycle.Micros
	caught := caughtPublishes(t)
	gaps := slices.Clone(t.Gaps)
	slices.Reverse(gaps)
	for _, e := range events {
		for len(gaps) > 0 && last.Known() && gaps[0].From <= e.At {
			if gaps[0].From >= last {
				out = append(out, EventRow{Gap: &gaps[0]})
			}
			gaps = gaps[1:]
		}
		name := groupOf(e, t)
		head := name != group
		if head {
			group = name
			out = append(out, EventRow{Group: name})
		}
		if n := len(out); fold && foldable(out[n-1], e.Event) {
			out[n-1].Folded++
			out[n-1].Until = e.At
			out[n-1].On = out[n-1].On || e.ID == selected
			last = e.At
			continue
		}
		row := EventRow{Event: e.Event, Until: e.At, After: shownAt(e.At).Sub(shownAt(last)), First: !last.Known(), Href: href(e.ID), On: e.ID == selected, Caught: caught[e.ID]}
		row.Stranger = !byHolder(&t.Facts, e.Event)
		if head && row.After < 0 { // Another message or attempt may begin before the last line of the one before.
			row.First = true
		}
		out = append(out, row)
		last = e.At
	}
	return out
}

func foldable(r EventRow, e lifecycle.Event) bool {
	return e.Kind.IsBeat() && r.Group == "" && r.Gap == nil && r.Event.Kind == e.Kind && r.Event.Agent == e.Agent
}

func groupOf(e Placed, t lifecycle.Trace) string {
	if e.Index < 0 {
		return "No stored message is known"
	}
	m := t.Messages[e.Index]
	name := Printable(m.Facts.Key.String())
	if len(t.Messages) > 1 {
		name = fmt.Sprintf("Message %d · %s", e.Index+1, name)
	}
	switch {
	case e.Turn == 0 && m.Facts.Stored != nil && m.Facts.Stored.Generation > 0:
		return fmt.Sprintf("%s · generation %d", name, m.Facts.Stored.Generation)
	case e.Turn == end:
		return name + " · after its attempts"
	case e.Turn > 0:
		part := m.Part(e.Consumer)
		for _, a := range part.Attempts {
			if a.N == e.Turn && a.Former == e.Former {
				return fmt.Sprintf("%s · %s · %s", name, strings.ToLower(attemptName(a, part.Consumer)), attemptLook(a, *part).Word)
			}
		}
		return fmt.Sprintf("%s · %s", name, ofConsumer(fmt.Sprintf("attempt %d", e.Turn), e.Consumer))
	}
	return name
}

// EventPanel is one event in full.
type EventPanel struct {
	Event      lifecycle.Event
	Prev, Next string // Addresses of its neighbours; empty at the ends.
	Link       string // Address of this event.
	JSON       string
	Raw        string // The line, printable; empty when none is kept.
	RawCut     bool   // Raw is the beginning only.
	MaxDeliver int
	Caught     bool // A publish that the stream swallowed.
}

// maxRaw is how much of a raw line the panel shows, in bytes.
const maxRaw = 8 << 10

// RawText makes a captured line readable: its bytes as text where they are text, else as hexadecimal.
func RawText(raw []byte) (text string, cut bool) {
	if len(raw) > maxRaw {
		raw, cut = raw[:maxRaw], true
	}
	return TextOf(raw), cut
}

func (r EventRow) look() look {
	if r.Caught {
		return caughtLook
	}
	return kindLook(r.Event.Kind)
}

func (p EventPanel) look() look {
	if p.Caught {
		return caughtLook
	}
	return kindLook(p.Event.Kind)
}

// tells is what somebody opens the event for, if it says so: why, and how long it was put off.
func (p EventPanel) tells() []string {
	var out []string
	if d := p.Event.Detail; d.Reason != "" {
		out = append(out, d.Reason)
	}
	if d := p.Event.Detail; d.Delay > 0 {
		out = append(out, "A delay of "+lifecycle.Lasting(d.Delay)+" was asked for.")
	}
	return out
}

func (p EventPanel) meaning() string {
	if p.Caught {
		return "The same message id was published again. The stream dropped it as a duplicate: nothing was stored."
	}
	return p.Event.Meaning()
}

func afterText(r EventRow) string {
	switch {
	case r.First:
		return ""
	case r.After < 0:
		return lifecycle.Lasting(r.After)
	}
	return "+" + lifecycle.Lasting(r.After)
}

// TimeRows writes events in order of time, one line each, without heads. Within a millisecond causes come first.
func TimeRows(events []lifecycle.Event, t lifecycle.Trace, selected lifecycle.EventID, href func(lifecycle.EventID) string) []EventRow {
	var out []EventRow
	var last lifecycle.Micros
	events = slices.SortedStableFunc(slices.Values(events), func(a, b lifecycle.Event) int {
		return cmp.Or(cmp.Compare(shownAt(a.At), shownAt(b.At)), cmp.Compare(a.Kind.Row().Phase, b.Kind.Row().Phase))
	})
	for _, e := range events {
		for _, g := range t.Gaps {
			if last.Known() && g.From >= last && g.From < e.At {
				out = append(out, EventRow{Gap: &g})
			}
		}
		out = append(out, EventRow{
			Event: e, Until: e.At, After: shownAt(e.At).Sub(shownAt(last)), First: !last.Known(), Href: href(e.ID), On: e.ID == selected, Stranger: !byHolder(&t.Facts, e),
		})
		last = e.At
	}
	return out
}
