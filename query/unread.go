package query

import (
	"slices"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// flowSources are the collectors whose lines say what came and went.
var flowSources = []string{"publishes", answerSource}

// blindNow joins gaps with the span of which lines are not read yet.
func (s *Service) blindNow(gaps []lifecycle.Gap, now lifecycle.Micros) blind {
	return blindSpans(append(slices.Clip(gaps), unread(s.Parts(), now, flowSources...)...), now)
}

const (
	answerSource   = "acks"       // The collector of what workers answer.
	consumerSource = "brokersync" // What looks at the consumers.
)

// longAgo is before everything that a message can tell of.
const longAgo lifecycle.Micros = 1

// LeasesRead is up to when leases can be judged at now: what workers answered by then was read, and the consumers were looked at since. A consumer may
// have been given more time after the last look. Whoever judges asks before he reads the store: what is stored then is at least that.
func LeasesRead(parts []health.Part, now lifecycle.Micros) lifecycle.Micros {
	return min(readBy(answerSource, parts, now), readBy(consumerSource, parts, now))
}

// readBy is up to when a part has read its source at now. It is long ago while it has read nothing since the program began: what came before that may lie unread.
func readBy(name string, parts []health.Part, now lifecycle.Micros) lifecycle.Micros {
	read := now
	for _, p := range parts {
		switch at := lifecycle.MicrosOf(p.Read()); {
		case p.Name != name:
		case !at.Known():
			return longAgo
		default:
			read = min(read, at)
		}
	}
	return read
}

// unread is the time since the last sign of the given collectors that are down or behind, one span for each. What happened in it is counted once they have read it;
// until then nobody knows that it is nothing.
func unread(parts []health.Part, now lifecycle.Micros, sources ...string) (out []lifecycle.Gap) {
	for _, p := range parts {
		late := p.State == health.Down || p.State == health.Behind || p.State == health.Starting
		if from := lifecycle.MicrosOf(p.Read()); late && slices.Contains(sources, p.Name) && from.Known() && from < now {
			out = append(out, lifecycle.Gap{From: from})
		}
	}
	return out
}
