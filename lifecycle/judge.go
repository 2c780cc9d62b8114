package lifecycle

import (
	"cmp"
	"iter"
	"slices"
)

// Verdict is the state that facts prove, and the row of the table that proved it.
type Verdict struct {
	State State
	Rule  string // Name of the row, for people and for docs/states.md.
	Since Micros // When the state began, as far as is known.

	Outcome Outcome // What was decided; empty unless the state is triaged.
	Death   Death   // What was proved before that; zero unless the state is triaged.
}

// Rule is one row of the table of verdicts.
type Rule struct {
	Name  string
	State State
	Why   string // One sentence: what is proved, and by what.
	holds func(*evidence) (Micros, bool)
}

// Rules is the whole state machine: the first row that holds gives the state of a message. Order matters and is the only thing
// that does; the order in which observations arrived says nothing.
func Rules() []Rule { return slices.Concat([]Rule{decided}, rules) }

// Names of rows that other rules refer to.
const (
	rulePresumedDead = "presumed dead"
	ruleLeaseExpired = "lease expired"
	ruleStranded     = "stranded"
	ruleLetGo        = "let go after completion"
	ruleReported     = "completion reported"
)

var rules = []Rule{
	{"acknowledged after completion", StateCompleted, "The completion of this message is recorded or reported, and the broker got the acknowledgement.",
		func(e *evidence) (Micros, bool) { return e.ackedAt, e.ackedAt.Known() && e.completedAt.Known() }},
	{"dead-letter entry", StateDeadLettered, "A dead-letter entry names this message, and something else than the entry says that it ended, or nothing else is known of it.",
		func(e *evidence) (Micros, bool) {
			d := e.entry()
			if d == nil {
				return 0, false
			}
			return d.At, true
		}},
	{"acknowledged", StateCompleted, "A worker acknowledged before anything else ended the message, and it was not seen in the stream afterwards.",
		func(e *evidence) (Micros, bool) { return e.ackedAt, e.ackedAt.Known() }},
	{"terminated", StateTerminated, "A worker gave it up for good, before anybody acknowledged: it is not delivered again, and what is answered later changes nothing.",
		func(e *evidence) (Micros, bool) { return e.termAt, e.termAt.Known() }},
	{"max deliveries", StateExhausted, "The broker said that the attempts are used up, or its consumer dropped the message; no delivery followed, and what removed it later changes nothing.",
		(*evidence).maxedAt},
	{rulePresumedDead, StateExhausted, "The last attempt ended without success and no attempt is left; the broker says so only at the next pull, and what removed the message later changes nothing.",
		(*evidence).presumedAt},
	{"left behind", StateExhausted, "Its attempts were used up, and its consumer was created anew or reset behind it since: nobody delivers it again, and what removed it later changes nothing.",
		(*evidence).leftBehindAt},
	{"copied and deleted", StateDeadLettered, "Fleetglass's monitor stored the message's dead-letter entry and deleted the message; the entry was not read yet.",
		func(e *evidence) (Micros, bool) { return e.m.VanishedAt, e.m.Removal == RemovedToQueue }},
	{"removed before delivery", StateRemoved, "The message left the stream unanswered, its consumer's delivered sequence proves that no worker had it, and no record of its completion names it.",
		func(e *evidence) (Micros, bool) {
			return e.m.VanishedAt, e.m.VanishedAt.Known() && e.m.Undelivered && e.n == 0 && !e.bound.named
		}},
	{"gone after completion", StateCompleted, "The completion of this message was recorded, or reported by who had it, before it left the stream; its acknowledgement was not seen.",
		func(e *evidence) (Micros, bool) {
			return e.completedAt, e.completedAt.Known() && e.m.VanishedAt.Known()
		}},
	{ruleLetGo, StateCompleted, "The completion of this message is recorded, or reported by who had it; it is in the stream, and its consumer is past it and awaits no answer to it.",
		func(e *evidence) (Micros, bool) { return e.completedAt, e.completedAt.Known() && e.stranded() }},
	{"completion recorded", StateCompleting, "The completion of this message is recorded; the acknowledgement was not seen.",
		func(e *evidence) (Micros, bool) { return e.bound.recordedAt, e.bound.recordedAt.Known() }},
	{ruleReported, StateCompleting, "The agent that has the message reports its completion; neither a record nor the acknowledgement was seen.",
		func(e *evidence) (Micros, bool) { return e.bound.reportedAt, e.bound.reportedAt.Known() && e.n > 0 }},
	{"removed after delivery", StateOutcomeUnknown, "The message was removed from the stream after a worker had it; whether the work was done is not known.",
		func(e *evidence) (Micros, bool) {
			return e.m.VanishedAt, e.m.VanishedAt.Known() && e.m.Removal.Known() && e.n > 0
		}},
	{"vanished", StateOutcomeUnknown, "The message left the stream and nothing seen explains it.",
		func(e *evidence) (Micros, bool) { return e.m.VanishedAt, e.m.VanishedAt.Known() }},
	{ruleStranded, StateOutcomeUnknown, "The message is in the stream, its consumer is past it and awaits no answer to it: nobody delivers it again, and what became of it is not known.",
		func(e *evidence) (Micros, bool) { return e.m.StrandedAt, e.stranded() }},
	{"handed back", StateFailed, "The current attempt was handed back by nak.",
		func(e *evidence) (Micros, bool) { return e.current.LastNakAt, e.current.LastNakAt.Known() }},
	{ruleLeaseExpired, StateFailed, "The deadline of the current attempt passed without an answer.",
		func(e *evidence) (Micros, bool) {
			x, last := e.passed()
			if x == nil || last {
				return 0, false
			}
			return x.Deadline, true
		}},
	{"later attempt", StateRedelivered, "A delivery after the first is in a worker's hands.",
		func(e *evidence) (Micros, bool) { return e.beganAt, e.n > 1 }},
	{"signs of work", StateProcessing, "The first attempt sent a heartbeat, or its agent reported that it began.",
		func(e *evidence) (Micros, bool) { return e.workAt, e.n == 1 && e.workAt.Known() }},
	{"delivered", StateDelivered, "The first delivery happened; no sign of work was seen.",
		func(e *evidence) (Micros, bool) { return e.beganAt, e.n == 1 }},
	{"stored", StatePublished, "The stream stored the message.",
		func(e *evidence) (Micros, bool) {
			if e.m.Stored == nil {
				return 0, false
			}
			return e.m.Stored.At, true
		}},
	{"given to another", StatePublished, "Another consumer's worker had the message, so the stream stored it; no delivery to this one's worker is known.",
		func(e *evidence) (Micros, bool) { return e.m.FirstAt, e.given }},
	{"nothing proved", StateOutcomeUnknown, "No line proves that the message was stored.",
		func(e *evidence) (Micros, bool) { return e.m.FirstAt, true }},
}

