package lifecycle

import "strings"

// uncaptured begins the source of a gap that concerns one stream only.
const uncaptured = "acknowledgements of "

// Uncaptured is the source of the gap that says that nobody captures the acknowledgements of a stream.
func Uncaptured(stream string) string { return uncaptured + stream }

// Concerns reports whether lines about the messages of a stream may have been missed in the gap.
func (g Gap) Concerns(stream string) bool {
	only, bound := strings.CutPrefix(g.Source, uncaptured)
	return !bound || only == stream
}

// Everywhere reports whether the gap concerns every stream.
func (g Gap) Everywhere() bool { return !strings.HasPrefix(g.Source, uncaptured) }
