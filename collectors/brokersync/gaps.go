package brokersync

import (
	"slices"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// maxGaps bounds the gaps that are read. Of what was before the oldest of them nothing is known.
const maxGaps = 1000

// readGaps reads in which gaps answers or advisories were lost, where messages are looked at that these may be about.
func (st *step) readGaps() {
	if len(st.known.open)+len(st.known.answered) == 0 {
		return
	}
	if st.questions.Gaps = st.facts.Gaps == nil; st.questions.Gaps {
		return
	}
	gaps := *st.facts.Gaps
	st.view.LostAnswers, st.view.LostAdvisories = lifecycle.UnseenAnswers(gaps), lostLines(gaps, fleet.CaptureEvt)
	if len(gaps) == maxGaps {
		before := lifecycle.Gap{To: gaps[maxGaps-1].From}
		st.view.LostAnswers = slices.Insert(st.view.LostAnswers, 0, before)
		st.view.LostAdvisories = append(st.view.LostAdvisories, before)
	}
}

// unseenAnswers is when answers of workers may not have been captured, the earliest first.
func (v view) unseenAnswers() []lifecycle.Gap {
	return append(v.Capture.Acks.unseen(), v.LostAnswers...)
}

// answersLost reports whether answers to a message may not have been captured.
func (v view) answersLost(m lifecycle.MessageFacts) bool {
	return slices.ContainsFunc(v.unseenAnswers(), func(g lifecycle.Gap) bool {
		return g.Concerns(v.Stream.Name) && (m.Stored == nil || !g.To.Known() || g.To >= m.Stored.At)
	})
}

// captured reports whether lines tell of what happened at a time: the capture streams of answers and of advisories were there, and no line of the time just before was lost.
func (v view) captured(at lifecycle.Micros) bool {
	lost := func(g lifecycle.Gap) bool {
		return g.Concerns(v.Stream.Name) && g.From <= at && (!g.To.Known() || g.To >= at.Add(-movedLag))
	}
	return !v.Capture.Acks.Missing && !v.Capture.Advisories.Missing && at > max(v.Capture.Acks.Created, v.Capture.Advisories.Created) &&
		!slices.ContainsFunc(v.LostAnswers, lost) && !slices.ContainsFunc(v.LostAdvisories, lost)
}

// lostPublishes are the gaps in which publish lines were lost for good.
func lostPublishes(gaps []lifecycle.Gap) []lifecycle.Gap {
	lost := lostLines(gaps, fleet.CapturePub)
	if len(gaps) == maxGaps {
		lost = append(lost, lifecycle.Gap{}) // They may always have been lost.
	}
	return lost
}

// lostLines are the gaps in which lines of a capture stream were lost for good.
func lostLines(gaps []lifecycle.Gap, stream string) (lost []lifecycle.Gap) {
	for _, g := range gaps {
		if source, err := lifecycle.ParseStreamID(g.Source); err == nil && source.Name == stream && !g.Repaired {
			lost = append(lost, g)
		}
	}
	return lost
}
