package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"
)

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("not found") // Nothing is stored under that name.
	ErrClosed   = errors.New("store is closed")
	ErrUnable   = errors.New("store is unable")          // The disk is full, the database is away: nothing is wrong with what was asked.
	ErrCrowded  = errors.New("too many heavy questions") // More wait than are answered soon: nothing is wrong with this one either.
)

// Batch is what a source hands over at once. It is stored whole or not at all.
type Batch struct {
	Events      []Event
	Payloads    []Payload
	Quarantined []QuarantinedLine
	Gaps        []Gap
	Consumers   []ConsumerState
	Watermarks  map[string]string // Positions of sources, by source name. The last one counts.
	Reached     map[string]uint64 // Up to which sequence sources are stored, by source name. The highest counts, whatever the order in which replicas store.
}

// Empty reports whether the batch has nothing to store.
func (b Batch) Empty() bool {
	return len(b.Events)+len(b.Payloads)+len(b.Quarantined)+len(b.Gaps)+len(b.Consumers)+len(b.Watermarks)+len(b.Reached) == 0
}

// Add adds another batch. If both name a watermark, that of the other counts.
func (b *Batch) Add(o Batch) {
	b.Events = append(b.Events, o.Events...)
	b.Payloads = append(b.Payloads, o.Payloads...)
	b.Quarantined = append(b.Quarantined, o.Quarantined...)
	b.Gaps = append(b.Gaps, o.Gaps...)
	b.Consumers = append(b.Consumers, o.Consumers...)
	if b.Watermarks == nil {
		b.Watermarks = map[string]string{}
	}
	maps.Copy(b.Watermarks, o.Watermarks)
	if b.Reached == nil {
		b.Reached = map[string]uint64{}
	}
	for source, seq := range o.Reached {
		b.Reached[source] = max(b.Reached[source], seq)
	}
}

// ReachedText is how [Batch.Reached] is kept among the watermarks: with so many digits that texts have the order of the numbers.
func ReachedText(seq uint64) string { return fmt.Sprintf("%020d", seq) }

// Appended is what a batch did.
type Appended struct {
	New     int          // Events that were not known before.
	Changed []TaskChange // Tasks whose row was written, sorted by task id.
}

// TaskChange says that something is new about a task.
type TaskChange struct {
	TaskID string
	State  State
	Agent  string
	At     Micros // Of its latest event.
	Shares bool   // Other tasks are to be told what becomes of it ([TaskFacts.SharesKey]).
	Fallen bool   // Messages of it died, or follow one that did: what is known of its dead letters may have changed.
	Number uint64 // Of two changes of a task that one process tells of the later one has the higher number ([NextChange]); zero where that is not known.
}

var lastChange atomic.Uint64

// NextChange numbers a change of a task. Who changes the task takes the number while nobody else can: commits end in one order, and are told of in any. Who reads it
// takes the number before. That number may be higher than the one of a commit that ends only after the reading: whoever tells of both reads once more then.
func NextChange() uint64 { return lastChange.Add(1) }

// Appender takes batches in. Append is atomic: it returns only after a durable commit, and a batch that is given again, whole or in
// part, changes nothing (events are told apart by task, time and id; a quarantined line stays as it was first seen; the rest replaces
// itself). Several may run at once. An error that wraps ErrUnable says nothing about the batch: the same one may succeed later. What has
// been appended belongs to the caller again, who may write over it.
type Appender interface {
	Append(ctx context.Context, b Batch) (Appended, error)
}

// Payload is the body of a stored message, with its headers.
type Payload struct {
	Message MessageKey
	Headers map[string][]string
	Body    []byte // Whole, or its beginning when Truncated.
	Size    int64  // Of the whole body, bytes.
	At      Micros // When the message was stored: payloads are kept as long as the events of that time.

	Truncated bool
	Hash      string // Fingerprint of the body as its publish line had it; empty when it had none. Not stored.
}

// QuarantinedLine is a line that could not be decoded. It is kept with its bytes and counted; it never blocks its source.
type QuarantinedLine struct {
	ID        EventID // Of the source's coordinates: a line that is delivered again is the same line.
	Source    string
	SourceSeq uint64
	At        Micros
	Subject   string
	Headers   map[string][]string
	Body      []byte
	Reason    string // Why it could not be decoded.
}

// Gap is a span in which lines may have been missed. Whatever is shown of that span shows the gap too.
type Gap struct {
	Source   string // Capture stream or collector.
	From, To Micros // To is zero while the gap is open. Source and From identify the gap; later values replace the others, but its sequences only grow.
	FromSeq  uint64 // First sequence that was lost, where the source has sequences.
	ToSeq    uint64 // Last one. What is said of a smaller one comes too late.
	Reason   string
	Repaired bool // The lost lines were read again from elsewhere, or none was lost ([BrokerAway]).
}

