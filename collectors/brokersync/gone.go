package brokersync

import "fleetglass/lifecycle"

// endEarlier says that the open messages of earlier incarnations are gone.
func (st *step) endEarlier() {
	n := &st.next
	if len(st.view.Earlier) == 0 || st.view.At < n.EarlierAt.Add(st.rules.Earlier) {
		return
	}
	n.EarlierAt = st.view.At
	for _, e := range st.view.Earlier {
		if st.view.Drained < e.GoneAt.Add(st.rules.Waits.Vanish) || st.view.Drained < st.view.At {
			n.EarlierAt = 0
			continue
		}
		st.goneWith(e.Stream, e.GoneAt, e.Why)
	}
}

// goneWith says of the open messages of an incarnation that they went with it, and why.
func (st *step) goneWith(stream lifecycle.StreamID, at lifecycle.Micros, why string) {
	open, _ := answer(st.facts.Open, OpenRange{stream, 0, st.rules.PageSize}, &st.questions.Open)
	for _, o := range open {
		if !o.Message.VanishedAt.Known() {
			st.batch.Events = append(st.batch.Events, streamGone(o.Message, at, why))
		}
	}
}

// streamAbsent serves a stream that does not exist: its messages went with it, where an advisory says when, and its consumers too.
func (st *step) streamAbsent() {
	o := st.view.Observation
	if !o.Removed.Known() || st.view.Drained < o.Removed.Add(st.rules.Waits.Vanish) {
		return
	}
	st.goneWith(o.Stream, o.Removed, GoneStream)
	st.storeConsumers(nil, o.Removed)
}
