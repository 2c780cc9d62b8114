package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// StreamPresence says which sequences a stream holds, as it was asked about them.
type StreamPresence interface {
	// Has reports whether a sequence is in the stream, and whether that is known.
	Has(seq uint64) (present, known bool)
	// Between calls yield for every sequence in [from, to] that is known to be in the stream, in order, until it returns false.
	Between(from, to uint64, yield func(seq uint64) bool)
}

// AuditConfig is what an audit compares messages with.
type AuditConfig struct {
	AsOf    lifecycle.Micros // Required. Everything that had happened by then, and grace earlier at the latest, is known.
	Grace   time.Duration    // Optional; default none. What happened later than that before AsOf may be incomplete: it proves no discrepancy.
	Period  Period           // Required.
	Streams []AuditStream    // Messages of other streams, and outside the sequences named here, do not count.
	Blind   []lifecycle.Gap  // Spans in which an answer to a message may have been missed.
	Deaf    []lifecycle.Gap  // Spans in which a reported completion may have been missed.
	Deleted lifecycle.Micros // Optional. What ended before then may have been deleted from the store; zero where nothing was.
}

// AuditStream is what is known of one stream of an audit.
type AuditStream struct {
	StreamSpan
	// SeenFrom is the first sequence that Fleetglass observed. Unknown messages before it do not count.
	SeenFrom uint64
	Present  StreamPresence // Nil where the stream was not asked.
	MaxAge   time.Duration  // As it is configured now; zero for none.
	Kept     bool           // It is no work queue: it holds what was acknowledged.
}

// AuditedMessage is a message with everything that its judgement needs.
type AuditedMessage struct {
	lifecycle.OpenMessage
	RecordGone bool // Its completion record was looked for and is not there, although its retention is not over.
}

// Audit judges messages one by one and adds them up to the report of a reconciliation. The order in which they come does not matter,
// and a message that comes again does not count again. It keeps counters, the rows that the report will keep, and one range for each
// unbroken run of sequences: what it needs does not grow with the number of messages.
type Audit struct {
	cfg     AuditConfig
	streams map[lifecycle.StreamID]*auditStream
	lines   map[lineKey]*Balance
	lists   map[DiscrepancyKind]*rowKeeper
	agents  map[string]*recordKeeping
	orphans map[lifecycle.EventID]bool // Tasks without a message that were given, by a digest of their ids.
}

type lineKey struct {
	stream lifecycle.StreamID
	agent  string
}

type auditStream struct {
	AuditStream
	known sequenceSet
}

// recordKeeping is what an audit learns about the records of one agent.
type recordKeeping struct {
	keeps bool      // At least one completion of it is known.
	acked rowKeeper // Acknowledged without one.
}

// NewAudit begins an audit.
func NewAudit(cfg AuditConfig) *Audit {
	a := &Audit{
		cfg: cfg, streams: map[lifecycle.StreamID]*auditStream{}, lines: map[lineKey]*Balance{}, lists: map[DiscrepancyKind]*rowKeeper{},
		agents: map[string]*recordKeeping{}, orphans: map[lifecycle.EventID]bool{},
	}
	for _, s := range cfg.Streams {
		a.streams[s.Stream] = &auditStream{AuditStream: s}
	}
	for _, k := range DiscrepancyKinds() {
		a.lists[k] = &rowKeeper{}
	}
	return a
}

// Message takes in a message with the facts of its task.
func (a *Audit) Message(m AuditedMessage) {
	k := m.Message.Key
	s := a.streams[k.Stream]
	if s == nil || k.Seq < s.FromSeq || k.Seq > s.ToSeq || !s.known.add(k.Seq) {
		return
	}
	j := a.judge(s, m.OpenMessage)
	line := a.line(lineKey{k.Stream, m.Message.Agent})
	line.Published++
	j.term.count(line)
	if j.kind != "" {
		a.note(j.kind, discrepancyOf(m.OpenMessage, j))
	}
	a.recorded(m, j)
}

// Task takes in a task of which no message is known.
func (a *Audit) Task(t lifecycle.TaskFacts, recordGone bool) {
	at, agent, how := orphanCompletion(t)
	id := lifecycle.NewEventID(t.ID)
	if !at.Known() || at < a.cfg.Period.From || at >= a.cfg.Period.To || !a.settled(t.LastAt) || a.orphans[id] {
		return
	}
	a.orphans[id] = true
	a.agent(agent).keeps = true
	d := Discrepancy{TaskID: t.ID, Agent: agent, At: at, Why: how + a.withoutMessage()}
	a.note(RecordedUnpublished, d)
	if recordGone {
		d.Why = recordGoneWhy
		a.note(RecordMissing, d)
	}
}

// withoutMessage ends the sentence about a completion of which no message is known.
func (a *Audit) withoutMessage() string {
	if a.cfg.Deleted.Known() {
		return ", and no message of it is known. One that ended before " + stamp(a.cfg.Deleted) + " may have been deleted here by retention."
	}
	return ", and no message of it was ever seen."
}

// orphanCompletion is the completion of a task without messages, by record or else by report.
func orphanCompletion(t lifecycle.TaskFacts) (at lifecycle.Micros, agent, how string) {
	if c := t.Completion; c != nil {
		return c.At, cmp.Or(c.Agent, t.Agent), "A completion record names the task"
	}
	for _, r := range t.Reports {
		if r.CompletedAt.Known() && (!at.Known() || r.CompletedAt < at) {
			at = r.CompletedAt
		}
	}
	return at, t.Agent, "The agent reports that it completed the task"
}

