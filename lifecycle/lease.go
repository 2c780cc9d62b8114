package lifecycle

import (
	"math"
	"slices"
	"strings"
	"time"
)

// StaleKind says what is wrong with a lease (SPEC 3).
type StaleKind string

// The stale kinds, worst first.
const (
	StalePresumedDead StaleKind = "presumed_dead" // The deadline of the last attempt passed; the broker's own advisory is lazy.
	StaleLease        StaleKind = "stale"         // The deadline passed, no newer attempt, no answer.
	StaleZombie       StaleKind = "zombie"        // An older attempt acted after a newer one began.
	StaleStuck        StaleKind = "stuck"         // Heartbeats continue, but it runs far beyond what its type usually takes.
	StaleWeakAccept   StaleKind = "weak_accept"   // Claimed by a worker over a minute ago, and neither a report nor a heartbeat shows that the runtime started.
	StaleExpiring     StaleKind = "expiring"      // Under a fifth of the wait is left: no heartbeat has renewed it.
)

// StaleKinds lists the kinds, worst first.
func StaleKinds() []StaleKind {
	return []StaleKind{StalePresumedDead, StaleLease, StaleZombie, StaleStuck, StaleWeakAccept, StaleExpiring}
}

// Meaning is one sentence for people.
func (k StaleKind) Meaning() string {
	switch k {
	case StalePresumedDead:
		return "The deadline of the last attempt passed without an answer; the broker may never say so."
	case StaleLease:
		return "The deadline passed without an answer, and no newer attempt is known."
	case StaleZombie:
		return "An older attempt acted after a newer one began."
	case StaleStuck:
		return "Heartbeats continue, but it runs far longer than its type usually takes."
	case StaleWeakAccept:
		return "A worker claimed it over a minute ago, and nothing shows that the runtime started."
	case StaleExpiring:
		return "Under a fifth of the wait is left, and no heartbeat has renewed it."
	}
	return ""
}

// NextStep is what will happen by itself.
type NextStep struct {
	What string // "redelivery", "exhaustion", "delivery", "dead_letter" or empty when nothing is known to follow.
	At   Micros // Zero when it waits for something that has no time, such as a free worker.
}

// Lease is a message in a worker's hands, or lately so: who has it, until when, and what follows.
type Lease struct {
	TaskID       string
	Message      MessageKey
	Agent        string
	Type         string
	Title        string
	Consumer     string
	State        State
	Attempt      int
	AttemptFrom  Provenance // How the number is known where neither an answer nor the broker's state shows it: [Reported], or [Inferred] where no report names one. Empty where one of them does.
	MaxDeliver   int        // Zero: not known or unlimited.
	BeganAt      Micros
	BeganExact   bool
	LastBeat     Micros        // The latest heartbeat that counts, of whichever attempt. Zero: none seen.
	Sender       int           // The attempt that sent it; not the current one where a zombie keeps the lease alive, zero for one of a former incarnation of the consumer.
	Wait         time.Duration // In force for this attempt; zero when the consumer's configuration is not known.
	Deadline     Micros        // Last delivery or heartbeat in time plus Wait; zero when not known.
	Latest       Micros        // When it runs out at the latest: after Deadline where answers were not captured for a while, and maybe heartbeats among them.
	AtLatest     bool          // It may have run out before Deadline: when the attempt was delivered is not known, and its first heartbeat may have come late.
	Basis        Micros        // The delivery or heartbeat that the deadline counts from; zero when not known.
	Stale        StaleKind     // Empty: nothing is wrong.
	Unread       bool          // Its deadline has passed, and of what workers answered later not all was read, or captured: whether anything is wrong is not known.
	Owner        string        // As reported; empty when nobody said.
	LeaseVersion uint64        // The fencing token, as reported.
	Next         NextStep
	Due          bool         // It was handed back and its delay has passed: whether a worker has it again is not known.
	Awaits       string       // What the broker waits for before it can give the message out again, behind "once"; empty where a free worker is enough.
	Resolved     *TriageFacts // Who marked this attempt as resolved, and why; nil where nobody did. Nothing counts as wrong with it then.
	Acting       string       // The action on the message that has not ended; empty for none.
	Revision     uint64       // Of the decisions about the message.
	Beside       bool         // Another consumer of the message decides about its state, and actions on the message are about that one's lease.
}

