package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// Facts are the answers to the questions that [Rules.Step] asked: what the store knows, and what the broker says about single messages.
// They hold for one observation.
type Facts struct {
	Open    map[OpenRange][]lifecycle.OpenMessage
	Rows    map[RowRange][]lifecycle.MessageFacts
	Present map[uint64]bool   // Whether a message is in the stream.
	Fill    map[string]uint64 // How many messages the stream holds of a subject.
	Read    map[ReadRange]Reading
	Begin   *Begin
	Deleted *Deletions
	Updated *Updates
	Gaps    *[]lifecycle.Gap // What the store knows of, the latest first, at most [maxGaps].
}

// NewFacts is no answer at all.
func NewFacts() Facts {
	return Facts{
		Open: map[OpenRange][]lifecycle.OpenMessage{}, Rows: map[RowRange][]lifecycle.MessageFacts{},
		Present: map[uint64]bool{}, Fill: map[string]uint64{}, Read: map[ReadRange]Reading{},
	}
}

// OpenRange asks the store for the open messages of a stream from a sequence on, at most Limit, in sequence order.
type OpenRange struct {
	Stream lifecycle.StreamID
	From   uint64
	Limit  int
}

// RowRange asks the store for the messages of the observed stream in [From, To], open or not, at most Limit, in sequence order.
type RowRange struct {
	From, To uint64
	Limit    int
}

// ReadRange asks the broker for the messages that the stream holds in [From, To], at most Limit.
type ReadRange struct {
	From, To uint64
	Limit    int
}

// Reading is the answer to a [ReadRange].
type Reading struct {
	Messages []ReadMessage // In sequence order.
	Reached  uint64        // The range was read up to here; less than To when Limit was reached.
}

// ReadMessage is a message read from the stream, as a batch that states what its lost publish line would have said.
type ReadMessage struct {
	Seq    uint64
	At     lifecycle.Micros // When it was stored.
	Hidden bool             // It expects something of its stream, so capture sees no publish of it, repeated ones included.
	Batch  lifecycle.Batch
}

// Begin says where the comparison of the stream with the store begins.
type Begin struct {
	Stored         bool             // The store has a position.
	Position       uint64           // That position.
	Since          lifecycle.Micros // With it: [Comparison.Since].
	CaptureMissing bool             // Otherwise: there is no capture stream of publishes.
	CaptureCreated lifecycle.Micros
	First          uint64           // The sequence that the stream gave its first message; zero for one.
	FirstCaptured  uint64           // The sequence that its first line names; zero for none.
	FirstAt        lifecycle.Micros // When that line was captured.
	Before         lifecycle.Micros // When the last message before the first line was stored; zero where that is not known, or there was none.
	Discarded      uint64           // How many lines it held, and has no more.
}

// Deletions are the consumers of the stream that were deleted, as captured advisories say.
type Deletions struct {
	From lifecycle.Micros            // Every deletion since then was captured.
	Last map[string]lifecycle.Micros // By consumer: when the last of its name was deleted.
}

// Updates say when the configuration of the stream was changed, as captured advisories say.
type Updates struct {
	From lifecycle.Micros // Every change since then was captured.
	Last lifecycle.Micros // When the last one was; zero for none.
}

// Questions are what must be known before anything can be concluded.
type Questions struct {
	Open    []OpenRange
	Rows    []RowRange
	Present []uint64
	Fill    []string
	Read    []ReadRange
	Begin   bool
	Deleted bool
	Updated bool
	Gaps    bool
}

// None reports whether everything is known.
func (q Questions) None() bool {
	return len(q.Open)+len(q.Rows)+len(q.Present)+len(q.Fill)+len(q.Read) == 0 && !q.Begin && !q.Deleted && !q.Updated && !q.Gaps
}

// answer looks a question up, and notes it where the answer is not known.
func answer[Q comparable, A any](known map[Q]A, q Q, unanswered *[]Q) (A, bool) {
	a, ok := known[q]
	if !ok && !slices.Contains(*unanswered, q) {
		*unanswered = append(*unanswered, q)
	}
	return a, ok
}
