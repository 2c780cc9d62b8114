package views

import (
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"fleetglass/dlqtriage"
)

// MessageText is a message as text, for comparing: its subject, its headers, and its body.
type MessageText struct {
	Subject string
	Headers []Param
	Body    []byte
}

// messageOf is what a retry publishes, as text.
func messageOf(m dlqtriage.Message) MessageText {
	out := MessageText{Subject: m.Subject, Body: m.Payload}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		out.Headers = append(out.Headers, Param{Name: name, Value: m.Headers[name]})
	}
	return out
}

// maxCompared is how much of a body is compared, in bytes.
const maxCompared = 64 << 10

// lines writes subject and headers, an empty line and the body. What is not printable is written out, so that no line hides another one.
func (m MessageText) lines() (text string, more bool) {
	var out strings.Builder
	out.WriteString("Subject: " + Printable(m.Subject) + "\n")
	for _, h := range m.Headers {
		out.WriteString(Printable(h.Name) + ": " + Printable(h.Value) + "\n")
	}
	body, more := PrettyJSON(m.Body, maxCompared)
	out.WriteString("\n" + strings.TrimSuffix(body, "\n") + "\n")
	return out.String(), more
}

// DiffRow is a line of two texts beside each other. What stands on one side only is empty on the other.
type DiffRow struct {
	Left, Right DiffSide
	Skipped     int // So many equal lines are left out here; the sides are empty then.
}

// DiffSide is one side of a row.
type DiffSide struct {
	Kind   string // del, add, same, or empty for nothing.
	Text   string
	Locked bool // A header that no edit changes.
}

// MessageDiff is two messages beside each other.
type MessageDiff struct {
	Rows []DiffRow
	Same bool // They do not differ.
	More bool // Of one of them only the beginning was compared.
}

// diffContext is how many equal lines stand around those that differ.
const diffContext = 3

// CompareMessages puts two messages beside each other.
func CompareMessages(before, after MessageText) MessageDiff {
	left, moreLeft := before.lines()
	right, moreRight := after.lines()
	out := MessageDiff{Same: left == right, More: moreLeft || moreRight}
	unified, err := udiff.ToUnifiedDiff("", "", left, udiff.Lines(left, right), diffContext)
	if err != nil { // The edits are those of the text.
		return out
	}
	at := 1
	for _, h := range unified.Hunks {
		out.skip(h.FromLine - at)
		at = h.FromLine + out.hunk(h)
	}
	out.skip(strings.Count(left, "\n") - at + 1)
	return out
}

func (d *MessageDiff) skip(lines int) {
	if lines > 0 && !d.Same {
		d.Rows = append(d.Rows, DiffRow{Skipped: lines})
	}
}

// hunk adds the lines of a hunk: what was taken away beside what stands there now. It returns how many lines of the left it has.
func (d *MessageDiff) hunk(h *udiff.Hunk) (lines int) {
	var gone, come []string
	flush := func() {
		for i := range max(len(gone), len(come)) {
			d.Rows = append(d.Rows, DiffRow{Left: sideOf("del", gone, i), Right: sideOf("add", come, i)})
		}
		gone, come = nil, nil
	}
	for _, l := range h.Lines {
		text := strings.TrimSuffix(l.Content, "\n")
		switch l.Kind {
		case udiff.Delete:
			gone = append(gone, text)
			lines++
		case udiff.Insert:
			come = append(come, text)
		default:
			flush()
			same := sideOf("same", []string{text}, 0)
			d.Rows = append(d.Rows, DiffRow{Left: same, Right: same})
			lines++
		}
	}
	flush()
	return lines
}

func sideOf(kind string, lines []string, i int) DiffSide {
	if i >= len(lines) {
		return DiffSide{}
	}
	name, _, _ := strings.Cut(lines[i], ":")
	return DiffSide{Kind: kind, Text: lines[i], Locked: slices.ContainsFunc(dlqtriage.LockedHeaders(), func(h string) bool { return strings.EqualFold(h, name) })}
}
