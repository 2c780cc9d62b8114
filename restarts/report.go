package restarts

import (
	"fmt"
	"strings"

	"fleetglass/lifecycle"
)

// Headline says what was in hand when what went away.
func (r *Restart) Headline() string {
	messages, were := "messages", "were"
	if r.Count() == 1 {
		messages, were = "message", "was"
	}
	agents := "agents"
	if len(r.Agents()) == 1 {
		agents = "agent"
	}
	least := ""
	if r.Partial {
		least = "At least "
	}
	verb := "went away"
	if r.Cause == CauseWorkers {
		verb = "may have gone away at once"
	}
	return fmt.Sprintf("%s%d %s of %d %s %s in flight when %s %s", least, r.Count(), messages, len(r.Agents()), agents, were, r.Cause.Words(), verb)
}

// Standing says how far the recovery is, in a sentence.
func (r *Restart) Standing(now lifecycle.Micros) string {
	if open := r.Open(); open > 0 {
		return fmt.Sprintf("The outcome of %d of %d is known, after %s.", len(r.Victims)-open, len(r.Victims), lifecycle.Lasting(r.RecoveryTime(now)))
	}
	text := fmt.Sprintf("Every outcome was known after %s.", lifecycle.Lasting(r.RecoveryTime(now)))
	if r.Cause == CauseWorkers {
		text = strings.Replace(text, "after", "after at least", 1)
	}
	return text
}

const clock = "2006-01-02 15:04:05.000 UTC"

// Markdown is the report of the restart. page is the address of the page of a task.
func (r *Restart) Markdown(page func(task string) string, now lifecycle.Micros) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\nIt happened %s (%s).\n\n", r.Headline(), r.Standing(now), r.When(), r.Cause.Provenance())
	if r.Beyond > 0 {
		fmt.Fprintf(&b, "Only %d of them are followed.\n\n", len(r.Victims))
	}
	fmt.Fprintf(&b, "| task | agent | attempt | what became of it | when |\n|---|---|---|---|---|\n")
	for _, v := range r.Victims {
		at := ""
		if v.ResolvedAt.Known() {
			at = v.ResolvedAt.Time().Format(clock)
		}
		fmt.Fprintf(&b, "| [`%s`](%s) | `%s` | %d | %s | %s |\n", cell(v.TaskID), page(v.TaskID), cell(v.Agent), v.Attempt, v.Fate.Meaning(), at)
	}
	return b.String()
}

// Section is the restart as a section of the recovery report of one of its tasks.
func (r *Restart) Section(task string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## In hand during a restart\n\n%s, %s (%s).\n\n", r.Headline(), r.When(), r.Cause.Provenance())
	for _, v := range r.Victims {
		if v.TaskID == task {
			fmt.Fprintf(&b, "- attempt %d of message %d: %s\n", v.Attempt, v.Message.Seq, v.Fate.Meaning())
		}
	}
	return b.String()
}

// When says the span in which it went away.
func (r *Restart) When() string {
	to := r.To.Time().Format(clock)
	if !r.From.Known() {
		return "before " + to
	}
	return "between " + r.From.Time().Format(clock) + " and " + to
}

// cell makes a text of the fleet fit for code in a cell of a table.
func cell(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '`' || c == '|':
			return '\''
		case c < ' ' || c == 0x7f || c == '\u2028' || c == '\u2029':
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
