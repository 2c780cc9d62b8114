package alerts

import (
	"net/url"
	"strconv"
	"unicode/utf8"
)

// number writes a count with its noun: "1 message waits", "26,147 messages wait".
func number(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// grouped writes a number with separators: 26,147.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
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

// TaskPage is the page of a task.
func TaskPage(id string) string {
	if id == "." || id == ".." { // A path cannot end in a dot segment.
		return "/task?id=" + id
	}
	return "/tasks/" + url.PathEscape(id)
}

// cut shortens a text of others to so many characters.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