// Judge gives the state that the facts of a message, and what is known about its task, prove.
func Judge(m MessageFacts, t TaskFacts) Verdict {
	ev := evidenceOf(&m, &t)
	return ev.judge()
}

func (ev *evidence) judge() Verdict {
	for _, r := range rules {
		if since, ok := r.holds(ev); ok {
			return Verdict{State: r.State, Rule: r.Name, Since: ev.m.notBefore(since)}.triaged(ev.m.Triage)
		}
	}
	panic("the last rule always holds")
}

// unsettled reports whether something may still happen to the message by itself: the broker or a worker has it, or it is exhausted
// or its consumer is past it, and it is still in the stream: a consumer that is created anew delivers it again.
func (v Verdict) unsettled(m *MessageFacts) bool {
	state := v.State
	if state == StateTriaged {
		state = v.Death.State
	}
	left := state == StateExhausted || v.Rule == ruleStranded || v.Rule == ruleLetGo
	return state.Open() || (left && !m.VanishedAt.Known())
}

// evidence is what the rows of the table ask for, computed once.
type evidence struct {
	m           *MessageFacts
	life        *MessageFacts // What is known of it since its consumer was created anew; m where it was not.
	reports     []ReportFacts // Those that speak of the message in this life.
	deliveries  []NumberedDelivery
	n           int          // The number of the current attempt; zero when no delivery is known.
	current     AttemptFacts // Its facts; only N is set when no line of it was seen.
	beganAt     Micros       // Best known time of its delivery.
	workAt      Micros       // First sign of work in it.
	deliveredAt Micros       // The broker's own time of its delivery; zero when that is not known.
	ackedAt     Micros       // First acknowledgement that was not refuted, and that no termination came before.
	termAt      Micros       // First termination that was not refuted.
	completedAt Micros       // Completion of this very message, by record or report.
	bound       bound        // What records and reports say of it.

	given        bool // One of its several consumers delivered it.
	ackedByOther bool // Another of its consumers acknowledged it.
}

