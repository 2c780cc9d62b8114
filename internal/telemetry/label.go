package telemetry

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// agentLimit is how many agents have labels of their own; the rest is "other".
const agentLimit = 200

// agentLabels are the agents that have labels of their own: those that were seen first keep them, so that no series changes its meaning
// when others come. It is safe for concurrent use.
type agentLabels struct {
	mu    sync.Mutex
	known map[string]bool
}

// label is the label of an agent: its name, or "other" where there are too many.
func (l *agentLabels) label(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.known[name]:
	case len(l.known) >= agentLimit:
		return "other"
	default:
		if l.known == nil {
			l.known = map[string]bool{}
		}
		l.known[name] = true
	}
	return printable(name)
}

// printable replaces control characters: who looks at /metrics in a terminal would let them act.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(name, string(utf8.RuneError)))
}
