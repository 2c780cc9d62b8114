package alerts

import (
	"net/url"
	"unicode/utf8"

	"fleetglass/lifecycle"
)

// number writes a count with its noun: "1 message waits", "26,147 messages wait".
func number(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return lifecycle.Grouped(n) + " " + many
}

// agentPage is the page of an agent; without a name that of all.
func agentPage(agent string) string {
	switch agent {
	case "":
		return "/agents"
	case ".", "..": // A path cannot end in a dot segment.
		return "/tasks?agent=" + agent
	}
	return "/agents/" + url.PathEscape(agent)
}

// taskName is how a sentence names a task: its title in quotation marks, or its id.
func taskName(title, id string) string {
	if title == "" {
		return cut(id, 80)
	}
	return "“" + cut(title, 80) + "”"
}

// cut shortens a text of others to so many characters.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