// recorded compares a message with the completions of its task.
func (a *Audit) recorded(m AuditedMessage, j judgement) {
	keeping := a.agent(m.Message.Agent)
	switch {
	case j.told:
		keeping.keeps = true
	case slices.ContainsFunc(m.Task.Sharers(m.Message), func(s lifecycle.SharedKey) bool { return s.Proved }): // Its record is another task's.
	case j.acked && m.Message.Stored != nil && a.settled(lastAt(m.OpenMessage)): // Without its publish nobody knows which record would be its own.
		j.why = "Acknowledged, and neither a record nor a report says that the task was completed."
		switch {
		case j.unbound:
			j.why = "Acknowledged, and no record says that the task was completed. " + unboundWhy
		case overlaps(a.cfg.Deaf, m.Message.Key.Stream.Name, m.Message.FirstAt, a.cfg.AsOf):
			j.why = "Acknowledged, and no record says that the task was completed; a report may have been missed, because capture has a gap since."
		}
		keeping.acked.add(discrepancyOf(m.OpenMessage, j))
	}
	if m.RecordGone {
		d := discrepancyOf(m.OpenMessage, j)
		d.Why = recordGoneWhy
		if of := m.Task.RecordedMessage(); of != d.Message {
			d.Message, d.State = of, ""
		}
		a.note(RecordMissing, d)
	}
}

const recordGoneWhy = "Its completion record was seen, its retention is not over, and the record is not there any more."

// settled reports whether something that happened at the given time, and what belongs to it, must be known by now.
func (a *Audit) settled(at lifecycle.Micros) bool { return at.Add(a.cfg.Grace) <= a.cfg.AsOf }

func (a *Audit) note(k DiscrepancyKind, d Discrepancy) { a.lists[k].add(d) }

func (a *Audit) line(k lineKey) *Balance {
	b := a.lines[k]
	if b == nil {
		b = &Balance{}
		a.lines[k] = b
	}
	return b
}

func (a *Audit) agent(name string) *recordKeeping {
	r := a.agents[name]
	if r == nil {
		r = &recordKeeping{}
		a.agents[name] = r
	}
	return r
}

func lastAt(m lifecycle.OpenMessage) lifecycle.Micros { return max(m.Message.LastAt, m.Task.LastAt) }

func discrepancyOf(m lifecycle.OpenMessage, j judgement) Discrepancy {
	return Discrepancy{
		Message: m.Message.Key, TaskID: cmp.Or(m.Task.ID, m.Message.TaskID), Agent: m.Message.Agent, State: j.state, At: lastAt(m), Why: j.why,
	}
}

// Report adds everything up. More may be taken in afterwards.
func (a *Audit) Report() Report {
	r := Report{AsOf: a.cfg.AsOf, Period: a.cfg.Period}
	lines, lists := a.copyLines(), a.copyLists()
	for _, c := range a.cfg.Streams {
		s, k := a.streams[c.Stream], lineKey{stream: c.Stream}
		b, some := lines[k]
		s.compare(func(kind DiscrepancyKind, d Discrepancy) {
			lists[kind].add(d)
			b.addUnknown(kind, d.N())
			some = true
		})
		if some {
			lines[k] = b
		}
		span := s.StreamSpan
		span.Known = s.known.size()
		r.Streams = append(r.Streams, span)
	}
	for _, k := range sortedLines(lines) {
		r.Lines = append(r.Lines, BalanceLine{Stream: k.stream, Agent: k.agent, Balance: lines[k]})
		r.Total.add(lines[k])
	}
	a.sortOutWithoutRecords(&r, lists[AckedNotRecorded])
	for _, k := range DiscrepancyKinds() {
		r.Lists = append(r.Lists, DiscrepancyList{Kind: k, Total: lists[k].total, Rows: lists[k].rows})
	}
	return r
}

// sortOutWithoutRecords lists what agents acknowledged without a completion: one by one where they record completions at all, else as one
// number.
func (a *Audit) sortOutWithoutRecords(r *Report, list *rowKeeper) {
	for _, name := range slices.Sorted(maps.Keys(a.agents)) {
		switch k := a.agents[name]; {
		case k.keeps:
			list.join(&k.acked)
		case k.acked.total > 0:
			r.WithoutRecords = append(r.WithoutRecords, AgentWithoutRecords{Agent: name, Acknowledged: k.acked.total})
		}
	}
}

func (a *Audit) copyLines() map[lineKey]Balance {
	out := make(map[lineKey]Balance, len(a.lines))
	for k, b := range a.lines {
		out[k] = *b
	}
	return out
}

func (a *Audit) copyLists() map[DiscrepancyKind]*rowKeeper {
	out := make(map[DiscrepancyKind]*rowKeeper, len(a.lists))
	for k, l := range a.lists {
		out[k] = &rowKeeper{total: l.total, rows: slices.Clone(l.rows)}
	}
	return out
}

func sortedLines(lines map[lineKey]Balance) []lineKey {
	return slices.SortedFunc(maps.Keys(lines), func(a, b lineKey) int {
		return cmp.Or(a.stream.Compare(b.stream), strings.Compare(a.agent, b.agent))
	})
}

// addUnknown adds sequences of which the store knows nothing: the stream holds them, or nobody knows.
func (b *Balance) addUnknown(kind DiscrepancyKind, n int64) {
	b.Published += n
	if kind == HeldUnknown {
		b.InFlight += n
		return
	}
	b.Unexplained += n
	b.NeverSeen += n
}

func (b *Balance) add(o Balance) {
	b.Published += o.Published
	b.Completed += o.Completed
	b.InFlight += o.InFlight
	b.InDLQ += o.InDLQ
	b.Exhausted += o.Exhausted
	b.Terminated += o.Terminated
	b.Expired += o.Expired
	b.Unexplained += o.Unexplained
	b.NeverSeen += o.NeverSeen
}
