package dlqtriage

import (
	"regexp"
	"strconv"
)

// statusPatterns find an HTTP status in running text. A bare number says nothing: it may count rows or milliseconds. So a word before it, or
// the status's own phrase behind it, must show that a status is meant.
var statusPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:https?(?:/[0-9.]+)?|status(?:[ _-]?code)?|(?:error|response|http)[ _-]?code)["']?\s*(?:error\s*)?[:=(]{0,2}\s*["']?([45][0-9]{2})\b`),
	regexp.MustCompile(`(?i)(?:^|[\s("'\[=:])([45][0-9]{2})["']?[\s:,-]+(?:\{|\(?(?:too many requests|forbidden|unauthori[sz]ed|bad request|not found|gone|service (?:temporarily )?unavailable|` +
		`overloaded|bad gateway|gateway time-?out|internal server error|client error|server error|secondary rate|rate limit|request entity|payload too large|payment required)\b)`),
	regexp.MustCompile(`(?i)\b(?:returned|answered|answers|responded|replied|got|received|error|failed with)(?: with)?(?: an?)?(?: http)?[\s:(]{1,2}([45][0-9]{2})(?:\s*$|[.,:;)\]"']|\s+(?:from|by|on /|error|response|status))`),
	regexp.MustCompile(`(?i)(?:^|[\s(:])([45][0-9]{2})\s+(?:from|by) (?:the |an? )?(?:llm |model )?(?:provider|api|upstream|server|github|gateway|proxy|anthropic|openai|claude|gemini|bedrock|vertex)`),
}

// statusIn returns the HTTP status that a text names, with the words that name it; zero when it names none.
func statusIn(text string) (status int, words string) {
	first := -1
	for _, p := range statusPatterns {
		at := p.FindStringSubmatchIndex(text)
		if at == nil || (first >= 0 && at[2] >= first) {
			continue
		}
		first = at[2]
		status, _ = strconv.Atoi(text[at[2]:at[3]])
		words = excerpt(text, at[0], at[1])
	}
	return status, words
}