// evidenceOf is the evidence by which a message is judged: what the consumer did with it that decides, where several take it.
func evidenceOf(m *MessageFacts, t *TaskFacts) evidence {
	if len(m.Consumers) > 0 {
		parts := evidenceOfParts(m.Parts(), t)
		i := deciding(parts)
		parts[i].ackedByOther = slices.ContainsFunc(parts, func(ev evidence) bool { return ev.ackedAt.Known() && ev.m.Consumer != parts[i].m.Consumer })
		return parts[i]
	}
	m = m.withClaims()
	return evidenceAlone(m, t.boundTo(m))
}

// withClaims is the message with what its claims show, itself where it has none.
func (m *MessageFacts) withClaims() *MessageFacts {
	if len(m.Claims) == 0 {
		return m
	}
	believed := m.Believed()
	return &believed
}

// evidenceAlone is the evidence about a message that one consumer takes, with its claims believed.
func evidenceAlone(m *MessageFacts, b bound) evidence {
	ev := evidence{m: m, reports: b.reports, bound: b, life: m}
	if m.RecreatedAt.Known() {
		life := m.CurrentLife()
		ev.life = &life
		ev.reports = reportsSince(m.RecreatedAt, ev.reports)
	}
	ev.deliveries = ev.life.numbered()
	ev.n = reportedAttempt(ev.reports, ev.life.currentAttempt(ev.deliveries))
	ev.current = ev.life.attemptFacts(ev.n)
	delivered := deliveryIn(ev.deliveries, ev.n)
	ev.beganAt = earliest(earliest(ev.current.DeliveredAt, delivered.At), earliest(ev.current.SeenAt, delivered.Bound))
	ev.deliveredAt = latest(ev.current.DeliveredAt, delivered.At)
	ev.workAt = ev.current.FirstBeat
	for a := range m.everyAttempt() {
		ev.ackedAt = earliest(ev.ackedAt, a.ackAfter(m))
		ev.termAt = earliest(ev.termAt, a.termAfter(m))
	}
	for _, r := range ev.reports {
		if r.Attempt == ev.n || r.Attempt == 0 {
			ev.workAt = earliest(ev.workAt, m.notBefore(r.beganAt()))
			ev.beganAt = firstKnown(ev.beganAt, m.notBefore(r.beganAt()))
		}
	}
	if ev.over(ev.ackedAt) {
		ev.ackedAt = 0
	}
	ev.completedAt = b.recordedAt
	if ev.n > 0 || m.taken() || reportedAttempt(b.reports, 0) > 0 {
		ev.completedAt = earliest(ev.completedAt, b.reportedAt)
	}
	if ev.givenAgain() {
		ev.ackedAt = 0
	}
	return ev
}

// stranded reports whether the message's consumer is past it and awaits no answer to it, and no later attempt is known.
func (ev *evidence) stranded() bool {
	return ev.m.Stranded() && ev.life.currentAttempt(ev.deliveries) <= ev.m.StrandedN
}

// givenAgain reports whether a worker has the message, or gets it again, after one of its consumer's former incarnation acknowledged it: in a stream that keeps
// its messages a consumer that is created anew begins anew. Once that has ended without a completion too, what the former one's worker acknowledged stands.
func (ev *evidence) givenAgain() bool {
	since := ev.m.RecreatedAt
	if ev.life == ev.m || ev.n == 0 || ev.completedAt.Known() || ev.termAt.Known() || ev.m.VanishedAt.Known() || !ev.ackedAt.Known() || ev.ackedAt >= since {
		return false
	}
	for a := range ev.life.everyAttempt() {
		if a.ackAfter(ev.m) >= since {
			return false
		}
	}
	_, maxed := ev.maxedAt()
	_, presumed := ev.presumedAt()
	return !maxed && !presumed
}