// Held is how long the current attempt has been in hand.
func (l Lease) Held(now Micros) time.Duration { return max(0, now.Sub(l.BeganAt)) }

// Left is the time to the deadline, negative once it has passed, zero when there is none.
func (l Lease) Left(now Micros) time.Duration { return l.Deadline.Sub(now) }

// Typical is how long tasks of a type take.
type Typical struct {
	P50, P95 time.Duration
	Sample   int64 // Completed tasks behind the figures.
}

// TypicalDurations reads the distribution of running times per type from rollups of [MetricRunning]. The figures are upper ends of
// buckets, at most 19 % above the true value.
func TypicalDurations(t Tally) map[string]Typical {
	counts := map[string]map[string]int64{}
	for c, n := range t {
		i := strings.LastIndexByte(c.Label, '|')
		if c.Metric != MetricRunning || i < 0 || n <= 0 {
			continue
		}
		if counts[c.Label[:i]] == nil {
			counts[c.Label[:i]] = map[string]int64{}
		}
		counts[c.Label[:i]][c.Label[i+1:]] += n
	}
	out := make(map[string]Typical, len(counts))
	for typ, buckets := range counts {
		out[typ] = TypicalOf(buckets)
	}
	return out
}

// TypicalOf reads a distribution whose buckets are named as [DurationBucket] names them. Counts must not be negative.
func TypicalOf(buckets map[string]int64) Typical {
	names := make([]string, 0, len(buckets))
	var t Typical
	for name, n := range buckets {
		names = append(names, name)
		t.Sample += n
	}
	slices.Sort(names)
	quantile := func(q float64) time.Duration {
		rank, seen := int64(math.Ceil(q*float64(t.Sample))), int64(0)
		for _, name := range names {
			if seen += buckets[name]; seen >= rank {
				return BucketDuration(name)
			}
		}
		return 0
	}
	t.P50, t.P95 = quantile(0.5), quantile(0.95)
	return t
}

// minTypicalSample is how many completed tasks make a p95 worth acting on.
const minTypicalSample = 20

// stuckAfter is the running time beyond which a task that still sends heartbeats counts as stuck.
func stuckAfter(t Typical) time.Duration {
	if t.Sample < minTypicalSample {
		return 15 * time.Minute
	}
	return max(3*t.P95, 15*time.Minute)
}

// Moment is when a lease is looked at, and what was seen by then of what workers answered. What nobody has read yet, or captured, proves nothing: no lease is
// judged later than Read, nor for want of heartbeats in a gap.
type Moment struct {
	Now    Micros
	Read   Micros // Up to when answers were read, and how long consumers let workers work was looked at; not after Now.
	Unseen []Gap  // In which they may not have been captured; see [UnseenAnswers].
}

// At is the moment of somebody who has read everything.
func At(now Micros) Moment { return Moment{Now: now, Read: now} }

// LeaseOf describes the hold on an open message. ok is false when nobody holds it and nothing is overdue: it waits in the
// stream, or between attempts. One that is due again after a nak may be in a worker's hands, so ok is true, and no deadline is known. c is nil when the consumer is not known.
// Where several consumers have the message it is the hold of the one that decides about its state; see [LeasesBeside].
func LeaseOf(o OpenMessage, c *ConsumerState, typical Typical, at Moment) (l Lease, ok bool) {
	m := o.Message
	ev := evidenceOf(&m, &o.Task)
	if l = o.hold(ev, c, at); l.Resolved == nil {
		l.judge(ev, typical, at)
	}
	return l, l.holds()
}

// LeasesBeside describes the holds of the other consumers of an open message, where several have it. That somebody marked an attempt as resolved was
// said of the consumer that decided, so it says nothing of theirs.
func LeasesBeside(o OpenMessage, consumer func(name string) *ConsumerState, typical Typical, at Moment) (out []Lease) {
	if len(o.Message.Consumers) == 0 {
		return nil
	}
	parts := o.Message.Parts()
	evs := evidenceOfParts(parts, &o.Task)
	first := deciding(evs)
	for i, ev := range evs {
		l := o.hold(ev, consumer(parts[i].Consumer), at)
		l.Beside, l.Resolved = true, nil
		l.judge(ev, typical, at)
		if i != first && l.holds() {
			out = append(out, l)
		}
	}
	return out
}

