package lifecycle

import (
	"cmp"
	"slices"
	"time"
)

// Trace is the story of a task at one time: its messages with their attempts, who holds it, and the answers to the three questions
// that people ask first (SPEC 2).
type Trace struct {
	Summary  TaskSummary
	Facts    TaskFacts
	Messages []MessageTrace // In generation order.
	Waiting  time.Duration  // Certainly in nobody's hands: over all messages, up to now.
	Running  time.Duration  // Certainly in the hands of a worker, or of several at once: likewise.
	Unsplit  time.Duration  // Either of both: the moment of delivery was not observed.
	Lease    *Lease         // Of the message that the task is shown by; nil when nobody holds it.
	Gaps     []Gap          // Spans within the task's time in which we may have been blind.
	Answers  Answers
	AsOf     Micros
}

// MessageTrace is one message of a task.
type MessageTrace struct {
	Facts    MessageFacts
	Verdict  Verdict
	Attempts []Attempt
	Spans    []Span // In time order, without overlap within one attempt.
	Consumer *ConsumerState
	Allowed  int // How many attempts its consumer allows, or those that take it while it has none; zero where that is not known or without limit.
	Lease    *Lease
	Waiting  time.Duration
	Running  time.Duration
	Unsplit  time.Duration

	CompletedAt Micros // When its own completion was recorded or reported, by the rules of binding; zero when it was not.

	bound bound // What records and reports say of it.

	// Others is the message as each other of its consumers has it, by their names, where several take it. The fields above tell of the one that decides
	// about its state.
	Others []MessageTrace
}

// SpanKind tells waiting and running apart.
type SpanKind string

// The kinds of spans.
const (
	SpanWaiting SpanKind = "waiting" // Stored, and in nobody's hands.
	SpanRunning SpanKind = "running" // In a worker's hands.
	SpanUnsplit SpanKind = "unsplit" // First the one, then the other: the moment of delivery was not observed.
)

// Span is a stretch of a message's time.
type Span struct {
	Kind     SpanKind
	Attempt  int  // The attempt that runs, or the one that is waited for.
	Former   bool // A former incarnation of the consumer made that attempt.
	From, To Micros
	Open     bool // It has not ended; To is the time of looking.
}

// CaptureLag is how far apart the capture streams may store the lines of one publish on a busy broker: gaps this near to a task's time
// concern it.
const CaptureLag = 2 * time.Second

// TraceInput is what a trace is assembled from.
type TraceInput struct {
	Record    TaskRecord
	Consumers []ConsumerState
	Gaps      []Gap              // Those that overlap the task's time, widened by [CaptureLag].
	Typical   map[string]Typical // By task type.
	Leases    []Lease            // What workers hold now, of any task; so that a waiting message can name the task it waits behind.
	Now       Micros

	// Read is that of [Moment]; Now where it is zero.
	Read Micros

	// EntriesRead is up to when all dead-letter entries were read, by the broker's clock; zero when that is not known.
	EntriesRead Micros
}

// AssembleTrace puts the story together. It is a pure function.
func AssembleTrace(in TraceInput) Trace {
	if !in.Read.Known() {
		in.Read = in.Now
	}
	t := Trace{Summary: in.Record.Summary, Facts: in.Record.Facts, Gaps: in.Gaps, AsOf: in.Now}
	for _, m := range in.Record.Messages {
		mt := traceMessage(m, in)
		t.addTimes(mt.Parts())
		if m.Key == in.Record.Facts.shown() {
			t.Lease = mt.Lease
		}
		t.Messages = append(t.Messages, mt)
	}
	slices.SortStableFunc(t.Messages, func(a, b MessageTrace) int {
		return cmp.Or(cmp.Compare(a.Facts.Generation(), b.Facts.Generation()), a.Facts.Key.Compare(b.Facts.Key))
	})
	t.Answers = answer(t, in)
	return t
}

