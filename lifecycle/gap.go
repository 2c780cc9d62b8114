package lifecycle

import "strings"

// What the sources of gaps begin with that concern one stream only.
const (
	uncaptured = "acknowledgements of "
	clockOf    = "clock of "
)

// Uncaptured is the source of the gap that says that nobody captures the acknowledgements of a stream.
func Uncaptured(stream string) string { return uncaptured + stream }

// Clock is the source of the gap that says that the clock by which a stream is kept jumped.
func Clock(stream string) string { return clockOf + stream }

// Concerns reports whether lines about the messages of a stream may have been missed in the gap.
func (g Gap) Concerns(stream string) bool {
	only, bound := g.only()
	return !bound || only == stream
}

// only is the stream that the gap is bound to.
func (g Gap) only() (stream string, bound bool) {
	for _, kind := range []string{uncaptured, clockOf} {
		if stream, bound = strings.CutPrefix(g.Source, kind); bound {
			return stream, true
		}
	}
	return "", false
}

// Everywhere reports whether the gap concerns every stream.
func (g Gap) Everywhere() bool {
	_, bound := g.only()
	return !bound
}

// OfClock reports whether the gap says that a clock jumped: its times were left out, or come twice.
func (g Gap) OfClock() bool { return strings.HasPrefix(g.Source, clockOf) }
