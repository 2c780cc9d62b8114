package demo

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"fleetglass/fleet"
)

// End is how a task ended, as far as the demo itself did it.
type End string

// The ends.
const (
	EndOpen       End = "open"       // Not yet.
	EndCompleted  End = "completed"  // Acknowledged after its completion was recorded.
	EndTerminated End = "terminated" // The agent said never again.
	EndExhausted  End = "exhausted"  // The last attempt failed or fell silent.
	EndOrphaned   End = "orphaned"   // Nobody will take it.
)

// Entry is the truth about one task.
type Entry struct {
	Story      Story
	Seq        uint64 // In TASKS; zero until published.
	Publishes  int    // Publishes made, duplicates included.
	Duplicates int    // Of them, those that the stream caught.
	Attempts   int    // Highest delivery number seen by a worker.
	Executions int    // Attempts that ran the work, silent ones included.
	Heartbeats int
	Naks       int
	Silent     int // Attempts that were left without an answer.
	Recorded   bool
	Skipped    bool // An attempt acknowledged without executing, because the completion was recorded.
	End        End
}

// Note is one thing that happened to a task, as the ledger learns of it.
type Note struct {
	Story   Story
	What    What
	Attempt int    // Zero where it is about no attempt.
	Number  uint64 // Of the delivery among its consumer's: executed and answers.
	Seq     uint64 // In TASKS: zero for silent and recorded.
}

// What happened. Answers to the broker are written as [fleet.Answer] has them.
type What string

// What else is noted.
const (
	NotePublished What = "published" // The stream stored the task.
	NoteDuplicate What = "duplicate" // The stream caught a publish.
	NoteExecuted  What = "executed"  // An attempt begins to work.
	NoteRecorded  What = "recorded"  // The completion was recorded.
	NoteSilent    What = "silent"    // An attempt is left without an answer.
)

// ledger keeps the newest entries.
type ledger struct {
	mu      sync.Mutex
	limit   int
	noted   func(Note) // May be nil.
	entries map[int]*Entry
}

func newLedger(limit int, noted func(Note)) *ledger {
	return &ledger{limit: limit, noted: noted, entries: map[int]*Entry{}}
}

// edit changes the entry of a task, which it makes where it is missing, and passes on what happened.
func (l *ledger) edit(s Story, n Note, change func(*Entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noted != nil {
		n.Story = s
		l.noted(n)
	}
	e, found := l.entries[s.N]
	if !found {
		e = &Entry{Story: s, End: EndOpen}
		l.entries[s.N] = e
		delete(l.entries, s.N-l.limit)
	}
	change(e)
}

func (l *ledger) list() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Entry, 0, len(l.entries))
	for _, e := range slices.SortedFunc(maps.Values(l.entries), func(a, b *Entry) int { return cmp.Compare(a.Story.N, b.Story.N) }) {
		out = append(out, *e)
	}
	return out
}

// about notes something of a delivery.
func about(what What, d fleet.Delivery) Note {
	return Note{What: what, Attempt: d.Attempt, Number: d.Number, Seq: d.Key.Seq}
}

// answered counts what a worker told the broker.
func (l *ledger) answered(s Story, d fleet.Delivery, a fleet.Answer, maxDeliver int) {
	l.edit(s, about(What(a), d), func(e *Entry) {
		e.Attempts = max(e.Attempts, d.Attempt)
		switch a {
		case fleet.AnswerHeartbeat:
			e.Heartbeats++
		case fleet.AnswerAck:
			e.End, e.Skipped = EndCompleted, e.Silent > 0 && e.Recorded && e.Executions < d.Attempt
		case fleet.AnswerTerm:
			e.End = EndTerminated
		case fleet.AnswerNak:
			e.Naks++
			if d.Attempt >= maxDeliver {
				e.End = EndExhausted
			}
		}
	})
}

// silent counts an attempt that was left without an answer.
func (l *ledger) silent(s Story, attempt, maxDeliver int) {
	l.edit(s, Note{What: NoteSilent, Attempt: attempt}, func(e *Entry) {
		e.Attempts = max(e.Attempts, attempt)
		e.Silent++
		if attempt >= maxDeliver {
			e.End = EndExhausted
		}
	})
}
