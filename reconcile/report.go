package reconcile

import (
	"context"

	"fleetglass/lifecycle"
)

// Run is the stored record of one comparison of what was published with what became of it (SPEC 4).
type Run struct {
	ID        string           // Sorts by the time of creation.
	Slot      string           // Unique: the same slot is the same reconciliation. A scheduled time, or what the caller named.
	Cause     Cause            //
	Actor     string           // Who asked; empty for those that the program makes by itself.
	Asked     Period           // As it was asked for; unknown ends mean the default.
	Period    Period           // As it was resolved when it was created: From <= stored < To.
	Status    Status           //
	Failure   string           // Why it failed; empty otherwise.
	Owner     string           // The instance of the program that makes it.
	CreatedAt lifecycle.Micros //
	StartedAt lifecycle.Micros // Zero while it is queued.
	UpdatedAt lifecycle.Micros // Latest sign of life of its owner.
	EndedAt   lifecycle.Micros // Zero until it is done or failed.
	Progress  Progress         // How far it is.
	Report    *Report          // Nil until it is done. In lists of reconciliations its rows are left out.
}

// Period is a span of stored times, From <= time < To. An end that is not known takes its default.
type Period struct {
	From lifecycle.Micros `json:"from,omitempty"`
	To   lifecycle.Micros `json:"to,omitempty"`
}

// Cause says why a reconciliation is made.
type Cause string

// The causes.
const (
	CauseOnDemand  Cause = "on_demand" // Somebody asked.
	CauseScheduled Cause = "scheduled" // Its time had come.
	CauseRestart   Cause = "restart"   // The program started.
)

// Status is how far a reconciliation is.
type Status string

// The statuses.
const (
	StatusQueued  Status = "queued"  // Another one is being made.
	StatusRunning Status = "running" //
	StatusDone    Status = "done"    // Its report is stored.
	StatusFailed  Status = "failed"  // Failure says why.
)

// Ended reports whether nothing happens to it any more.
func (s Status) Ended() bool {
	return s == StatusDone || s == StatusFailed
}

// Progress is how far a running reconciliation is.
type Progress struct {
	Phase string `json:"phase,omitempty"` // What it is doing, in words.
	Read  int64  `json:"read,omitempty"`  // Messages judged.
	Total int64  `json:"total,omitempty"` // Messages to judge, about; zero while it is not known.
}

// Report is what a reconciliation found.
type Report struct {
	AsOf           lifecycle.Micros      `json:"as_of"`             // What the program knew then was compared.
	Period         Period                `json:"period"`            // What was compared: the period that was asked for, as far as it can be judged.
	Total          Balance               `json:"total"`             // Of all lines.
	Lines          []BalanceLine         `json:"lines,omitempty"`   // By stream, then agent; the agent that is not known comes first.
	Streams        []StreamSpan          `json:"streams,omitempty"` // What was compared of each stream.
	Lists          []DiscrepancyList     `json:"lists,omitempty"`   // One for each of [DiscrepancyKinds], in that order, empty ones too.
	WithoutRecords []AgentWithoutRecords `json:"without_records,omitempty"`
	Records        RecordCheck           `json:"records"`
	Gaps           []lifecycle.Gap       `json:"gaps,omitempty"`  // Spans of the period in which we may have been blind and that were not repaired, at most 100.
	Notes          []string              `json:"notes,omitempty"` // What restricts the report, in sentences.
}

// Discrepancies is the number of messages and records that something is wrong with: the sum of all lists.
func (r *Report) Discrepancies() int64 {
	var n int64
	for _, l := range r.Lists {
		n += l.Total
	}
	return n
}

// List is the list of a kind; its Total is zero where there is nothing.
func (r *Report) List(k DiscrepancyKind) DiscrepancyList {
	for _, l := range r.Lists {
		if l.Kind == k {
			return l
		}
	}
	return DiscrepancyList{Kind: k}
}

