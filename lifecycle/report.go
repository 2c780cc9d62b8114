package lifecycle

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Report writes a trace as markdown for people and agents: the recovery report, with sections of the caller's after the answers. Text that
// came from the fleet is set in code and cut to one line, because it is untrusted.
func Report(t Trace, sections ...string) string {
	var b strings.Builder
	s := t.Summary
	fmt.Fprintf(&b, "# Task %s\n\n", code(s.TaskID))
	fmt.Fprintf(&b, "State: **%s** (%s) %s\n\n", s.State, s.Rule, sinceText(s.StateSince))
	fmt.Fprintf(&b, "| | |\n|---|---|\n")
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", name, value)
		}
	}
	row("Agent", code(s.Agent))
	row("Type", code(s.Type))
	row("Title (untrusted)", code(s.Title))
	row("Newest message", code(messageText(s.Message)))
	took := func(name string, d time.Duration) {
		if d > 0 { // Beside a time that could not be split, zero would read as none.
			row(name, Lasting(d))
		}
	}
	took("Waiting", t.Waiting)
	took("Running", t.Running)
	took("Waiting or running (delivery not observed)", t.Unsplit)
	row("Duplicate publishes caught by the stream", fmt.Sprint(s.Duplicates))
	fmt.Fprintf(&b, "\n## Answers\n\n")
	fmt.Fprintf(&b, "- Who owns it? %s\n", answerText(t.Answers.Ownership))
	fmt.Fprintf(&b, "- Last durable receipt: %s\n", answerText(t.Answers.LastReceipt))
	fmt.Fprintf(&b, "- What comes next? %s\n", answerText(t.Answers.Recovery))
	for _, section := range sections {
		b.WriteString(section)
	}
	reportMessages(&b, t)
	reportDoubts(&b, t)
	fmt.Fprintf(&b, "\nAs of %s.\n", clock(t.AsOf))
	return b.String()
}

func reportMessages(b *strings.Builder, t Trace) {
	for _, m := range t.Messages {
		fmt.Fprintf(b, "\n## Message %s\n\n", code(m.Facts.Key.String()))
		fmt.Fprintf(b, "State: %s (%s).", m.Verdict.State, m.Verdict.Rule)
		if m.Facts.Stored != nil {
			fmt.Fprintf(b, " Stored %s on %s.", clock(m.Facts.Stored.At), code(m.Facts.Stored.Subject))
		}
		fmt.Fprintf(b, "\n\n")
		reportAttempts(b, m)
		for _, o := range m.Others {
			fmt.Fprintf(b, "\n%s takes it too: %s (%s).\n\n", code(o.Facts.Consumer), o.Verdict.State, o.Verdict.Rule)
			reportAttempts(b, o)
		}
	}
}

func reportAttempts(b *strings.Builder, m MessageTrace) {
	if len(m.Attempts) == 0 {
		fmt.Fprintf(b, "No delivery is known.\n")
		return
	}
	fmt.Fprintf(b, "| attempt | began | ended | how |\n|---|---|---|---|\n")
	for _, a := range m.Attempts {
		fmt.Fprintf(b, "| %d | %s | %s | %s |\n", a.N, instantText(a.BeganAt, !a.BeganExact && !a.BeganSaid), instantText(a.EndedAt, a.EndedLatest), endText(a))
	}
}

func reportDoubts(b *strings.Builder, t Trace) {
	if len(t.Summary.Anomalies) > 0 {
		fmt.Fprintf(b, "\n## Anomalies\n\n")
		for _, c := range t.Summary.Anomalies {
			fmt.Fprintf(b, "- `%s`: %s\n", c, c.Meaning())
		}
	}
	if len(t.Gaps) > 0 {
		fmt.Fprintf(b, "\n## Not observed\n\n")
		for _, g := range t.Gaps {
			fmt.Fprintf(b, "- %s: %s to %s. %s\n", code(g.Source), clock(g.From), instantText(g.To, false), code(g.Reason))
		}
	}
}

func endText(a Attempt) string {
	text := strings.ReplaceAll(string(a.End), "_", " ")
	if a.Silent {
		text += ", no line of it was seen"
	}
	if a.Reason != "" {
		text += ": " + code(a.Reason)
	}
	return text
}

func answerText(a Answer) string {
	if !a.At.Known() {
		return fmt.Sprintf("%s. %s (%s)", a.Headline, a.Text, a.Provenance)
	}
	return fmt.Sprintf("%s. %s (%s, %s)", a.Headline, a.Text, a.Provenance, clock(a.At))
}

func sinceText(m Micros) string {
	if !m.Known() {
		return ""
	}
	return "since " + clock(m)
}

func instantText(m Micros, bound bool) string {
	switch {
	case !m.Known():
		return "not known"
	case bound:
		return "by " + clock(m)
	}
	return clock(m)
}

func messageText(k MessageKey) string {
	if k.IsZero() {
		return ""
	}
	return k.String()
}

// maxReportText bounds untrusted text in reports, in bytes.
const maxReportText = 200

// code sets untrusted text as inline code: no line breaks, no backticks or table bars, bounded, valid UTF-8.
func code(s string) string {
	if s == "" {
		return ""
	}
	if len(s) > maxReportText {
		s = s[:maxReportText] + "…"
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case r == '|':
			return '¦'
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, s)
	return "`" + s + "`"
}
