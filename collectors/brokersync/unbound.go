package brokersync

import (
	"strconv"

	"fleetglass/lifecycle"
)

// sayUnbound says of tasks that reports and records which name no message may be about one that nobody knows, because publish lines were lost before they came. Only tasks of
// open messages are looked at: of what has ended it was said before.
func (st *step) sayUnbound() {
	said := map[string]bool{}
	for _, o := range st.known.open {
		if said[o.Task.ID] || !o.Task.UnnamedSince(0).Known() || o.Task.UnboundSince.Known() {
			continue
		}
		if st.questions.Gaps = st.facts.Gaps == nil; st.questions.Gaps {
			return
		}
		at := unboundSince(o, lostPublishes(*st.facts.Gaps))
		if !at.Known() {
			continue
		}
		said[o.Task.ID] = true
		st.batch.Events = append(st.batch.Events, lifecycle.Event{
			ID: lifecycle.NewEventID(Name, string(lifecycle.Unbound), o.Task.ID, strconv.FormatInt(int64(at), 10)), At: at, Kind: lifecycle.Unbound,
			Provenance: lifecycle.Inferred, Source: Name, TaskID: o.Task.ID,
		})
	}
}

// unboundSince is when the first report or record came that names no message and may be about a message which was lost in one of some gaps; zero when there is none. A gap
// that ended before the open message was stored is about others, unless that message is a retry of an earlier one.
func unboundSince(o lifecycle.OpenMessage, lost []lifecycle.Gap) (first lifecycle.Micros) {
	s := o.Message.Stored
	for _, g := range lost {
		before := s != nil && s.Generation == 0 && g.To.Known() && g.To < s.At
		if at := o.Task.UnnamedSince(g.From); !before && at.Known() && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}
