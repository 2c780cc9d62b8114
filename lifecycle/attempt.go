package lifecycle

// AttemptEnd is how an attempt ended.
type AttemptEnd string

// How attempts end.
const (
	EndOpen       AttemptEnd = "open"       // It has not, as far as is known.
	EndAcked      AttemptEnd = "acked"      // The worker acknowledged.
	EndNaked      AttemptEnd = "naked"      // The worker handed it back.
	EndTerminated AttemptEnd = "terminated" // The worker said never again.
	EndTimedOut   AttemptEnd = "timed_out"  // The deadline passed, or the next attempt began, without an answer.
	EndRemoved    AttemptEnd = "removed"    // The message vanished while the attempt was open.
)

// Attempt is one delivery as people see it, assembled from facts.
type Attempt struct {
	N           int
	ConsumerSeq uint64 // Zero when not known.
	BeganAt     Micros // Zero when nothing bounds it.
	BeganExact  bool   // BeganAt is the broker's own time; otherwise it is the earliest or latest time that the evidence allows.
	FirstBeat   Micros
	LastBeat    Micros
	EndedAt     Micros // Zero while it is open.
	End         AttemptEnd
	Reason      string // Of a termination or presumed death.
	Silent      bool   // No line of this attempt was seen: its existence is inferred.
	AckAt       Micros // A late one may follow another end.
	Confirmed   bool   // The broker confirmed the acknowledgement.
	NakDelayNs  int64
}

// Attempts assembles the attempts of a message, 1 to the current one, silent ones included.
func Attempts(m MessageFacts) []Attempt {
	n := m.CurrentAttempt()
	out := make([]Attempt, 0, n)
	deliveries := m.numbered()
	for i := 1; i <= n; i++ {
		f := m.attemptFacts(i)
		a := Attempt{N: i, FirstBeat: f.FirstBeat, LastBeat: f.LastBeat, AckAt: f.AckAt, Confirmed: f.ConfirmedAt.Known(), NakDelayNs: f.NakDelay, End: EndOpen}
		a.Silent = f.SeenAt == 0
		a.begin(f, deliveries)
		a.end(f)
		out = append(out, a)
	}
	closeSilent(out, m)
	return out
}

func (a *Attempt) begin(f AttemptFacts, deliveries []NumberedDelivery) {
	bound := f.SeenAt
	for _, d := range deliveries {
		if d.N != a.N {
			continue
		}
		a.ConsumerSeq = max(a.ConsumerSeq, d.CSeq)
		if d.At.Known() {
			a.BeganAt, a.BeganExact = earliest(a.BeganAt, d.At), true
		}
		bound = earliest(bound, d.Bound)
	}
	if f.DeliveredAt.Known() {
		a.BeganAt, a.BeganExact = earliest(a.BeganAt, f.DeliveredAt), true
	}
	if !a.BeganAt.Known() {
		a.BeganAt = bound
	}
}

func (a *Attempt) end(f AttemptFacts) {
	switch {
	case f.AckAt.Known() || f.ConfirmedAt.Known():
		a.End, a.EndedAt = EndAcked, firstKnown(f.AckAt, f.ConfirmedAt)
	case f.TermAt.Known():
		a.End, a.EndedAt, a.Reason = EndTerminated, f.TermAt, f.TermReason
	case f.NakAt.Known():
		a.End, a.EndedAt = EndNaked, f.NakAt
	case f.Dead != nil && f.Dead.Basis >= f.LastBeat:
		a.End, a.EndedAt, a.Reason = EndTimedOut, f.Dead.Deadline, f.Dead.Reason
	case f.Expired != nil && f.Expired.Basis >= f.LastBeat:
		a.End, a.EndedAt = EndTimedOut, f.Expired.Deadline
	}
}

// closeSilent ends attempts that a later one replaced without an answer, and the last one of a message that vanished.
func closeSilent(attempts []Attempt, m MessageFacts) {
	for i := range attempts {
		a := &attempts[i]
		if a.End != EndOpen {
			continue
		}
		switch {
		case i+1 < len(attempts):
			a.End, a.EndedAt = EndTimedOut, attempts[i+1].BeganAt
		case m.MaxDeliveriesAt.Known() && m.MaxDeliveriesAt >= a.BeganAt:
			a.End, a.EndedAt = EndTimedOut, m.MaxDeliveriesAt
		case m.VanishedAt.Known():
			a.End, a.EndedAt = EndRemoved, m.VanishedAt
		}
	}
}

func firstKnown(a, b Micros) Micros {
	if a.Known() {
		return a
	}
	return b
}
