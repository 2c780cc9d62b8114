package brokersync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// notedBefore adds to what a message is missed with when it was there: when it was stored, or at the last look if that saw it. And the limits that the stream has had at every
// look since, the last one among them; nil where others were seen, or nobody looked.
func (st *step) notedBefore(missed Missed, m lifecycle.MessageFacts) Missed {
	if m.Stored != nil {
		missed.After, missed.AfterSeq = m.Stored.At, m.Key.Seq
	}
	if st.was.Stream != st.view.Stream {
		return missed
	}
	if present, _ := st.was.Present.Has(m.Key.Seq); present {
		missed.After, missed.AfterSeq = st.was.At, st.was.LastSeq
	}
	if st.was.At.Known() && missed.After >= st.was.LimitsAt {
		were := st.was.Limits
		missed.Former, missed.FormerAt = &were, st.was.At
	}
	return missed
}

// askUpdates asks when the configuration of the stream was changed.
func (st *step) askUpdates() {
	st.view.Updated = st.facts.Updated
	st.questions.Updated = st.facts.Updated == nil
}

// relimited is since when the stream has had the limits with which a message is missed, where that was after the message was there last, and whether it may have left
// before, by limits that are not known or by those of the looks before.
func (v view) relimited(m lifecycle.MessageFacts, missed Missed) (under lifecycle.Micros, others bool) {
	if missed.unchanged() {
		return 0, false
	}
	former := missed.Former
	if v.Updated == nil || v.Updated.From > missed.After || v.advisoriesLost(missed.After) {
		return missed.Since, true
	}
	switch under = v.Updated.Last; {
	case under > missed.Since: // When it got those limits was told before, and is not known any more.
		return missed.Since, true
	case under < missed.After && (former == nil || under > missed.FormerAt): // It had them before.
		return 0, false
	case under < missed.After:
		under = missed.Since // No advisory told.
	}
	return under, former == nil || former.mayRemove(m, missed, under)
}

// unchanged reports whether the stream had the same limits at every look since the message was there: what was updated meanwhile, if anything, was something else.
func (m Missed) unchanged() bool { return m.Former != nil && m.Former.same(m.Limits) }

// same reports whether the same messages leave a stream by both.
func (l Limits) same(o Limits) bool {
	return l.MaxAge == o.MaxAge && l.MaxPerSubject == o.MaxPerSubject && l.Others == o.Others && l.Rollup == o.Rollup
}

// mayRemove reports whether a stream with these limits may have removed a message before a time: by one for its subject only where enough was stored after it.
func (l Limits) mayRemove(m lifecycle.MessageFacts, missed Missed, before lifecycle.Micros) bool {
	aged := l.ageOf(m)
	full := l.MaxPerSubject > 0 && missed.Last-m.Key.Seq >= uint64(l.MaxPerSubject)
	return full || l.Others || l.Rollup || aged.Known() && aged <= before
}

// advisoriesLost reports whether advisories were lost after a time.
func (v view) advisoriesLost(since lifecycle.Micros) bool {
	return slices.ContainsFunc(v.LostAdvisories, func(g lifecycle.Gap) bool { return !g.To.Known() || g.To >= since })
}

// updates reads when the last captured advisory says that the configuration of the stream was changed.
func (a *answerer) updates(ctx context.Context) (u Updates, err error) {
	events, err := a.cfg.Capture.Stream(ctx, fleet.CaptureEvt)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return Updates{From: maxMicros}, nil
	}
	if err != nil {
		return u, fmt.Errorf("find %s: %w", fleet.CaptureEvt, err)
	}
	u.From = heldSince(events.CachedInfo())
	for _, subject := range fleet.CapturedSubjects("$JS.EVENT.ADVISORY.STREAM.UPDATED." + a.seen.Stream.Name) {
		m, err := events.GetLastMsgForSubject(ctx, subject)
		if isGone(err) {
			continue
		}
		if err != nil {
			return u, fmt.Errorf("read advisory %s: %w", subject, err)
		}
		u.Last = max(u.Last, lifecycle.MicrosOf(m.Time))
	}
	return u, nil
}

// heldSince is since when a capture stream holds every line.
func heldSince(info *jetstream.StreamInfo) lifecycle.Micros {
	if info.State.FirstSeq > 1 { // Earlier lines were discarded.
		return lifecycle.MicrosOf(info.State.FirstTime)
	}
	return lifecycle.MicrosOf(info.Created)
}