// ConsumerState is what the broker says about a durable consumer, at one time.
type ConsumerState struct {
	Stream        StreamID
	Name          string
	CreatedAt     Micros // Since when its attempts are numbered: when it was created, or reset.
	MadeAt        Micros // When it was created, where it was reset since; zero else.
	ResetBy       Micros // The look that saw its last reset, which can have been as late as that; zero where it was never reset.
	ObservedAt    Micros // By the broker's clock. An older observation never replaces a newer one.
	Filters       []string
	AckWait       time.Duration
	Backoff       []time.Duration
	MaxDeliver    int // Zero or less: no limit.
	MaxAckPending int
	AckPending    int    // Deliveries awaiting an answer.
	Redelivered   int    // Messages delivered more than once and still pending.
	Pending       uint64 // Stored messages not yet delivered.
	Waiting       int    // Pull requests waiting.
	Unanswered    bool   // It awaits no answers: what it delivered is over for it.
	Push          bool   // The broker sends to whoever is subscribed; nobody pulls.
	Bound         bool   // Of one to which the broker sends: somebody is subscribed.
	DeliveredCSeq uint64
	DeliveredSeq  uint64
	DeliveredAt   Micros // The broker's time of the last delivery.
	FloorCSeq     uint64
	FloorSeq      uint64
	PassedSeq     uint64 // All deliveries of messages up to this one are among those up to FloorCSeq. FloorSeq is beyond it where messages were purged.
	StartSeq      uint64 // Since it was created, or reset, it delivers no message before this one; zero where that is not known.
	Paused        bool
	PausedUntil   Micros      // When it goes on by itself; zero where that is not known, or it is not paused.
	Gone          bool        // It was there before and is not now.
	Watches       bool        // It only watches: its stream is no work queue, and it is not named as a worker's.
	WaitsSince    Micros      // Since when the broker goes by its ack wait and backoff as they are, where they were seen otherwise before; zero where they were not.
	Seen          Micros      // The first look at it; zero where that is not known.
	Followed      bool        // It was made after a look at the broker: it is taken to have waited, and allowed, from the beginning what the first look at it found.
	Several       bool        // It may hold one message, was seen to hold several before, and may hold them still.
	Lowered       Lowered     // It allows fewer attempts than it was seen to allow before.
	Refiltered    Refiltered  // It takes other subjects than it was seen to take before.
	Steps         []ClockStep // The jumps of its clock that may still concern what it holds, oldest first.
}

// Lowered is that a consumer allows fewer attempts than before. The zero value says that it was never seen to.
type Lowered struct {
	From int    // The most that were allowed before; zero or less for no limit.
	At   Micros // The last look that saw fewer than the one before.
}

// Refiltered is that a consumer, or an earlier one of its name, took other subjects before: no advisory tells of that. The zero value says that none was seen to.
type Refiltered struct {
	At      Micros   // The first look that saw it without the last of them.
	Filters []string // All that it had before.
	Again   []string // Those of them that it has now, and was seen without in between.
	Seq     uint64   // The message that it had delivered last when it was seen with the last of them; zero where it was created since.
	Strays  bool     // Its workers may still have messages of these subjects.
}

// Took reports whether a message can have been taken by filters that are in use no more.
func (r Refiltered) Took(s *StoredFacts) bool {
	return r.At >= s.At && MatchesAny(r.Filters, s.Subject)
}

// Made is when the broker created the consumer.
func (c ConsumerState) Made() Micros { return firstKnown(c.MadeAt, c.CreatedAt) }

// Unseen reports whether the consumer may have been otherwise at a time than it is known to have been: nobody had looked at it by then.
func (c ConsumerState) Unseen(at Micros) bool { return at < c.Seen && !c.Followed }

// Wait is the time a worker has to answer attempt n, counted from its delivery or last heartbeat: backoff overrides ack wait.
func (c ConsumerState) Wait(n int) time.Duration {
	if len(c.Backoff) == 0 {
		return c.AckWait
	}
	return c.Backoff[min(max(n, 1), len(c.Backoff))-1]
}

// Page asks for a part of a list. The zero value asks for the first rows.
type Page struct {
	Limit    int     // Rows, at least 1.
	From     *Cursor // Rows strictly beyond this one; nil for the beginning.
	Backward bool    // Towards the beginning. The rows still come in list order.
}

// Cursor is the place of a row in a list.
type Cursor struct {
	At     Micros // The value of the sort column.
	TaskID string // Breaks ties.
}

// TaskPage is a part of the task list.
type TaskPage struct {
	Tasks []TaskSummary
	Next  *Cursor // Where the following page begins; nil at the end.
	Prev  *Cursor // Where the page before begins (read Backward); nil at the beginning.
}

// TaskRecord is all that is known of a task but for its events.
type TaskRecord struct {
	Facts    TaskFacts
	Summary  TaskSummary
	Messages []MessageFacts // In generation order, at most [MessagesPerTask]: the newest ones.
}

