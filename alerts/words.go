package alerts

import (
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"
)

// number writes a count with its noun: "1 message waits", "26147 messages wait".
func number(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// span writes how long something lasts, in whole seconds: 42s, 3m5s.
func span(d time.Duration) string { return d.Truncate(time.Second).String() }

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

// cut shortens a text of others to so many characters.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