// addTimes adds the time of a message, of which each consumer has a part. What several have at once is one time: it runs where any of them runs, and waits where
// all wait.
func (t *Trace) addTimes(parts []MessageTrace) {
	type edge struct {
		at   Micros
		kind SpanKind
		open int // One more from then on, or one less.
	}
	var edges []edge
	for _, p := range parts {
		for _, s := range p.Spans {
			edges = append(edges, edge{s.From, s.Kind, 1}, edge{s.To, s.Kind, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	open, before := map[SpanKind]int{}, Micros(0)
	for _, e := range edges {
		switch lasted := e.at.Sub(before); {
		case open[SpanRunning] > 0:
			t.Running += lasted
		case open[SpanUnsplit] > 0:
			t.Unsplit += lasted
		case open[SpanWaiting] > 0:
			t.Waiting += lasted
		}
		open[e.kind] += e.open
		before = e.at
	}
}

func traceMessage(m MessageFacts, in TraceInput) MessageTrace {
	open := OpenMessage{Message: m, Task: in.Record.Facts}
	if len(m.Consumers) == 0 {
		ev := evidenceOf(&m, &in.Record.Facts)
		return tracePart(open, &ev, in)
	}
	parts := m.Parts()
	evs := evidenceOfParts(parts, &in.Record.Facts)
	first := deciding(evs)
	mt := tracePart(open.OfPart(parts, first), &evs[first], in)
	for i := range parts {
		if i != first {
			mt.Others = append(mt.Others, tracePart(open.OfPart(parts, i), &evs[i], in))
		}
	}
	if len(parts) > 1 {
		mt.nameConsumers()
	}
	return mt
}

// nameConsumers says of each attempt whose it is.
func (mt *MessageTrace) nameConsumers() {
	for _, p := range mt.Parts() {
		for i := range p.Attempts {
			p.Attempts[i].Consumer = p.Facts.Consumer
		}
	}
}

// Parts is the message as each of its consumers has it, the one first that decides about its state.
func (mt *MessageTrace) Parts() []MessageTrace { return append([]MessageTrace{*mt}, mt.Others...) }

// Part is the message as one of its consumers has it: the one that decides where the name is empty or no other's.
func (mt *MessageTrace) Part(consumer string) *MessageTrace {
	for i := range mt.Others {
		if mt.Others[i].Facts.Consumer == consumer {
			return &mt.Others[i]
		}
	}
	return mt
}

// tracePart tells of a message as one consumer has it.
func tracePart(open OpenMessage, ev *evidence, in TraceInput) MessageTrace {
	mt := MessageTrace{Facts: *ev.m, Verdict: ev.judge(), Attempts: ev.attempts(), Consumer: consumerOf(*ev.m, in.Consumers), CompletedAt: ev.completedAt, bound: ev.bound}
	mt.dateEnds()
	mt.Allowed = in.allowed(mt.Facts, mt.Consumer)
	if l, ok := LeaseOf(open, mt.Consumer, in.Typical[typeOf(open.Message)], Moment{in.Now, in.Read, UnseenAnswers(in.Gaps)}); ok {
		mt.Lease = &l
	}
	mt.addUp(in.Now)
	return mt
}

// endSlack is how long after a lease has run out a broker delivers its message again, or says that no attempt is left, where nothing holds it up.
const endSlack = 100 * time.Millisecond

// dateEnds gives the end of an attempt that was only known to be no later, where that agrees with the wait of its consumer: it counts from the broker's own time of
// the delivery, or from the attempt's last heartbeat. An attempt that had another wait before has no such end.
func (mt *MessageTrace) dateEnds() {
	for i := range mt.Attempts {
		a := &mt.Attempts[i]
		if !a.EndedLatest || !a.BeganExact || a.Former || mt.Consumer == nil {
			continue
		}
		basis := latest(a.BeganAt, a.LastBeat)
		if a.BeganAt < mt.Consumer.WaitsSince || mt.Consumer.Unseen(basis) {
			continue
		}
		ran := mt.Consumer.Until(basis, mt.Consumer.Wait(a.N))
		if ran > a.BeganAt && ran <= a.EndedAt && a.EndedAt <= ran.Add(endSlack) {
			a.EndedAt, a.EndedLatest = ran, false
		}
	}
}

// addUp cuts the message's time into spans up to now and adds them up. With now zero only spans that are over count.
func (mt *MessageTrace) addUp(now Micros) {
	mt.Spans = spans(*mt, now)
	for _, s := range mt.Spans {
		switch s.Kind {
		case SpanRunning:
			mt.Running += s.To.Sub(s.From)
		case SpanWaiting:
			mt.Waiting += s.To.Sub(s.From)
		case SpanUnsplit:
			mt.Unsplit += s.To.Sub(s.From)
		}
	}
}

// heldSince is when the attempt that goes on began; zero where none does, or nothing bounds it.
func (mt *MessageTrace) heldSince() Micros {
	for _, a := range mt.Attempts {
		if a.End == EndOpen && mt.Verdict.State.InFlight() {
			return a.BeganAt
		}
	}
	return 0
}

func typeOf(m MessageFacts) string {
	if m.Stored == nil {
		return ""
	}
	return m.Stored.Type
}

// consumerOf finds the consumer of a message by name. Of one that left the stream, and that no lines name a consumer of, it is the only one that takes it.
func consumerOf(m MessageFacts, consumers []ConsumerState) *ConsumerState {
	takes := func(c ConsumerState) bool { return c.Name == m.Consumer }
	if m.Consumer == "" && m.VanishedAt.Known() && m.Stored != nil {
		takes = func(c ConsumerState) bool { return !c.Watches && MatchesAny(c.Filters, m.Stored.Subject) }
	}
	var found *ConsumerState
	for i := range consumers {
		if consumers[i].Stream != m.Key.Stream || !takes(consumers[i]) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &consumers[i]
	}
	return found
}

// spans cuts the life of a message into waiting and running. A begin that is only bounded leaves the time before it unsplit.
func spans(mt MessageTrace, now Micros) []Span {
	var out []Span
	var free Micros // Since when nobody has it.
	if mt.Facts.Stored != nil {
		free = mt.Facts.Stored.At
	}
	former, sure := false, true // Not sure: nobody knows when the attempt before ended.
	add := func(kind SpanKind, attempt int, from, to Micros, open bool) {
		if from.Known() && to > from {
			out = append(out, Span{Kind: kind, Attempt: attempt, Former: former, From: from, To: to, Open: open})
		}
	}
	for _, a := range mt.Attempts {
		former = a.Former
		before := SpanWaiting
		if !sure || (!a.BeganExact && !a.BeganSaid) {
			before = SpanUnsplit
		}
		switch {
		case a.End != EndOpen:
			ended := a.EndedAt
			if a.Former { // What its worker answers later it does not have.
				ended = earliest(ended, mt.Facts.RecreatedAt)
			}
			add(before, a.N, free, firstKnown(a.BeganAt, ended), false)
			add(SpanRunning, a.N, a.BeganAt, ended, false)
			free, sure = latest(free, latest(ended, a.BeganAt)), ended.Known()
		case mt.Verdict.State.InFlight():
			add(before, a.N, free, a.BeganAt, false)
			add(SpanRunning, a.N, a.BeganAt, now, true)
			return out
		}
	}
	former = false
	switch {
	case mt.Verdict.State == StatePublished || mt.Verdict.State == StateFailed:
		add(SpanWaiting, len(mt.Attempts)+1, free, now, true)
	case len(mt.Attempts) == 0 && mt.Verdict.State.Died() && mt.Facts.untaken(): // It waited until nobody was to take it.
		add(SpanWaiting, 1, free, mt.Facts.OrphanedAt, false)
	}
	return out
}

// SortCausally orders events as they caused each other: by generation of their message, attempt, phase within the attempt, then
// time. Clocks only decide among events that nothing else orders, such as what ends a message, what is kept of it and what is decided about it.
func SortCausally(events []Event, messages []MessageFacts) {
	r := rankMessages(messages)
	placed := make([]causalPlace, len(events))
	for i := range events {
		placed[i] = r.place(&events[i])
	}
	slices.SortStableFunc(placed, causalPlace.compare)
	sorted := make([]Event, len(events))
	for i, p := range placed {
		sorted[i] = *p.event
	}
	copy(events, sorted)
}

// causalPlace is an event with what orders it.
type causalPlace struct {
	rank, attempt int
	phase         Phase
	event         *Event
	last          Phase // Decides between equal times.
}

func (a causalPlace) compare(b causalPlace) int {
	if c := cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.phase, b.phase)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.event.At, b.event.At), cmp.Compare(a.last, b.last), cmp.Compare(a.event.ID, b.event.ID))
}

// ranks orders the messages of a task by generation.
type ranks struct {
	byKey     map[MessageKey]int
	byMsgID   map[string][]rankedID
	numbering map[numbered]int // The attempts that lines number.
	newest    int
}

// numbered is a delivery by what broker state tells of it.
type numbered struct {
	message     MessageKey
	consumer    string
	consumerSeq uint64
}

// rankedID is the rank of one of the messages that have a message id.
type rankedID struct {
	stored Micros
	rank   int
}

func rankMessages(messages []MessageFacts) ranks {
	r := ranks{byKey: map[MessageKey]int{}, byMsgID: map[string][]rankedID{}, numbering: map[numbered]int{}}
	for i, m := range messages {
		rank := m.Generation()<<20 + i
		r.byKey[m.Key], r.newest = rank, max(r.newest, rank)
		if m.Stored != nil && m.Stored.MsgID != "" {
			r.byMsgID[m.Stored.MsgID] = append(r.byMsgID[m.Stored.MsgID], rankedID{m.Stored.At, rank})
		}
		for _, part := range m.Parts() {
			for _, a := range part.Attempts {
				for _, seq := range a.CSeqs {
					r.numbering[numbered{m.Key, part.Consumer, seq}] = a.N
				}
			}
		}
	}
	return r
}

func (r ranks) place(e *Event) causalPlace {
	row, n := e.Kind.Row(), e.Attempt
	if n == 0 && row.Turn == OfDelivery {
		n = r.numbering[numbered{e.Message, e.Consumer, e.ConsumerSeq}]
	}
	return causalPlace{rank: r.of(e, row.About), attempt: causalAttempt(n, row.Turn), phase: min(row.Phase, PhaseGone), last: row.Phase, event: e}
}

// of ranks an event with its message, else with the last message that was stored by then of those whose id it names, else with the newest one; publish
// attempts of an id that nothing is stored under come before everything.
func (r ranks) of(e *Event, about About) int {
	if rank, ok := r.byKey[e.Message]; ok {
		return rank
	}
	named := r.byMsgID[e.Detail.MsgID]
	if about == AboutPublish && len(named) == 0 {
		return -1
	}
	for i := len(named) - 1; i >= 0; i-- {
		if i == 0 || named[i].stored <= e.At.Add(bindingSlack) {
			return named[i].rank
		}
	}
	return r.newest
}

// causalAttempt is the attempt that an event belongs to. An event of an attempt that nobody numbered comes behind the numbered ones, and
// what ends a message without naming an attempt comes last.
func causalAttempt(n int, t Turn) int {
	switch {
	case n > 0:
		return n
	case t == BeforeAttempts:
		return 0
	case t == InAttempt || t == OfDelivery:
		return 1 << 29
	}
	return 1 << 30
}
