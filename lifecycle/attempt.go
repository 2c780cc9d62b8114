package lifecycle

import (
	"fmt"
	"iter"
	"slices"
)

// AttemptEnd is how an attempt ended.
type AttemptEnd string

// How attempts end.
const (
	EndOpen       AttemptEnd = "open"       // It has not, as far as is known.
	EndAcked      AttemptEnd = "acked"      // The worker acknowledged.
	EndNacked     AttemptEnd = "naked"      // The worker handed it back.
	EndTerminated AttemptEnd = "terminated" // The worker said never again.
	EndTimedOut   AttemptEnd = "timed_out"  // The deadline passed, the next attempt began, or attempts were used up, without an answer.
	EndRemoved    AttemptEnd = "removed"    // The message left the stream while the attempt was open.
)

// Attempt is one delivery as people see it, assembled from facts.
type Attempt struct {
	N           int
	Former      bool   // A former incarnation of the consumer made it; the numbers of the living one start again.
	Consumer    string // Whose attempt it is, where several consumers take the message and each numbers its own; empty where one does.
	ConsumerSeq uint64 // Zero when not known.
	BeganAt     Micros // Zero when nothing bounds it.
	BeganExact  bool   // BeganAt is the broker's own time.
	BeganSaid   bool   // BeganAt is what the agent reported. With neither, it began no later than BeganAt.
	FirstBeat   Micros
	LastBeat    Micros
	EndedAt     Micros // Zero while it is open.
	EndedLatest bool   // It ended at EndedAt or before: its lease ran out, and nothing tells exactly when.
	End         AttemptEnd
	Reason      string // Of a termination or presumed death, or what else than its worker may have ended it.
	Silent      bool   // No line of this attempt was seen: its existence is inferred.
	AckAt       Micros // A late one may follow another end.
	Confirmed   bool   // The broker confirmed the acknowledgement.
	NakDelayNs  int64
	LeaseRanOut bool // It timed out, and its lease is known to have run out: else the next attempt began, or no attempt is left.
	NakOf       int  // It timed out, and the nak of this earlier attempt, which came later than it began, may have done that; zero for none.
}

const (
	// maxAttemptsTold is how many attempts of a message are assembled: the latest ones.
	maxAttemptsTold = 1000
	// maxSilentTold is how many attempts in a row may be without any sign. Whoever may send acknowledgements can write any number, and more than so many
	// that nobody saw are not told of: the number of a later one alone does not prove them.
	maxSilentTold = 100
)

// Attempts assembles the attempts of a message, 1 to the current one, silent ones included where there are not very many; of very many the latest.
func Attempts(m MessageFacts, t TaskFacts) []Attempt {
	ev := evidenceOf(&m, &t)
	return ev.attempts()
}

func (ev *evidence) attempts() []Attempt {
	m := ev.life
	var out []Attempt
	if ev.m.RecreatedAt.Known() || len(ev.m.Former) > 0 {
		out = pastAttempts(ev.m)
	}
	past, gone := len(out), goneSince(out, ev.m.RecreatedAt)
	for i := range ev.told() {
		f := m.attemptFacts(i)
		a := Attempt{N: i, FirstBeat: f.FirstBeat, LastBeat: f.LastBeat, AckAt: f.AckAt, Confirmed: f.ConfirmedAt.Known(), NakDelayNs: f.NakDelay, End: EndOpen}
		a.Silent = f.SeenAt == 0
		a.begin(f, ev.deliveries)
		a.reported(ev.reports, m.Stored)
		a.end(f, ev)
		a.doubtBegin()
		out = append(out, a)
	}
	closeOpen(out[past:], m, gone)
	return out
}

// told are the numbers of the attempts that are assembled.
func (ev *evidence) told() iter.Seq[int] {
	if ev.n > maxSilentTold {
		return slices.Values(ev.toldOfMany())
	}
	return func(yield func(int) bool) {
		for n := 1; n <= ev.n && yield(n); n++ {
		}
	}
}

// toldOfMany leaves out what is silent for too long.
func (ev *evidence) toldOfMany() []int {
	signs := []int{ev.n}
	for _, a := range ev.life.Attempts {
		signs = append(signs, a.N)
	}
	for _, d := range ev.deliveries {
		signs = append(signs, d.N)
	}
	for _, r := range ev.reports {
		signs = append(signs, max(r.Attempt, 1))
	}
	slices.Sort(signs)
	var out []int
	last := 0
	for _, n := range slices.Compact(signs) {
		if n > ev.n {
			break
		}
		if n-last > maxSilentTold+1 {
			last = n - 1
		}
		for last < n {
			last++
			out = append(out, last)
		}
	}
	return out[max(0, len(out)-maxAttemptsTold):]
}

// pastAttempts are the attempts that former incarnations of the consumer made. What was open when the consumer was created again or reset ended
// there: its worker lost it. None began later, whenever its first answer came.
func pastAttempts(m *MessageFacts) []Attempt {
	past := m.pastLife()
	if past.currentAttempt(past.numbered()) == 0 {
		return nil
	}
	out := Attempts(past, TaskFacts{})
	for i := range out {
		a := &out[i]
		a.Former = true
		if a.End == EndOpen {
			a.End, a.EndedAt, a.Reason = EndTimedOut, m.RecreatedAt, "its consumer was created again or reset"
			if !m.RecreatedAt.Known() {
				a.Reason += ", or has it no more"
			}
		}
		if a.BeganAt > m.RecreatedAt {
			a.BeganAt = m.RecreatedAt
		}
		if a.End == EndTimedOut && (!a.EndedAt.Known() || a.EndedAt > m.RecreatedAt) {
			a.EndedAt = m.RecreatedAt
		}
	}
	return out
}

