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

// NewEventID derives an id from the source's coordinates: the stream or document it came from and the position therein.
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

// Kind is the vocabulary of events.
type Kind string

// What is seen on the wire.
const (
	Published        Kind = "published"         // The stream stored a message (its republished copy was seen).
	PublishAttempted Kind = "publish_attempted" // Somebody published; whether it was stored or caught as a duplicate is judged by comparison.
	Acked            Kind = "acked"             // A worker said +ACK. A claim: bogus and late ones are seen too.
	Naked            Kind = "naked"             // A worker said -NAK: hand it out again, perhaps after a delay.
	Terminated       Kind = "terminated"        // A worker said +TERM: never deliver this again.
	Heartbeat        Kind = "heartbeat"         // A worker said +WPI: still working; the lease is extended.
)

// What the broker says.
const (
	AckConfirmed      Kind = "ack_confirmed"      // The ack metric: the broker accepted the acknowledgement.
	NakConfirmed      Kind = "nak_confirmed"      // The MSG_NAKED advisory.
	TermConfirmed     Kind = "term_confirmed"     // The MSG_TERMINATED advisory: a worker's +TERM, or, in the broker's own words, a removal.
	MaxDeliveries     Kind = "max_deliveries"     // The MAX_DELIVERIES advisory: attempts used up. Lazy: it comes with the next pull, or never.
	Delivered         Kind = "delivered"          // Consumer state shows a delivery of this message.
	AttemptUnanswered Kind = "attempt_unanswered" // A delivery is proved by consumer sequences but no line of it was seen (yet).
	LeaseExpired      Kind = "lease_expired"      // The deadline of an attempt passed without an answer; a redelivery is due.
	PresumedDead      Kind = "presumed_dead"      // The deadline of the last attempt passed without an answer; the broker may never say so.
	AckRefuted        Kind = "ack_refuted"        // An acknowledgement was seen, yet the message is still in the stream later.
	Vanished          Kind = "vanished"           // The message left the stream without an answer; Detail.Removal says by what, where that is known.
	Orphaned          Kind = "orphaned"           // No consumer's filter matches the subject: nobody will take the message.
	Adopted           Kind = "adopted"            // A consumer's filter now matches a message that was orphaned.
	NotStored         Kind = "not_stored"         // A publish attempt was seen, and no stored message: none followed, or its line was lost in a gap.
	Repaired          Kind = "repaired"           // A message whose publish line was lost was read from the stream itself.
	ConsumerRecreated Kind = "consumer_recreated" // The consumer that holds the message was created anew; its attempt numbers start again.
)

// What was recorded elsewhere.
const (
	CompletionRecorded Kind = "completion_recorded" // An idempotency record says the task completed.
	RecordExpired      Kind = "record_expired"      // That record passed its retention.
	RecordDeleted      Kind = "record_deleted"      // That record was deleted before its retention ended. History stays.
	EffectLogged       Kind = "effect_logged"       // The side-effect log has an entry.
	DeadLettered       Kind = "dead_lettered"       // A dead-letter entry exists for the message.
)

// What was decided about a message. These events come from Fleetglass itself, through the transaction for decisions.
const (
	Decided  Kind = "decided"  // Somebody asked for an action; what comes of it is not known yet.
	Triaged  Kind = "triaged"  // A decision took effect: the outcome says which.
	Reopened Kind = "reopened" // The decision before was taken back: the message waits for another one.
)

// What agents choose to report (SPEC 1). Their text is untrusted.
const (
	ReportIngressAcked     Kind = "ingress_acked"     // The task was stored durably at the ingress.
	ReportClaimed          Kind = "claimed"           // A worker took the lease.
	ReportAccepted         Kind = "accepted"          // The runtime has evidence that it started.
	ReportHeartbeat        Kind = "report_heartbeat"  // The lease was renewed, said by the agent itself.
	ReportStepIntent       Kind = "step_intent"       // A step is about to have an effect.
	ReportStepReceipt      Kind = "step_receipt"      // A step's effect is confirmed.
	ReportCheckpoint       Kind = "checkpoint"        // Work up to here can be resumed.
	ReportCompleted        Kind = "completed"         // A recoverable result is recorded.
	ReportFailed           Kind = "failed"            // The attempt failed, with a reason.
	ReportDuplicateCaught  Kind = "duplicate_caught"  // The agent skipped a task that had already had its effect.
	ReportPublishDuplicate Kind = "publish_duplicate" // The publisher got a PubAck that said duplicate.
	ReportOutboundIntent   Kind = "outbound_intent"   // An outgoing message is about to be sent.
	ReportOutboundSent     Kind = "outbound_sent"     // The outside accepted the outgoing message.
)
