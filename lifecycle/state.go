package lifecycle

// State is where a message is in its life, as far as the evidence goes (SPEC 2).
type State string

// The states of a message.
const (
	StatePublished      State = "published"       // Stored in the stream; no worker has it.
	StateDelivered      State = "delivered"       // Handed to a worker; no sign of work yet.
	StateProcessing     State = "processing"      // The first attempt shows signs of work.
	StateRedelivered    State = "redelivered"     // A later attempt is in a worker's hands.
	StateFailed         State = "failed"          // The last attempt ended by nak or timeout; another is due.
	StateCompleting     State = "completing"      // Completion is recorded, the acknowledgement was not seen.
	StateCompleted      State = "completed"       // Acknowledged.
	StateExhausted      State = "exhausted"       // Attempts used up, or terminated, and not in the dead-letter queue: the message operators lose.
	StateDeadLettered   State = "dead_lettered"   // A dead-letter entry exists.
	StateTriaged        State = "triaged"         // Dead, and somebody decided about it; the outcome says what.
	StateOutcomeUnknown State = "outcome_unknown" // Gone from the stream, and nothing seen says how.
)

// States lists all states in the order in which a message may pass through them, which is how lists and tabs show them.
func States() []State {
	return []State{
		StatePublished, StateDelivered, StateProcessing, StateRedelivered, StateFailed, StateCompleting, StateCompleted,
		StateExhausted, StateDeadLettered, StateTriaged, StateOutcomeUnknown,
	}
}

// Valid reports whether s is one of [States].
func (s State) Valid() bool { return stateMeaning[s] != "" }

// Meaning is one sentence for people.
func (s State) Meaning() string { return stateMeaning[s] }

// Open reports whether something is still expected to happen by itself: the broker or a worker has the message.
func (s State) Open() bool {
	switch s {
	case StatePublished, StateDelivered, StateProcessing, StateRedelivered, StateFailed, StateCompleting:
		return true
	}
	return false
}

// InFlight reports whether a worker holds the message.
func (s State) InFlight() bool {
	switch s {
	case StateDelivered, StateProcessing, StateRedelivered, StateCompleting:
		return true
	}
	return false
}

// Dead reports whether the message ended without completing, as far as is known.
func (s State) Dead() bool { return s == StateExhausted || s == StateDeadLettered }

var stateMeaning = map[State]string{
	StatePublished:      "Stored in the stream; no worker has it.",
	StateDelivered:      "Handed to a worker; no sign of work yet.",
	StateProcessing:     "The first attempt shows signs of work.",
	StateRedelivered:    "A later attempt is in a worker's hands.",
	StateFailed:         "The last attempt ended by nak or timeout; another is due.",
	StateCompleting:     "Completion is recorded; the acknowledgement was not seen.",
	StateCompleted:      "Acknowledged.",
	StateExhausted:      "Attempts used up, or terminated, and not in the dead-letter queue.",
	StateDeadLettered:   "A dead-letter entry exists.",
	StateTriaged:        "Dead, and somebody decided about it.",
	StateOutcomeUnknown: "Gone from the stream, and nothing seen says how.",
}