// goneSince is when an answer ended the message that came after its consumer was created anew, of a worker that had lost it by that; zero when none did.
func goneSince(past []Attempt, recreated Micros) (gone Micros) {
	for _, a := range past {
		if (a.End == EndAcked || a.End == EndTerminated) && a.EndedAt >= recreated {
			gone = earliest(gone, a.EndedAt)
		}
	}
	return gone
}

// doubtBegin forgets a begin of which the attempt's end is the only sign: that says nothing about it.
func (a *Attempt) doubtBegin() {
	if a.End != EndOpen && !a.BeganExact && !a.BeganSaid && a.BeganAt >= a.EndedAt {
		a.BeganAt = 0
	}
}

// reported takes what the agent said about the begin of the attempt, where the wire gives only a bound. A time before the message was
// stored, or after its first line, tells of a clock that is off.
func (a *Attempt) reported(reports []ReportFacts, stored *StoredFacts) {
	for _, r := range reports {
		at := r.beganAt()
		if max(r.Attempt, 1) != a.N || !at.Known() {
			continue
		}
		a.Silent = false
		plausible := stored == nil || at >= stored.At
		if !a.BeganExact && plausible && (!a.BeganAt.Known() || at < a.BeganAt) {
			a.BeganAt, a.BeganSaid = at, true
		}
	}
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

func (a *Attempt) end(f AttemptFacts, ev *evidence) {
	m := ev.life
	acked := f.ackAfter(m)
	switch {
	case acked.Known() && !ev.over(acked):
		a.End, a.EndedAt = EndAcked, acked
	case f.termAfter(m).Known():
		a.End, a.EndedAt, a.Reason = EndTerminated, f.termAfter(m), f.TermReason
	case f.LastNakAt.Known():
		a.End, a.EndedAt = EndNacked, f.LastNakAt
		if by := m.releasedIn(a.N); by != nil {
			a.Reason = "handed back by " + firstText(by.Actor, "somebody") + " through Fleetglass, not by its worker"
		}
	default:
		if x, _ := f.passed(m, f.DeliveredAt); x != nil {
			a.End, a.EndedAt, a.EndedLatest, a.Reason, a.LeaseRanOut = EndTimedOut, x.Deadline, !m.lostAt(x, f, ev.deliveries), x.Reason, true
		}
	}
}

// closeOpen ends attempts that something else ended: the next delivery, the broker's word that no attempt is left, or the end of the
// message itself. An end given by a later attempt is the latest possible one. gone is when an answer to a former consumer ended the message.
func closeOpen(attempts []Attempt, m *MessageFacts, gone Micros) {
	for _, a := range attempts {
		if a.End == EndAcked || a.End == EndTerminated {
			gone = earliest(gone, a.EndedAt)
		}
	}
	next := Micros(0) // The begin of the nearest later attempt whose begin is known.
	for i := len(attempts) - 1; i >= 0; i-- {
		a := &attempts[i]
		switch {
		case a.End == EndTimedOut && next.Known() && a.EndedAt > next:
			a.EndedAt, a.EndedLatest = next, true
		case a.End != EndOpen:
		case i+1 < len(attempts):
			a.End, a.EndedAt, a.EndedLatest = EndTimedOut, next, next.Known()
			a.takenBack(attempts[:i])
		case gone.Known():
			a.End, a.EndedAt = EndRemoved, gone
			a.doubtBegin()
		case m.usedUp(*a):
			a.End, a.EndedAt, a.EndedLatest = EndTimedOut, m.MaxDeliveriesAt, true
			a.takenBack(attempts[:i])
			a.doubtBegin()
		case m.VanishedAt.Known():
			a.End, a.EndedAt = EndRemoved, m.VanishedAt
			a.doubtBegin()
		}
		next = firstKnown(a.BeganAt, next)
	}
}

// takenBack says of an attempt that ended without an answer that the worker of an earlier one handed the message back meanwhile: the broker takes it from whoever has it.
func (a *Attempt) takenBack(earlier []Attempt) {
	for _, e := range slices.Backward(earlier) {
		if e.End == EndNacked && !e.Former && a.BeganAt.Known() && e.EndedAt > a.BeganAt && e.EndedAt <= a.EndedAt {
			a.NakOf, a.Reason = e.N, fmt.Sprintf("its lease ran out, or the nak of attempt %d handed it back", e.N)
			return
		}
	}
}

// usedUp reports whether the attempt is one of those that were used up. A busy broker notes a worker's line later than it says so: a begin that only such a
// line bounds makes no later attempt of it. One with a higher number is a later one.
func (m *MessageFacts) usedUp(a Attempt) bool {
	at, n := m.MaxDeliveriesAt, m.MaxDeliveriesN
	return at.Known() && (n == 0 || a.N <= n) && (a.BeganAt <= at || n > 0 && !a.BeganExact)
}

func firstKnown(a, b Micros) Micros {
	if a.Known() {
		return a
	}
	return b
}
