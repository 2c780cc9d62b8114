package views

import (
	"fmt"
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
}

// EventRows writes events, which are in causal order, as lines: heads of messages and attempts between them, runs of heartbeats as
// one line when fold is set, and gaps where they began.
func EventRows(events []lifecycle.Event, t lifecycle.Trace, selected lifecycle.EventID, fold bool, href func(lifecycle.EventID) string) []EventRow {
	var out []EventRow
	var group string
	var last lifecycle.Micros
	gaps := t.Gaps
	number := map[lifecycle.MessageKey]int{}
	for i, m := range t.Messages {
		number[m.Facts.Key] = i + 1
	}
	for _, e := range events {
		for len(gaps) > 0 && last.Known() && gaps[len(gaps)-1].From >= last && gaps[len(gaps)-1].From <= e.At {
			g := gaps[len(gaps)-1]
			out, gaps = append(out, EventRow{Gap: &g}), gaps[:len(gaps)-1]
		}
		if name := groupOf(e, number); name != group {
			group = name
			out = append(out, EventRow{Group: name})
		}
		if n := len(out); fold && n > 0 && foldable(out[n-1], e) {
			out[n-1].Folded++
			out[n-1].Until = e.At
			out[n-1].On = out[n-1].On || e.ID == selected
			last = e.At
			continue
		}
		out = append(out, EventRow{Event: e, Until: e.At, After: e.At.Sub(last), First: !last.Known(), Href: href(e.ID), On: e.ID == selected})
		last = e.At
	}
	return out
}

func foldable(r EventRow, e lifecycle.Event) bool {
	beat := e.Kind == lifecycle.Heartbeat || e.Kind == lifecycle.ReportHeartbeat
	return beat && r.Group == "" && r.Gap == nil && r.Event.Kind == e.Kind && r.Event.Attempt == e.Attempt && r.Event.Message == e.Message
}

func groupOf(e lifecycle.Event, number map[lifecycle.MessageKey]int) string {
	if e.Message.IsZero() {
		if e.Attempt > 0 {
			return fmt.Sprintf("About the task · attempt %d", e.Attempt)
		}
		return "About the task"
	}
	name := Printable(e.Message.String())
	if n := number[e.Message]; n > 0 {
		name = fmt.Sprintf("Message %d · %s", n, name)
	}
	if e.Attempt > 0 {
		return fmt.Sprintf("%s · attempt %d", name, e.Attempt)
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

func afterText(r EventRow) string {
	switch {
	case r.First:
		return ""
	case r.After < 0:
		return Duration(r.After)
	}
	return "+" + Duration(r.After)
}
