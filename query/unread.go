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

// answerSource is the collector of what workers answer.
const answerSource = "acks"

// longAgo is before everything that a message can tell of.
const longAgo lifecycle.Micros = 1

// AnswersRead is up to when what workers answered was read at now: up to the last sign of its collector, less what that is behind. It is long ago while the
// collector has read nothing since the program began: what came before that may lie unread.
func AnswersRead(parts []health.Part, now lifecycle.Micros) lifecycle.Micros {
	if slices.ContainsFunc(parts, func(p health.Part) bool { return p.Name == answerSource && p.LastAt.IsZero() }) {
		return longAgo
	}
	read := now
	for _, p := range parts {
		if p.Name == answerSource {
			read = min(read, lifecycle.MicrosOf(p.LastAt))
		}
	}
	for _, g := range unread(parts, now, answerSource) {
		read = min(read, g.From)
	}
	return read
}

// unread is the time since the last sign of the given collectors that are down or behind, one span for each. What happened in it is counted once they have read it;
// until then nobody knows that it is nothing.
func unread(parts []health.Part, now lifecycle.Micros, sources ...string) (out []lifecycle.Gap) {
	for _, p := range parts {
		late := p.State == health.Down || p.State == health.Behind || p.State == health.Starting
		if from := lifecycle.MicrosOf(p.LastAt).Add(-p.Lag); late && slices.Contains(sources, p.Name) && !p.LastAt.IsZero() && from < now {
			out = append(out, lifecycle.Gap{From: from})
		}
	}
	return out
}