// holds reports whether somebody holds the message, or something is overdue.
func (l Lease) holds() bool { return l.State.InFlight() || l.Stale != "" || l.Due }

// hold is a consumer's hold on a message, without what is wrong with it.
func (o OpenMessage) hold(ev evidence, c *ConsumerState, at Moment) Lease {
	v := ev.judge()
	m := *ev.m
	l := Lease{
		TaskID: o.Task.ID, Message: m.Key, Agent: m.Agent, Consumer: m.Consumer, State: v.State, Attempt: ev.n,
		BeganAt: ev.beganAt, LastBeat: ev.current.LastBeat,
	}
	if m.Stored != nil {
		l.Type, l.Title = m.Stored.Type, m.Stored.Title
	}
	l.AttemptFrom = ev.attemptFrom()
	l.BeganExact = ev.deliveredAt.Known()
	l.setOwner(&ev)
	if c != nil && !c.Gone && !c.Unanswered { // Nobody keeps the lease of a consumer that is gone, or that awaits no answers.
		l.MaxDeliver = max(0, c.MaxDeliver)
		l.Wait = c.Wait(ev.n)
		held := ev.lease(c, at.Unseen)
		l.Deadline, l.Latest, l.AtLatest, l.Basis, l.LastBeat, l.Sender = held.deadline, held.latest, held.atLatest, held.basis, held.beat, held.sender
	}
	l.Next = nextStep(v, l, ev, c)
	l.Awaits = c.awaits(at.Now)
	l.dueAgain(ev, at.Now)
	l.Revision = m.Revision()
	if m.Acting() {
		l.Acting = m.Asked.Action
	}
	l.Resolved = m.resolvedIn(ev.n)
	return l
}

// attemptFrom is how the number of the current attempt is known where nothing but reports shows that it began.
func (e evidence) attemptFrom() Provenance {
	if e.n == 0 || e.life.currentAttempt(e.deliveries) >= e.n {
		return ""
	}
	for _, r := range e.reports {
		if r.Attempt == e.n && r.beganAt().Known() {
			return Reported
		}
	}
	return Inferred
}

// dueAgain notes that a message that was handed back waits no more. The deadline of the attempt that handed it back means nothing then.
func (l *Lease) dueAgain(ev evidence, now Micros) {
	if l.State != StateFailed || !ev.current.NakAt.Known() || l.Next.What != "redelivery" || !l.Next.At.Known() || now < l.Next.At {
		return
	}
	l.Due, l.Deadline, l.Latest, l.AtLatest, l.Basis, l.Wait = true, 0, 0, false, 0, 0
}

// setOwner takes who reports to hold the current attempt, by the highest fencing token: the owner of an attempt before has lost it. A report that names no attempt
// is about a later one than the first only where it says that it began since.
func (l *Lease) setOwner(ev *evidence) {
	for _, r := range ev.reports {
		unnamed := r.Attempt == 0 && (ev.n <= 1 || ev.beganAt.Known() && r.lastBegin() >= ev.beganAt)
		if r.Owner != "" && (r.Attempt == ev.n || unnamed) && (r.LeaseVersion > l.LeaseVersion || l.Owner == "") {
			l.Owner, l.LeaseVersion = r.Owner, r.LeaseVersion
		}
	}
}

func nextStep(v Verdict, l Lease, ev evidence, c *ConsumerState) NextStep {
	lastAttempt := l.MaxDeliver > 0 && l.Attempt >= l.MaxDeliver
	switch {
	case v.State == StatePublished:
		return NextStep{What: "delivery"}
	case v.State.Abandoned():
		return NextStep{What: "dead_letter"}
	case c == nil || c.Gone || c.Unanswered:
		return NextStep{} // How many attempts there are, and how long each has, is not known, or nothing follows.
	case v.State == StateFailed && lastAttempt:
		return NextStep{What: "exhaustion"}
	case v.State == StateFailed && ev.current.NakAt.Known():
		return NextStep{What: "redelivery", At: redeliveryAfterNak(ev.current, c)}
	case v.State == StateFailed:
		return NextStep{What: "redelivery", At: l.Deadline}
	case lastAttempt:
		return NextStep{What: "exhaustion", At: l.Deadline}
	case v.State.InFlight():
		return NextStep{What: "redelivery", At: l.Deadline}
	}
	return NextStep{}
}

