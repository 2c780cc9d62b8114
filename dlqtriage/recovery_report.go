package dlqtriage

import (
	"fmt"
	"strings"
)

// Markdown is the decision about a task as a section of its recovery report. page gives the address of a task's page.
func (r Recovery) Markdown(task string, page func(task string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Recovery\n\n**%s** (rule `%s`, confidence %s). %s\n\n", r.Remedy, r.Rule, r.Confidence, r.Remedy.Meaning())
	for _, reason := range r.Reasons {
		fmt.Fprintf(&b, "- %s\n", reason)
	}
	if len(r.Evidence) > 0 {
		fmt.Fprintf(&b, "\nEvidence:\n\n")
	}
	for _, e := range r.Evidence {
		fmt.Fprintf(&b, "- `%s`", oneLineCode(e.Text))
		if e.At.Known() {
			fmt.Fprintf(&b, " (%s, %s)", e.Provenance, e.At.Time().Format("2006-01-02 15:04:05.000 UTC"))
		} else {
			fmt.Fprintf(&b, " (%s)", e.Provenance)
		}
		switch {
		case e.Event != 0:
			fmt.Fprintf(&b, " [event](%s)", e.Link(task, page))
		case e.Task != "":
			fmt.Fprintf(&b, " [task](%s)", e.Link(task, page))
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "\nWhat would change this:\n\n")
	for _, change := range r.Changes {
		fmt.Fprintf(&b, "- %s\n", change)
	}
	return b.String()
}

// oneLineCode makes a text with names from reports fit for inline code.
func oneLineCode(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
