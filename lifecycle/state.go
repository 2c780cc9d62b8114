package lifecycle

// State is where a message is in its life, as far as the evidence goes (SPEC 2).
type State string

// The states of a message. What each means, and what it counts as, stands in one table below.
const (
	StatePublished      State = "published"
	StateDelivered      State = "delivered"
	StateProcessing     State = "processing"
	StateRedelivered    State = "redelivered"
	StateFailed         State = "failed"
	StateCompleting     State = "completing"
	StateCompleted      State = "completed"
	StateExhausted      State = "exhausted"
	StateTerminated     State = "terminated"
	StateDeadLettered   State = "dead_lettered"
	StateTriaged        State = "triaged"
	StateRemoved        State = "removed"
	StateOutcomeUnknown State = "outcome_unknown"
)

// traits are what else is to be known of a state.
type traits uint8

const (
	open      traits = 1 << iota // Something is still expected to happen by itself: the broker or a worker has the message.
	inFlight                     // A worker holds the message.
	dead                         // It ended without completing, as far as is known.
	abandoned                    // It is dead, and no dead-letter entry exists: the message that operators lose.
)

// states is the table of states, in the order in which a message may pass through them, which is how lists and tabs show them. A new
// state is a constant above, a row here, and the row of the verdicts that gives it.
var states = []struct {
	State   State
	Meaning string
	Traits  traits
}{
	{StatePublished, "Stored in the stream; no worker has it.", open},
	{StateDelivered, "Handed to a worker; no sign of work yet.", open | inFlight},
	{StateProcessing, "The first attempt shows signs of work.", open | inFlight},
	{StateRedelivered, "A later attempt is in a worker's hands.", open | inFlight},
	{StateFailed, "The last attempt ended by nak or timeout; another is due.", open},
	{StateCompleting, "Completion is recorded; the acknowledgement was not seen.", open | inFlight},
	{StateCompleted, "Acknowledged.", 0},
	{StateExhausted, "Attempts used up, and no dead-letter entry was seen.", dead | abandoned},
	{StateTerminated, "Given up for good by its worker, and no dead-letter entry was seen.", dead | abandoned},
	{StateDeadLettered, "A dead-letter entry exists.", dead},
	{StateTriaged, "Dead, and somebody decided about it.", 0},
	{StateRemoved, "Left the stream, and no worker ever had it: an operator, a rollup, a limit, its age, its TTL or lost interest removed it.", 0},
	{StateOutcomeUnknown, "Gone from the stream, and nothing seen says how; removed while a worker had it; or still there, and its consumer is past it.", 0},
}

// States lists all states in the order of the table.
func States() []State { return StatesThat(State.Valid) }

// StatesThat lists the states that have a trait, for example [State.Dead], in the order of the table.
func StatesThat(have func(State) bool) []State {
	var out []State
	for _, r := range states {
		if have(r.State) {
			out = append(out, r.State)
		}
	}
	return out
}

// Valid reports whether s is one of [States].
func (s State) Valid() bool { return s.Meaning() != "" }

// Meaning is one sentence for people.
func (s State) Meaning() string {
	for i := range states {
		if states[i].State == s {
			return states[i].Meaning
		}
	}
	return ""
}

// Open reports whether something is still expected to happen by itself: the broker or a worker has the message.
func (s State) Open() bool { return s.has(open) }

// InFlight reports whether a worker holds the message.
func (s State) InFlight() bool { return s.has(inFlight) }

// Dead reports whether the message ended without completing, as far as is known.
func (s State) Dead() bool { return s.has(dead) }

// Abandoned reports whether the message is dead and no dead-letter entry exists, so that nobody is asked to decide about it.
func (s State) Abandoned() bool { return s.has(abandoned) }

// Died reports whether the message ended without completing, whether or not somebody has decided about it since.
func (s State) Died() bool { return s.Dead() || s == StateTriaged }

// Trouble reports whether a message in that state is a problem.
func (s State) Trouble() bool { return s.Dead() || s == StateFailed || s == StateOutcomeUnknown }

// Recoverable reports whether a worker had the message and its work may have to be recovered: it is in hand, failed, or nobody knows. Of one that died no
// worker may come back to it; what should happen next is the plan of its dead letter.
func (s State) Recoverable() bool {
	return s.InFlight() || s == StateFailed || s == StateOutcomeUnknown
}

func (s State) has(t traits) bool {
	for i := range states {
		if states[i].State == s {
			return states[i].Traits&t != 0
		}
	}
	return false
}