// TaskReader answers lists. Lists contain listed tasks only ([TaskSummary.Listed]).
type TaskReader interface {
	// ListTasks returns the tasks that f selects, in the order of f.Sort, ties broken by task id.
	ListTasks(ctx context.Context, f Filter, p Page) (TaskPage, error)
	// CountTasks counts the tasks that f selects per state, ignoring f.States. Where counters answer ([Filter.Counted]) they
	// are asked; otherwise at most CountLimit rows are looked at, and capped says that there were more.
	CountTasks(ctx context.Context, f Filter) (counts map[State]int64, capped bool, err error)
	// Facets returns the agents that exist, with the number of listed tasks of each, and the types that the rollups of the last
	// [FacetsSpan] name.
	Facets(ctx context.Context) (Facets, error)
}

// CountLimit is how many rows a count reads where no counter answers it.
const CountLimit = 10_000

// FacetsSpan is how far back types are looked for.
const FacetsSpan = 7 * 24 * time.Hour

// Facets are the values by which lists can be narrowed.
type Facets struct {
	Agents map[string]int64
	Types  map[string]int64
}

// TraceReader answers questions about one task.
type TraceReader interface {
	// Task returns what is known of the task, or ErrNotFound.
	Task(ctx context.Context, id string) (TaskRecord, error)
	// TaskOf returns the id of the task that message k is shown under, or ErrNotFound.
	TaskOf(ctx context.Context, k MessageKey) (string, error)
	// Events returns events of the task ordered by time and id, at most limit, those strictly after the given position. The zero
	// position is the beginning. An unknown task has none.
	Events(ctx context.Context, taskID string, after EventPosition, limit int) ([]Event, error)
	// Event returns one event of the task, or ErrNotFound.
	Event(ctx context.Context, taskID string, id EventID) (Event, error)
	// Payload returns the body of a stored message, or ErrNotFound when it was never seen or is no longer kept.
	Payload(ctx context.Context, k MessageKey) (Payload, error)
}

// EventPosition is the place of an event in its task.
type EventPosition struct {
	At Micros
	ID EventID
}

// OpenReader gives the messages that are not settled.
type OpenReader interface {
	// OpenMessages returns the open messages of a stream with from <= sequence, in sequence order, at most limit. A zero stream
	// means all streams, ordered by stream and sequence; from is then ignored.
	OpenMessages(ctx context.Context, stream StreamID, from uint64, limit int) ([]OpenMessage, error)
	// MessagesIn returns the facts of the stored messages of a stream with from <= sequence <= to, in sequence order, at most limit,
	// open or not.
	MessagesIn(ctx context.Context, stream StreamID, from, to uint64, limit int) ([]MessageFacts, error)
	// UnlistedTasks returns at most limit tasks that await a message ([TaskRow.AwaitsMessage]), whose latest event
	// is before the given time, ordered by that event's time and the task's id.
	UnlistedTasks(ctx context.Context, before Micros, limit int) ([]TaskFacts, error)
}

// OpenMessage is a message that something may still happen to ([MessageRow.Open]), with the facts needed to judge it.
type OpenMessage struct {
	Message MessageFacts
	Task    TaskFacts
}

// FleetReader answers questions about the fleet as a whole.
type FleetReader interface {
	// Consumers returns the last known state of every consumer, ordered by stream and name.
	Consumers(ctx context.Context) ([]ConsumerState, error)
	// Rollups returns the cells of the given metrics whose bucket is in [from, to) or "now", summed over agents when byAgent is
	// false.
	Rollups(ctx context.Context, metrics []Metric, from, to Micros, byAgent bool) (Tally, error)
	// Gaps returns the gaps that overlap [from, to), latest first, those of one time by source, at most limit.
	Gaps(ctx context.Context, from, to Micros, limit int) ([]Gap, error)
	// Quarantine returns the quarantined lines, latest first, at most limit, and how many there are.
	Quarantine(ctx context.Context, limit int) ([]QuarantinedLine, int64, error)
	// Watermark returns the position of a source, empty when it has none. Up to where a source is stored it returns as [ReachedText].
	Watermark(ctx context.Context, source string) (string, error)
}

// Reader is everything that can be asked.
type Reader interface {
	TaskReader
	TraceReader
	OpenReader
	FleetReader
}

// Keeper is for upkeep.
type Keeper interface {
	// Retain deletes what ended before the cutoff: tasks whose last event is older and that have no open message, with their messages,
	// events and payloads, unless nobody has decided about a dead letter of theirs yet, or what was decided is still to be done; quarantined lines;
	// gaps that ended [GapsKept] before now; minute rollups older than [MinutesKept] before now. It returns the number of tasks deleted. It works in small transactions and may be interrupted.
	Retain(ctx context.Context, cutoff, now Micros) (int64, error)
	// Rebuild judges everything anew from the stored events: facts, tasks and rollups are replaced, events stay. It returns the
	// number of events read.
	Rebuild(ctx context.Context) (int64, error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
	// Size is how many bytes the data takes. Space that deleted rows left free inside of a file, to be used again, does not count where the
	// database can tell.
	Size(ctx context.Context) (int64, error)
	// Close releases the store. It is idempotent.
	Close() error
}

// Store is every port of this package. Other packages declare ports of their own beside it; a consumer takes the smallest part that
// serves it.
type Store interface {
	Appender
	Reader
	Upgrader
	Keeper
}
