package lifecycle

import "slices"

// A consumer that is deleted and created again under its name starts anew (SITUATIONS, "Streams and consumers"): its deliveries are numbered
// from one, and what its former incarnation delivered is over. The lines of both name the same consumer, so they are told apart by
// their times, and an answer that comes later by what the broker says that the living one delivered ([MessageFacts.Former]).

// CurrentLife is what is known of the message since its consumer was created anew: the attempts and deliveries of the living incarnation.
// It is the message itself where the consumer was not.
func (m MessageFacts) CurrentLife() MessageFacts {
	if !m.RecreatedAt.Known() {
		return m
	}
	since := m.RecreatedAt
	if m.MaxDeliveriesAt < since {
		m.MaxDeliveriesAt, m.MaxDeliveriesN = 0, 0
	}
	return m.parted(func(at Micros) bool { return at >= since })
}

// pastLife is what is known of the message from before: the attempts and deliveries of former incarnations of its consumer, with what their workers answered
// later.
func (m MessageFacts) pastLife() MessageFacts {
	until, former := m.RecreatedAt, m.Former
	m.MaxDeliveriesAt, m.MaxDeliveriesN, m.RecreatedAt, m.VanishedAt, m.Former, m.Claims = 0, 0, 0, 0, nil, nil // What claims show was joined.
	m = m.parted(func(at Micros) bool { return at < until })
	for _, f := range former {
		m.attempt(f.N).join(f)
	}
	return m
}

// join adds what answers tell of the same attempt.
func (a *AttemptFacts) join(o AttemptFacts) {
	for i, cseq := range o.CSeqs {
		a.joinCSeq(cseq, o.CSeqAt[i])
	}
	for _, beat := range o.beats() {
		a.joinBeat(beat)
	}
	if o.LastNakAt.Known() {
		a.joinNak(o.NakAt, 0)
		a.joinNak(o.LastNakAt, o.NakDelay)
	}
	a.DeliveredAt = earliest(a.DeliveredAt, o.DeliveredAt)
	a.SeenAt, a.LastAt, a.TermReason = earliest(a.SeenAt, o.SeenAt), latest(a.LastAt, o.LastAt), leastText(a.TermReason, o.TermReason)
	a.TermAt, a.TermSaidAt = earliest(a.TermAt, o.TermAt), earliest(a.TermSaidAt, o.TermSaidAt)
	a.AckAt, a.LastAckAt, a.ConfirmedAt = earliest(a.AckAt, o.AckAt), latest(a.LastAckAt, o.LastAckAt), latest(a.ConfirmedAt, o.ConfirmedAt)
}

// parted is the part of the message's attempts and deliveries that happened at times that belong.
func (m MessageFacts) parted(belongs func(Micros) bool) MessageFacts {
	var deliveries []DeliveryFacts
	for _, d := range m.Deliveries {
		if d = d.parted(belongs); d.CSeq > 0 {
			deliveries = append(deliveries, d)
		}
	}
	m.Deliveries = deliveries
	m.Attempts, m.Former = partedAttempts(m.Attempts, belongs), partedAttempts(m.Former, belongs)
	return m
}

func partedAttempts(attempts []AttemptFacts, belongs func(Micros) bool) (out []AttemptFacts) {
	for _, a := range attempts {
		if belongs(a.LastAt) || (a.SeenAt.Known() && belongs(a.SeenAt)) {
			out = append(out, a.parted(belongs))
		}
	}
	return out
}

// parted is the delivery where it happened at a time that belongs: of two of one number the first times are those of the former incarnation, the last times those
// of the latter, and each kind of time may be known of one of them alone. It is zero where none did.
func (d DeliveryFacts) parted(belongs func(Micros) bool) DeliveryFacts {
	d.At, d.LastAt = bothIn(d.At, d.LastAt, belongs)
	d.Bound, d.LastBound = bothIn(d.Bound, d.LastBound, belongs)
	if d.Bound = earliest(d.At, d.Bound); !d.Bound.Known() {
		return DeliveryFacts{}
	}
	d.single()
	return d
}

// parted keeps what happened in the attempt at times that belong. Of two incarnations that used one number the first times are those of the
// former, the last times those of the latter.
func (a AttemptFacts) parted(belongs func(Micros) bool) AttemptFacts {
	for _, at := range []*Micros{&a.DeliveredAt, &a.TermAt, &a.TermSaidAt, &a.ConfirmedAt} {
		if !belongs(*at) {
			*at = 0
		}
	}
	a.keepBeats(slices.DeleteFunc(slices.Clone(a.beats()), func(at Micros) bool { return !belongs(at) }))
	if !belongs(a.LastNakAt) {
		a.NakDelay = 0
	}
	a.NakAt, a.LastNakAt = bothIn(a.NakAt, a.LastNakAt, belongs)
	a.AckAt, a.LastAckAt = bothIn(a.AckAt, a.LastAckAt, belongs)
	if a.SeenAt.Known() && !belongs(a.SeenAt) {
		a.SeenAt = a.LastAt
		for _, at := range []Micros{a.FirstBeat, a.NakAt, a.TermAt, a.TermSaidAt, a.AckAt} {
			a.SeenAt = earliest(a.SeenAt, at)
		}
	}
	if !a.Expired.counts(belongs) {
		a.Expired = nil
	}
	if !a.Dead.counts(belongs) {
		a.Dead = nil
	}
	return a.partedSequences(belongs)
}

// partedSequences keeps the consumer sequences that were last seen at times that belong.
func (a AttemptFacts) partedSequences(belongs func(Micros) bool) AttemptFacts {
	var cseqs []uint64
	var at []Micros
	for i, t := range a.CSeqAt {
		if belongs(t) {
			cseqs, at = append(cseqs, a.CSeqs[i]), append(at, t)
		}
	}
	a.CSeqs, a.CSeqAt = cseqs, at
	return a
}

// counts reports whether there is a deadline that counts from a time that belongs.
func (x *Expiry) counts(belongs func(Micros) bool) bool { return x != nil && belongs(x.Basis) }

// bothIn keeps those of a first and a last time that belong; where only one does, it is both.
func bothIn(first, last Micros, belongs func(Micros) bool) (Micros, Micros) {
	switch f, l := first.Known() && belongs(first), last.Known() && belongs(last); {
	case f && l:
		return first, last
	case f:
		return first, first
	case l:
		return last, last
	}
	return 0, 0
}
