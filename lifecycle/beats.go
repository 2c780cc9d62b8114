package lifecycle

import (
	"slices"
	"time"
)

// beatsKept bounds the heartbeats that are kept of one attempt.
const beatsKept = 64

// joinBeat adds a heartbeat. Whether one came in time is told by the one before, so all are kept. Where they are too many, the first and the
// last one in each span of BeatsApart are: what is kept does not depend on the order in which they came.
func (a *AttemptFacts) joinBeat(at Micros) {
	beats := a.beats()
	if i, found := slices.BinarySearch(beats, at); !found {
		a.keepBeats(slices.Insert(slices.Clip(beats), i, at))
	}
}

// beats are the kept heartbeats of the attempt, sorted.
func (a *AttemptFacts) beats() []Micros {
	switch {
	case a.Beats != nil:
		return a.Beats
	case !a.FirstBeat.Known():
		return nil
	case a.FirstBeat == a.LastBeat:
		return []Micros{a.FirstBeat}
	}
	return []Micros{a.FirstBeat, a.LastBeat}
}

// keepBeats replaces the heartbeats of the attempt.
func (a *AttemptFacts) keepBeats(sorted []Micros) {
	for sorted = thinned(sorted, a.BeatsApart); len(sorted) > beatsKept; sorted = thinned(sorted, a.BeatsApart) {
		a.BeatsApart = max(time.Second, 2*a.BeatsApart)
	}
	a.FirstBeat, a.LastBeat, a.Beats = 0, 0, nil
	if len(sorted) > 0 {
		a.FirstBeat, a.LastBeat = sorted[0], sorted[len(sorted)-1]
	}
	if len(sorted) > 2 {
		a.Beats = sorted
	}
}

// thinned keeps the first and the last one in each span of a length; all where it is zero.
func thinned(sorted []Micros, span time.Duration) []Micros {
	if span == 0 {
		return sorted
	}
	var out []Micros
	for i, at := range sorted {
		within := func(j int) bool { return sorted[j].Truncate(span) == at.Truncate(span) }
		if i == 0 || i == len(sorted)-1 || !within(i-1) || !within(i+1) {
			out = append(out, at)
		}
	}
	return out
}
