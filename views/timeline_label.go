package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// EndLabel says in words what stands at a place of a lane. It contains untrusted text.
type EndLabel struct {
	X     float64
	Left  bool   // The text ends at its place instead of beginning there.
	Text  string // As much of it as there is room for.
	Whole string
	Tone  string
	Href  string // Address of the event that says so; empty where none does.
}

// name is what screen readers say: what is seen, and all of it where that is cut.
func (e EndLabel) name() string {
	if e.Text == e.Whole {
		return e.Whole
	}
	return e.Text + " In full: " + e.Whole
}

// endLabel says why an attempt ended, at the mark of its end. A lane of many has no room; its marks say it.
func (b *builder) endLabel(lane *Lane, a lifecycle.Attempt, events []lifecycle.Event) {
	if b.tl.Compact || !a.EndedAt.Known() || a.End == lifecycle.EndOpen || a.End == lifecycle.EndAcked {
		return
	}
	whole := endWord(a, events)
	if words := endReasons(a, events); len(words) > 0 {
		whole += ": " + strings.Join(words, " · ")
	}
	if a.NakDelayNs > 0 {
		whole += " · asked for " + lifecycle.Lasting(time.Duration(a.NakDelayNs))
	}
	silence := ""
	if a.Silent {
		silence = " · nothing was seen of it"
	}
	for _, bar := range lane.Bars {
		if bar.Kind == BarSilent {
			silence = " · no sign of life for " + bar.Text
		}
	}
	whole += silence
	lane.Label = placeLabel(b.scale.x(a.EndedAt), whole)
	lane.Label.Tone = lane.Look.Tone
	if e := endEvent(a, events); e != nil {
		lane.Label.Href = b.href(e.ID)
	}
}

func endWord(a lifecycle.Attempt, events []lifecycle.Event) string {
	completed := func(e lifecycle.Event) bool { return e.Kind == lifecycle.CompletionRecorded }
	switch {
	case a.End == lifecycle.EndTimedOut && slices.ContainsFunc(events, completed):
		return "completion recorded, no ack"
	case a.End == lifecycle.EndTimedOut:
		return "no answer"
	case a.End == lifecycle.EndTerminated:
		return "term"
	}
	return endLook(a).Word
}

// endReasons are what the worker, its report, the broker or the rules say about the end of an attempt, each text once.
func endReasons(a lifecycle.Attempt, events []lifecycle.Event) []string {
	var out []string
	add := func(text string) {
		text = strings.TrimSpace(Printable(text))
		known := func(o string) bool { return strings.Contains(o, text) }
		if text != "" && !slices.ContainsFunc(out, known) {
			out = append(out, text)
		}
	}
	add(a.Reason)
	for _, p := range []lifecycle.Provenance{lifecycle.Observed, lifecycle.Reported, lifecycle.Broker, lifecycle.Inferred} {
		for _, e := range events {
			if e.Provenance == p && tellsEnd(e, a) {
				add(e.Detail.Reason)
			}
		}
	}
	return out
}

// tellsEnd reports whether an event says something about the end that the attempt had.
func tellsEnd(e lifecycle.Event, a lifecycle.Attempt) bool {
	switch e.Kind {
	case lifecycle.ReportFailed:
		return true
	case lifecycle.Nacked, lifecycle.NakConfirmed:
		return a.End == lifecycle.EndNacked
	case lifecycle.Terminated, lifecycle.TermConfirmed:
		return a.End == lifecycle.EndTerminated
	case lifecycle.LeaseExpired, lifecycle.PresumedDead:
		return a.End == lifecycle.EndTimedOut
	}
	return false
}

// endEvent is the event to open for the end of an attempt: the one with the reason, else the first that tells of it.
func endEvent(a lifecycle.Attempt, events []lifecycle.Event) *lifecycle.Event {
	var found *lifecycle.Event
	for i, e := range events {
		if tellsEnd(e, a) && (found == nil || (found.Detail.Reason == "" && e.Detail.Reason != "")) {
			found = &events[i]
		}
	}
	return found
}

// placeLabel puts a text right of its place where it fits there, else left where it fits there, else to the side with more room.
func placeLabel(x float64, whole string) *EndLabel {
	const space = 14
	right, left := int(((1-x)*laneWidth-space)/letter), int((x*laneWidth-space)/letter)
	n := len([]rune(whole))
	l := &EndLabel{X: x, Whole: whole, Left: n > right && (n <= left || left > right)}
	room := right
	if l.Left {
		room = left
	}
	l.Text = Cut(whole, max(2, room))
	return l
}

// messageLabel says beside the marks of a message how many publishes of it were caught, or that it is a retry, where no mark is in the way.
func (l *Lane) messageLabel(caught, generation int) {
	switch {
	case caught > 0:
		l.labelAfter(caughtLook, numbered(int64(caught), "duplicate caught", "duplicates caught"))
	case generation > 0:
		l.labelAfter(kindLook(lifecycle.Published), "retry, generation "+strconv.Itoa(generation))
	}
}

// labelAfter puts a text after the last mark of a look.
func (l *Lane) labelAfter(after look, text string) {
	from := 0.0
	for _, m := range l.Marks {
		if m.Look == after {
			from = max(from, m.X+m.Dx/laneWidth)
		}
	}
	to := from + textRoom(text)
	for _, m := range l.Marks {
		if at := m.X + m.Dx/laneWidth; to > 1 || (at > from && at < to) {
			return
		}
	}
	l.Label = &EndLabel{X: from, Text: text, Whole: text, Tone: after.Tone}
}