// Balance is the equation Published = Completed + InFlight + InDLQ + Exhausted + Terminated + Expired + Unexplained. Its left side
// is counted by sequence numbers, which are dense; its right side by the facts of each message. Every message is in one term.
type Balance struct {
	Published   int64 `json:"published"`   // Stored by the stream.
	Completed   int64 `json:"completed"`   // Acknowledged, or gone after its completion was recorded.
	InFlight    int64 `json:"in_flight"`   // Waiting, held by a worker, or due again.
	InDLQ       int64 `json:"in_dlq"`      // A dead-letter entry exists, decided about or not.
	Exhausted   int64 `json:"exhausted"`   // Attempts used up and no dead-letter entry: the message operators lose.
	Terminated  int64 `json:"terminated"`  // Ended by a worker or by an operator, and no dead-letter entry.
	Expired     int64 `json:"expired"`     // It left the stream by its max_age.
	Unexplained int64 `json:"unexplained"` // Everything else: what became of it is not known.
	NeverSeen   int64 `json:"never_seen"`  // Of the unexplained: nothing but the sequence number is known.
}

// Accounted is the right side of the equation.
func (b Balance) Accounted() int64 {
	return b.Completed + b.InFlight + b.InDLQ + b.Exhausted + b.Terminated + b.Expired + b.Unexplained
}

// Balanced reports whether both sides are equal.
func (b Balance) Balanced() bool { return b.Published == b.Accounted() }

// BalanceLine is the balance of one agent in one stream.
type BalanceLine struct {
	Stream lifecycle.StreamID `json:"stream"`
	Agent  string             `json:"agent"` // Empty where it is not known, as of messages that were never seen.
	Balance
}

// StreamSpan is what was compared of one stream.
type StreamSpan struct {
	Stream   lifecycle.StreamID `json:"stream"`
	FromSeq  uint64             `json:"from_seq"`            // First sequence of the period.
	ToSeq    uint64             `json:"to_seq"`              // Last one. Less than FromSeq where there is none.
	Known    int64              `json:"known"`               // Messages in between that the store knows.
	Compared bool               `json:"compared"`            // With what the stream holds now.
	Held     int64              `json:"held"`                // Messages in between that the stream holds, as far as it was compared.
	Why      string             `json:"why_not,omitempty"`   // Why it was not compared.
	LookedAt lifecycle.Micros   `json:"looked_at,omitempty"` // When the stream was asked.
}

// AgentWithoutRecords is an agent of which no completion is known in the period, by record or by report, although tasks of it were
// acknowledged: it keeps no records, so that none can be missing.
type AgentWithoutRecords struct {
	Agent        string `json:"agent"`
	Acknowledged int64  `json:"acknowledged"` // Messages without a completion that are therefore in no list.
}

// RecordCheck says whether completions that were seen were looked for among the records that exist now.
type RecordCheck struct {
	Checked bool   `json:"checked"`
	Asked   int64  `json:"asked"`             // Records that were looked for.
	Why     string `json:"why_not,omitempty"` // Why not, or not all.
}

// DiscrepancyKind is what is wrong with a message or a record.
type DiscrepancyKind string

// The kinds of discrepancy. The first three are the lists of SPEC 4.
const (
	CompletedNotAcked   DiscrepancyKind = "completed_not_acked"   // Completion is recorded and no acknowledgement was seen: it may be delivered again.
	AckedNotRecorded    DiscrepancyKind = "acked_not_recorded"    // Acknowledged and no completion recorded: lost work, or a missing record.
	RecordedUnpublished DiscrepancyKind = "recorded_unpublished"  // A completion is recorded of a task of which no message is known.
	RecordMissing       DiscrepancyKind = "record_missing"        // The record was seen and is gone before its retention ended.
	OutcomeUnexplained  DiscrepancyKind = "outcome_unexplained"   // What became of the message is not known.
	NeverSeen           DiscrepancyKind = "never_seen"            // The stream gave out the sequence, and nothing was ever seen of it.
	ExhaustedOutsideDLQ DiscrepancyKind = "exhausted_outside_dlq" // Attempts used up and no dead-letter entry.
	ExpiredInStream     DiscrepancyKind = "expired"               // It left the stream by its max_age before anybody was done with it.
	HeldThoughSettled   DiscrepancyKind = "held_though_settled"   // The stream holds it although it was answered.
	HeldUnknown         DiscrepancyKind = "held_unknown"          // The stream holds it and the store has not heard of it.
)

