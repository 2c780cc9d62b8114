package lifecycle

import (
	"hash/fnv"
	"strconv"
)

// Event is one observation: something a source said about a message or a task. Events are never changed once stored.
type Event struct {
	ID         EventID    // Derived from the source's own coordinates, so that a redelivered line is the same event.
	At         Micros     // When it happened by the broker's (or the reporter's) clock. Orders the display, decides nothing.
	Kind       Kind       // What was observed.
	Provenance Provenance // How we know.
	Source     string     // Capture stream, poll or document path that the line came from.
	SourceSeq  uint64     // Sequence in the source stream; zero where the source has none.

	TaskID   string     // The task, where the line itself names it; empty when it must be found through Message.
	Message  MessageKey // The stored message; zero Seq for observations about a task (publish attempts, records, reports).
	Agent    string     // The agent concerned, where known.
	Consumer string     // The durable consumer concerned; empty when none.

	ConsumerSeq uint64 // Consumer sequence of the delivery; zero when not known.
	Attempt     int    // Delivery count, from 1; zero when the observation is not about an attempt or the number is not known.

	Detail Detail // What only some kinds carry.
	Raw    []byte // The line as it crossed the wire (subject, newline, body); bodies of tasks are kept as [Payload] instead.
}

// EventID identifies an event within its task. Its text is sixteen hexadecimal digits.
type EventID uint64

// NewEventID derives an id from the source's coordinates: the stream or document it came from and the position therein. Stores tell events apart by
// time and id. So the coordinates hold the time where the same thing may be said with another time: two events must not have one id.
func NewEventID(source string, coordinates ...string) EventID {
	h := fnv.New64a()
	_, _ = h.Write([]byte(source))
	for _, c := range coordinates {
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(c))
	}
	// FNV's last bytes are weakly mixed; the finalizer spreads them.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return EventID(x)
}

// StreamEventID is the id of line seq of the capture stream source.
func StreamEventID(source StreamID, seq uint64) EventID {
	return NewEventID(source.String(), strconv.FormatUint(seq, 10))
}

// String is the id as sixteen hexadecimal digits, as in links (#ev-<id>).
func (id EventID) String() string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i := range b {
		b[i] = digits[id>>(60-4*i)&15]
	}
	return string(b[:])
}

// ParseEventID reads sixteen hexadecimal digits.
func ParseEventID(s string) (EventID, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	return EventID(n), err
}

// Provenance says how an event is known, strongest first (SPEC 2).
type Provenance string

// The five kinds of provenance.
const (
	Observed Provenance = "observed" // Seen on the wire.
	Broker   Provenance = "broker"   // Said by the broker: advisory, metric, stream or consumer state.
	Recorded Provenance = "recorded" // Read from an idempotency record or a dead-letter entry.
	Reported Provenance = "reported" // The agent said so.
	Inferred Provenance = "inferred" // Computed by us from the others.
)
