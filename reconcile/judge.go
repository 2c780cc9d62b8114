package reconcile

import (
	"fmt"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// term is the place of a message in the equation.
type term int

const (
	termUnexplained term = iota
	termCompleted
	termInFlight
	termInDLQ
	termExhausted
	termTerminated
	termExpired
)

func (t term) count(b *Balance) {
	switch t {
	case termCompleted:
		b.Completed++
	case termInFlight:
		b.InFlight++
	case termInDLQ:
		b.InDLQ++
	case termExhausted:
		b.Exhausted++
	case termTerminated:
		b.Terminated++
	case termExpired:
		b.Expired++
	default:
		b.Unexplained++
	}
}

// judgement is what an audit makes of a message.
type judgement struct {
	term        term
	kind        DiscrepancyKind // Empty where nothing is wrong.
	why         string
	state       lifecycle.State
	completedAt lifecycle.Micros // Completion by record or report.
	told        bool             // A record or a report says that its work is done, by this message or not.
	unbound     bool             // Its agent reports a completion that may be of it, or of another message.
	acked       bool             // Completed by an acknowledgement.
}

// judge gives every message exactly one term, and at most one discrepancy that is about the message itself.
func (a *Audit) judge(s *auditStream, m lifecycle.OpenMessage) judgement {
	v, ends := lifecycle.JudgeEndings(m.Message, m.Task)
	j := judgement{
		state: v.State, completedAt: ends.CompletedAt, told: ends.ToldAt.Known(), unbound: ends.UnboundAt.Known(),
		acked: ends.AckedAt.Known() && v.State == lifecycle.StateCompleted,
	}
	switch {
	case v.State == lifecycle.StateCompleted:
		j.term = termCompleted
		a.judgeHeld(s, m, v, &j)
	case v.State.Open():
		a.judgeOpen(s, m, v, &j)
	case v.State == lifecycle.StateDeadLettered || v.State == lifecycle.StateTriaged:
		j.term = termInDLQ
		switch v.Death.State { // Somebody decided about it before it had an entry.
		case lifecycle.StateTerminated:
			j.term = termTerminated
		case lifecycle.StateExhausted:
			j.term = termExhausted
		}
	case v.State == lifecycle.StateTerminated:
		j.term = termTerminated
		a.judgeHeld(s, m, v, &j)
	case v.State == lifecycle.StateExhausted:
		j.term = termExhausted
		if a.settled(lastAt(m)) {
			j.kind, j.why = ExhaustedOutsideDLQ, exhaustedWhy(m.Message)
		}
	case v.State == lifecycle.StateRemoved:
		s.judgeRemoved(m.Message, &j)
	default:
		a.judgeGone(s, m.Message, &j)
	}
	switch doubtful := slices.Contains(workLists, j.kind); {
	case doubtful && j.told:
		j.why += " A record or a report says that its work is done."
	case doubtful && j.unbound:
		j.why += " " + unboundWhy
	}
	if v.State.Dead() && j.completedAt.Known() && j.completedAt <= v.Since && a.settled(lastAt(m)) {
		j.kind, j.why = CompletedNotAcked, "Completion is recorded, and the message died unacknowledged after it: to retry it may repeat the effect."
	}
	return j
}

const unboundWhy = "Its agent reports a completion, and nothing tells of which of its messages."

// workLists are the lists of messages whose work may not have been done.
var workLists = []DiscrepancyKind{ExhaustedOutsideDLQ, OutcomeUnexplained, ExpiredInStream}

func exhaustedWhy(m lifecycle.MessageFacts) string {
	why := "The attempts are used up, and no dead-letter entry names the message."
	if m.VanishedAt.Known() {
		why += " It has left the stream: " + m.VanishedWhy + "."
	}
	return why
}

// judgeOpen serves messages of which something is still expected. The stream knows better than the facts where it was asked.
func (a *Audit) judgeOpen(s *auditStream, m lifecycle.OpenMessage, v lifecycle.Verdict, j *judgement) {
	j.term = termInFlight
	present, known := s.holds(m.Message.Key.Seq)
	switch {
	case known && !present && lastAt(m).Add(a.cfg.Grace) <= s.LookedAt:
		if j.completedAt.Known() {
			j.term = termCompleted
			return
		}
		j.term, j.kind = termUnexplained, OutcomeUnexplained
		j.why = fmt.Sprintf("By what was seen it is %s, but the stream does not hold it any more, and nothing says how it left.", v.State)
	case v.State == lifecycle.StateCompleting && a.settled(lastAt(m)):
		j.kind, j.why = CompletedNotAcked, "Completion is recorded and no acknowledgement was seen: it may be delivered again."
		if !known && a.blind(s, m.Message.FirstAt, a.cfg.AsOf) {
			j.why = "Completion is recorded and no acknowledgement was seen, but capture has a gap since: one may have been missed."
		}
	}
}

// judgeHeld looks whether a message that is over is still in the stream, where it must not be.
func (a *Audit) judgeHeld(s *auditStream, m lifecycle.OpenMessage, v lifecycle.Verdict, j *judgement) {
	if s.Kept {
		return
	}
	switch present, _ := s.holds(m.Message.Key.Seq); {
	case !present || lastAt(m).Add(a.cfg.Grace) > s.LookedAt:
	case v.State == lifecycle.StateCompleted && !j.acked && m.Message.Stranded():
		j.kind, j.why = CompletedNotAcked, "Completion is recorded and no acknowledgement was seen. Its consumer is past it, so that nobody delivers it again: it stays in its stream."
	default:
		j.kind = HeldThoughSettled
		j.why = fmt.Sprintf("It is %s by what was seen (%s), and the stream still held it later.", v.State, v.Rule)
	}
}

// outlived reports whether a message that was there until the given time had reached the max_age of the stream by then.
func (s *auditStream) outlived(m lifecycle.MessageFacts, at lifecycle.Micros) bool {
	return s.MaxAge > 0 && m.Stored != nil && m.Stored.At.Add(s.MaxAge) <= at.Add(ageSlack)
}

// ageSlack is how far the clocks of the servers of one cluster may be apart where ages are compared.
const ageSlack = time.Second

// judgeRemoved serves messages that left before any worker had them.
func (s *auditStream) judgeRemoved(m lifecycle.MessageFacts, j *judgement) {
	if s.aged(m) {
		j.term, j.kind, j.why = termExpired, ExpiredInStream, "No worker had it, and it left the stream when it reached its age."
		return
	}
	j.term = termTerminated
}

// aged reports whether the age of a message that has left explains that it left.
func (s *auditStream) aged(m lifecycle.MessageFacts) bool {
	switch m.Removal {
	case lifecycle.RemovedByAge, lifecycle.RemovedByTTL:
		return m.Stored != nil
	case lifecycle.RemovedByBroker:
		return m.VanishedWhy == lifecycle.BrokerDeleted && s.outlived(m, m.VanishedAt)
	}
	return false
}

// judgeGone serves messages that left, or never showed. Only a max_age that had passed explains that, and only where no answer can have
// been missed meanwhile.
func (a *Audit) judgeGone(s *auditStream, m lifecycle.MessageFacts, j *judgement) {
	j.term, j.kind = termUnexplained, OutcomeUnexplained
	switch {
	case !m.VanishedAt.Known() && m.Stranded():
		j.why = "The stream has it, and its consumer is past it and awaits no answer: nobody delivers it, and nothing seen says what became of it."
	case !m.VanishedAt.Known():
		j.why = "Lines name the message, and none proves that the stream stored it."
	case s.aged(m):
		if a.blind(s, m.Stored.At, m.VanishedAt) {
			j.why = "It was older than the stream's max_age, but capture has a gap before that: an answer may have been missed."
			return
		}
		j.term, j.kind, j.why = termExpired, ExpiredInStream, "Nobody answered it, and it left the stream when it reached its max_age."
	case m.Removal.Known():
		j.why = fmt.Sprintf("It was %s; what its worker did with it was not seen.", m.RemovedWords())
	case m.VanishedWhy == "":
		j.why = "It left the stream, and nothing seen says how."
	default:
		j.why = fmt.Sprintf("It left the stream, and nothing seen proves how; what the broker's state says: %s.", m.VanishedWhy)
	}
}

// blind reports whether an answer to a message of a stream may have been missed between two times.
func (a *Audit) blind(s *auditStream, from, to lifecycle.Micros) bool {
	return overlaps(a.cfg.Blind, s.Stream.Name, from, to)
}

// overlaps reports whether a gap that concerns a stream overlaps a span.
func overlaps(gaps []lifecycle.Gap, stream string, from, to lifecycle.Micros) bool {
	return slices.ContainsFunc(gaps, func(g lifecycle.Gap) bool {
		return g.Concerns(stream) && g.From <= to && (!g.To.Known() || g.To >= from)
	})
}

func (s *auditStream) holds(seq uint64) (present, known bool) {
	if s.Present == nil {
		return false, false
	}
	return s.Present.Has(seq)
}