// DiscrepancyKinds lists the kinds in the order of a report.
func DiscrepancyKinds() []DiscrepancyKind {
	return []DiscrepancyKind{
		CompletedNotAcked, AckedNotRecorded, RecordedUnpublished, RecordMissing, OutcomeUnexplained, NeverSeen, ExhaustedOutsideDLQ,
		ExpiredInStream, HeldThoughSettled, HeldUnknown,
	}
}

// Meaning is one sentence for people.
func (k DiscrepancyKind) Meaning() string { return discrepancyTexts[k].meaning }

// Advice is what to do about it, in a sentence.
func (k DiscrepancyKind) Advice() string { return discrepancyTexts[k].advice }

// Title is a short name for headings.
func (k DiscrepancyKind) Title() string { return discrepancyTexts[k].title }

// DiscrepancyList is all that is wrong in one way.
type DiscrepancyList struct {
	Kind  DiscrepancyKind `json:"kind"`
	Total int64           `json:"total"`          // Messages or records, however many rows are kept.
	Rows  []Discrepancy   `json:"rows,omitempty"` // The first ones by message, then task; at most [DiscrepancyRows].
}

// DiscrepancyRows is how many rows of one list are kept.
const DiscrepancyRows = 1000

// Discrepancy is one thing that is wrong.
type Discrepancy struct {
	Message lifecycle.MessageKey `json:"message,omitzero"`  // Zero where no message is known.
	ToSeq   uint64               `json:"to_seq,omitempty"`  // Last sequence of a run that begins with Message; zero for a single message.
	TaskID  string               `json:"task_id,omitempty"` // Empty where it is not known.
	Agent   string               `json:"agent,omitempty"`   // Likewise.
	State   lifecycle.State      `json:"state,omitempty"`   // What the facts prove; empty where there are none.
	At      lifecycle.Micros     `json:"at,omitempty"`      // When the latest of what is known happened.
	Why     string               `json:"why"`               // The evidence, in a sentence.
}

// N is how many messages or records the row stands for.
func (d Discrepancy) N() int64 {
	if d.ToSeq <= d.Message.Seq {
		return 1
	}
	return int64(d.ToSeq-d.Message.Seq) + 1
}

// RunStore keeps reconciliations.
type RunStore interface {
	// CreateReconciliation stores r, unless one with its slot is stored: then that one is returned and created is false.
	CreateReconciliation(ctx context.Context, r Run) (stored Run, created bool, err error)
	// SaveReconciliation replaces the one with the id of r. It errors with ErrNotFound where there is none.
	SaveReconciliation(ctx context.Context, r Run) error
	// Reconciliation returns one with all rows of its report, or ErrNotFound.
	Reconciliation(ctx context.Context, id string) (Run, error)
	// Reconciliations returns the newest first, at most limit, those strictly before the given id; the empty id is the beginning.
	// Rows of the lists in their reports are left out.
	Reconciliations(ctx context.Context, before string, limit int) ([]Run, error)
	// RetainReconciliations deletes all but the newest ones and returns how many that were.
	RetainReconciliations(ctx context.Context, keep int) (int64, error)
}

// BalanceReader gives what a reconciliation reads beside what [Reader] gives.
type BalanceReader interface {
	// MessageStreams lists the streams, incarnations apart, of which messages are known, in their order.
	MessageStreams(ctx context.Context) ([]lifecycle.StreamID, error)
	// MessagesWithTasks returns the messages of a stream with from <= sequence <= to with the facts of their tasks, in sequence
	// order, at most limit.
	MessagesWithTasks(ctx context.Context, stream lifecycle.StreamID, from, to uint64, limit int) ([]lifecycle.OpenMessage, error)
	// TasksWithoutMessage returns tasks of which no stored message is known and whose latest event is at or after since, ordered
	// by the time of that event and the task's id, strictly beyond the cursor (nil for the beginning), at most limit. next is nil at
	// the end.
	TasksWithoutMessage(ctx context.Context, since lifecycle.Micros, after *lifecycle.Cursor, limit int) (tasks []lifecycle.TaskFacts, next *lifecycle.Cursor, err error)
}
