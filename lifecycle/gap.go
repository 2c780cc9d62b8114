package lifecycle

import (
	"cmp"
	"slices"
	"strings"
)

// What the sources of gaps begin with that concern one stream only.
const (
	uncaptured = "acknowledgements of "
	absent     = "stream "
	clockOf    = "clock of "
)

// captured is the stream that captures acknowledgements.
const captured = "OBS_ACK"

// Uncaptured is the source of the gap that says that nobody captures the acknowledgements of a stream.
func Uncaptured(stream string) string { return uncaptured + stream }

// Absent is the source of the gap in which a stream does not exist ([StreamAbsent]).
func Absent(stream string) string { return absent + stream }

// StreamAbsent is the open gap in which a stream does not exist. Nothing says which of the causes it is.
func StreamAbsent(stream string, from Micros) Gap {
	return Gap{Source: Absent(stream), From: from,
		Reason: "stream " + stream + " does not exist: it was deleted, went with a broker that kept it in memory, or lives under another account"}
}

// Clock is the source of the gap that says that the clock by which a stream is kept jumped.
func Clock(stream string) string { return clockOf + stream }

// away is the source of the gap that says that the broker was away.
const away = "broker"

// BrokerAway is the gap in which the broker was away. It lost no line, and so it counts as repaired: nothing crossed the broker, and what happened elsewhere was not
// seen.
func BrokerAway(from, to Micros) Gap {
	return Gap{Source: away, From: from, To: to, Reason: "the broker was away: nothing crossed it, and what agents did meanwhile was not seen", Repaired: true}
}

// OfBroker reports whether the gap says that the broker was away.
func (g Gap) OfBroker() bool { return g.Source == away }

// Concerns reports whether lines about the messages of a stream may have been missed in the gap.
func (g Gap) Concerns(stream string) bool {
	only, bound := g.only()
	return !bound || only == stream
}

// only is the stream that the gap is bound to.
func (g Gap) only() (stream string, bound bool) {
	for _, kind := range []string{uncaptured, absent, clockOf} {
		if stream, bound = strings.CutPrefix(g.Source, kind); bound {
			return stream, true
		}
	}
	return "", false
}

// OfAnswers reports whether lines were lost in the gap that tell what workers answered, and no others.
func (g Gap) OfAnswers() bool {
	source, err := ParseStreamID(g.Source)
	return err == nil && source.Name == captured
}

// Everywhere reports whether the gap concerns every stream.
func (g Gap) Everywhere() bool {
	_, bound := g.only()
	return !bound
}

// UnseenAnswers are the gaps in which answers of workers may not have been captured, the earliest first.
func UnseenAnswers(gaps []Gap) (out []Gap) {
	for _, g := range gaps {
		if !g.Repaired && (g.OfAnswers() || strings.HasPrefix(g.Source, uncaptured)) {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b Gap) int { return cmp.Compare(a.From, b.From) })
	return out
}

// OfClock reports whether the gap says that a clock jumped: its times were left out, or come twice.
func (g Gap) OfClock() bool { return strings.HasPrefix(g.Source, clockOf) }