// over reports whether a termination had ended the message before an answer came: the broker takes the first end, whoever gives it, and ignores what
// follows. A consumer that was created anew in between is another one, and was given the message again.
func (ev *evidence) over(at Micros) bool {
	again := ev.m.RecreatedAt > ev.termAt && ev.m.RecreatedAt <= at
	return ev.termAt.Known() && ev.termAt < at && !again
}

// ackAfter is the first acknowledgement of the attempt that no look at the stream refuted; zero when there is none. The broker's metric of one, which
// anybody may have sent, counts beside the worker's own line, and where the message has gone, nothing else says how, and its consumer may have delivered it.
func (a AttemptFacts) ackAfter(m *MessageFacts) Micros {
	last := a.LastAckAt
	if a.AckAt.Known() || (m.goneUnexplained() && !m.Undelivered) {
		last = latest(last, a.ConfirmedAt)
	}
	switch {
	case last <= m.RefutedAt:
		return 0
	case a.AckAt > m.RefutedAt:
		return a.AckAt
	default:
		return last
	}
}

// termAfter is the first termination of the attempt that no look at the stream refuted; zero when there is none. An advisory, which anybody
// may have sent, counts beside the worker's own line, and where the message has gone and nothing else says how.
func (a AttemptFacts) termAfter(m *MessageFacts) Micros {
	at := a.TermAt
	if at.Known() || m.goneUnexplained() {
		at = earliest(at, a.TermSaidAt)
	}
	if at <= m.RefutedAt {
		return 0
	}
	return at
}

// lastBegin is the latest time at which the agent says that it took or began the attempt, or did something in it.
func (r ReportFacts) lastBegin() Micros {
	return max(r.ClaimedAt, r.LastClaimedAt, r.AcceptedAt, r.LastAcceptedAt, r.BeatAt)
}

// reportsSince are the reports of attempts that were begun since the consumer was created anew, without what was said of those before.
func reportsSince(recreated Micros, reports []ReportFacts) (out []ReportFacts) {
	for _, r := range reports {
		if r.lastBegin() < recreated {
			continue
		}
		for _, begin := range []*Micros{&r.ClaimedAt, &r.LastClaimedAt, &r.AcceptedAt, &r.LastAcceptedAt, &r.BeatAt} {
			if *begin < recreated {
				*begin = 0
			}
		}
		r.keepLast()
		out = append(out, r)
	}
	return out
}

// beganAt is when the agent says that it took the attempt.
func (r ReportFacts) beganAt() Micros { return earliest(r.ClaimedAt, r.AcceptedAt) }

// maxSilentBetween is how many attempts without any sign may lie before one that is only reported. Each delivery shows in the broker's state a few
// seconds later, so that there is seldom more than one.
const maxSilentBetween = 1

// reportedAttempt is the highest attempt that is known or that an agent reports to have begun; known is the highest that anything else proves. A report that
// names no attempt speaks of the first. One that names an attempt counts where at most [maxSilentBetween] before it is shown by reports alone or by nothing:
// an agent can write any number, and a number proves no deliveries.
func reportedAttempt(reports []ReportFacts, known int) int {
	n := known
	for _, r := range reports {
		if said := max(r.Attempt, 1); r.beganAt().Known() && said <= known+1+maxSilentBetween {
			n = max(n, said)
		}
	}
	return n
}

// CurrentAttempt is the number of the latest delivery that is proved, zero when none is. Consumer sequences rise by one per
// delivery, so deliveries shown by broker state after a numbered one count on from it.
func (m *MessageFacts) CurrentAttempt() int {
	n := 0
	for i := range m.Consumers {
		part := m.Of(m.Consumers[i].Consumer)
		n = max(n, part.CurrentAttempt())
	}
	life := m.Believed().CurrentLife()
	return max(n, life.currentAttempt(life.numbered()))
}

func (m *MessageFacts) currentAttempt(deliveries []NumberedDelivery) int {
	n := 0
	if len(m.Attempts) > 0 {
		n = m.Attempts[len(m.Attempts)-1].N
	}
	for _, d := range deliveries {
		n = max(n, d.N)
	}
	return n
}

// NumberedDelivery is a delivery with the attempt number that the evidence gives it.
type NumberedDelivery struct {
	DeliveryFacts
	N int
}