// redeliveryAfterNak is when the broker hands a message out again; zero where that is not known. A delay together with non-uniform backoff comes late by the
// difference between this attempt's wait and the first one's.
func redeliveryAfterNak(a AttemptFacts, c *ConsumerState) Micros {
	delay := time.Duration(a.NakDelay)
	if c == nil {
		return a.LastNakAt.Add(delay)
	}
	if delay > 0 && a.LastNakAt < c.WaitsSince {
		return 0 // The broker counts a delay by the wait that was in force then, and by the one that is now.
	}
	if delay > 0 && len(c.Backoff) > 0 {
		delay += c.Wait(a.N) - c.Wait(1)
	}
	return c.Until(a.LastNakAt, delay)
}

// judge says what is wrong with the lease, as far as answers were seen.
func (l *Lease) judge(ev evidence, typical Typical, at Moment) {
	l.Stale = staleKind(ev.judge(), *l, ev, typical, at.Read)
	past := l.State.InFlight() && l.Deadline.Known() && at.Read <= l.Latest && l.Deadline < at.Now
	if past && (l.Stale == "" || l.Stale == StaleExpiring) {
		l.Stale, l.Unread = "", true
	}
}

func staleKind(v Verdict, l Lease, ev evidence, typical Typical, now Micros) StaleKind {
	overdue := l.Deadline.Known() && now > l.Latest
	lastAttempt := l.MaxDeliver > 0 && l.Attempt >= l.MaxDeliver
	switch {
	case v.State == StateExhausted && v.Rule == rulePresumedDead && !ev.current.LastNakAt.Known():
		return StalePresumedDead // A last attempt that was handed back did answer: it is exhausted, and nobody holds it.
	case v.State == StateFailed && v.Rule == ruleLeaseExpired:
		return StaleLease
	case !v.State.InFlight():
		return ""
	case overdue && lastAttempt:
		return StalePresumedDead
	case overdue:
		return StaleLease
	case zombie(ev):
		return StaleZombie
	case ev.current.LastBeat.Known() && l.Held(now) > stuckAfter(typical):
		return StaleStuck
	case weakAccept(ev, now):
		return StaleWeakAccept
	case l.Deadline.Known() && l.Left(now) < l.Wait/5: // The wait counts from the last heartbeat: none has come since.
		return StaleExpiring
	}
	return ""
}

// zombie reports whether an attempt before the current one gave a sign of life after the current one began. One that was handed back made room for the next: the
// lines of that may be stored a little after the next delivery, by another stream.
func zombie(ev evidence) bool {
	later := func(a AttemptFacts) bool {
		since := ev.beganAt
		if a.NakAt.Known() && a.NakAt <= since.Add(captureLead) {
			since = max(since, a.NakAt)
		}
		return ev.beganAt.Known() && latest(a.LastBeat, latest(a.LastAckAt, a.NakAt)) > since
	}
	for _, a := range ev.life.Attempts {
		if a.N < ev.n && later(a) {
			return true
		}
	}
	return slices.ContainsFunc(ev.life.Former, later)
}

// weakAcceptAfter is how long a claim may go without a sign that the runtime started.
const weakAcceptAfter = time.Minute

func weakAccept(ev evidence, now Micros) bool {
	if ev.current.LastBeat.Known() || slices.ContainsFunc(ev.bound.announced, func(r LastReport) bool { return r.N == ev.n || r.N == 0 }) {
		return false
	}
	var claimed Micros
	for _, r := range ev.reports {
		switch {
		case r.Attempt != ev.n && r.Attempt != 0:
		case r.started():
			return false
		case r.Attempt == ev.n && r.ClaimedAt.Known():
			claimed = earliest(claimed, r.ClaimedAt)
		}
	}
	return claimed.Known() && now.Sub(claimed) > weakAcceptAfter
}