// numbered merges deliveries from broker state with the consumer sequences of attempts, in order, and numbers them: a known
// number anchors the ones around it, as far as the sequences between them leave no choice; the others have the lowest number that they can have. One that began
// after an attempt was seen is a later one.
func (m *MessageFacts) numbered() []NumberedDelivery {
	all := make([]NumberedDelivery, 0, len(m.Deliveries)+len(m.Attempts))
	for _, d := range m.Deliveries {
		all = append(all, NumberedDelivery{DeliveryFacts: d})
	}
	for _, a := range m.Attempts {
		for _, c := range a.CSeqs {
			all = append(all, NumberedDelivery{DeliveryFacts: DeliveryFacts{CSeq: c, Bound: a.SeenAt}, N: a.N})
		}
	}
	slices.SortFunc(all, func(a, b NumberedDelivery) int { return cmp.Or(cmp.Compare(a.CSeq, b.CSeq), cmp.Compare(a.N, b.N)) })
	out := m.number(merge(all))
	for i := range out {
		m.dateAtLatest(&out[i])
	}
	return out
}

// dateAtLatest takes the broker's time of a delivery for the latest one where an advisory said before it that the attempts up to this one were used up: a slow broker
// notes at the consumer when it said so, a moment later. A forged advisory makes a time less exact, and moves none.
func (m *MessageFacts) dateAtLatest(d *NumberedDelivery) {
	said := m.ExhaustedSaid
	if said.Known() && said >= m.RecreatedAt && d.N <= m.ExhaustedSaidN && d.At > said && d.At <= said.Add(bindingSlack) {
		d.At, d.Bound = 0, earliest(d.Bound, d.At)
	}
}

// merge makes one delivery of those with one consumer sequence: what broker state says of it, and the highest number.
func merge(sorted []NumberedDelivery) []NumberedDelivery {
	out := sorted[:0]
	for _, d := range sorted {
		if last := len(out) - 1; last >= 0 && out[last].CSeq == d.CSeq {
			out[last].N = d.N
		} else {
			out = append(out, d)
		}
	}
	return out
}

// number numbers the deliveries that have no number yet.
func (m *MessageFacts) number(sorted []NumberedDelivery) []NumberedDelivery {
	previous, next := 0, 0
	for i := range sorted {
		d := &sorted[i]
		if d.N == 0 {
			for next = max(next, i); next < len(sorted) && sorted[next].N == 0; next++ {
			}
			d.N = max(previous, m.seenBefore(d.At)) + 1
			if next < len(sorted) { // There are no more deliveries between them than sequences.
				d.N = max(d.N, sorted[next].N-int(sorted[next].CSeq-d.CSeq))
			}
		}
		previous = d.N
	}
	return sorted
}

// seenBefore is the number of the last attempt without a consumer sequence that was seen before a time; zero where none was.
func (m *MessageFacts) seenBefore(at Micros) (n int) {
	for _, a := range m.Attempts {
		if len(a.CSeqs) == 0 && a.SeenAt.Known() && a.SeenAt < at {
			n = max(n, a.N)
		}
	}
	return n
}

// deliveryIn is what is known of the delivery with number n.
func deliveryIn(deliveries []NumberedDelivery, n int) DeliveryFacts {
	var out DeliveryFacts
	for _, d := range deliveries {
		if d.N == n {
			out.CSeq = max(out.CSeq, d.CSeq)
			out.At, out.Bound = latest(out.At, d.At), earliest(out.Bound, d.Bound)
		}
	}
	return out
}

func (m *MessageFacts) attemptFacts(n int) AttemptFacts { return numberedFacts(m.Attempts, n) }

func numberedFacts(attempts []AttemptFacts, n int) AttemptFacts {
	for _, a := range attempts {
		if a.N == n {
			return a
		}
	}
	return AttemptFacts{N: n}
}

// everyAttempt are the attempts of the living consumer and of those before it.
func (m *MessageFacts) everyAttempt() iter.Seq[AttemptFacts] {
	return func(yield func(AttemptFacts) bool) {
		for _, of := range [][]AttemptFacts{m.Attempts, m.Former} {
			for _, a := range of {
				if !yield(a) {
					return
				}
			}
		}
	}
}
