package lifecycle

// Kind is the vocabulary of events.
type Kind string

// What is seen on the wire.
const (
	Published        Kind = "published"         // The stream stored a message (its republished copy was seen).
	PublishAttempted Kind = "publish_attempted" // Somebody published; whether it was stored or caught as a duplicate is judged by comparison.
	Acked            Kind = "acked"             // A worker said +ACK. A claim: bogus and late ones are seen too.
	Nacked           Kind = "naked"             // A worker said -NAK: hand it out again, perhaps after a delay.
	Terminated       Kind = "terminated"        // A worker said +TERM: never deliver this again.
	Heartbeat        Kind = "heartbeat"         // A worker said +WPI: still working; the lease is extended.
)

// What the broker says.
const (
	AckConfirmed      Kind = "ack_confirmed"      // The ack metric: the broker accepted the acknowledgement.
	NakConfirmed      Kind = "nak_confirmed"      // The MSG_NAKED advisory.
	TermConfirmed     Kind = "term_confirmed"     // The MSG_TERMINATED advisory: a worker's +TERM, or, in the broker's own words, a removal.
	ExhaustionSaid    Kind = "exhaustion_said"    // The MAX_DELIVERIES advisory, which anybody may have sent: it counts when the broker's own state agrees.
	ExhaustionDenied  Kind = "exhaustion_denied"  // The broker's own state says otherwise than that advisory: somebody else sent it, or the consumer was made again since.
	MaxDeliveries     Kind = "max_deliveries"     // Attempts used up, as advisory and state of the broker agree. Lazy: it comes with the next pull, or never.
	Delivered         Kind = "delivered"          // Consumer state shows a delivery of this message.
	AttemptUnanswered Kind = "attempt_unanswered" // A delivery is proved by consumer sequences but no line of it was seen (yet).
	LeaseExpired      Kind = "lease_expired"      // The deadline of an attempt passed without an answer; a redelivery is due.
	PresumedDead      Kind = "presumed_dead"      // No attempt is left: the last one passed its deadline or was handed back; the broker may never say so.
	AckRefuted        Kind = "ack_refuted"        // An acknowledgement was seen, yet the message is still in the stream later.
	Vanished          Kind = "vanished"           // The message left the stream without an answer; Detail.Removal says by what, where that is known.
	Orphaned          Kind = "orphaned"           // No consumer's filter matches the subject: no consumer delivers the message for the first time until one does.
	Adopted           Kind = "adopted"            // A consumer delivers a message after all: one that was orphaned or stranded, or that another workers' consumer was done with.
	Stranded          Kind = "stranded"           // Its consumer is past a message in the stream and awaits no answer to it: nobody delivers it again.
	NotTaken          Kind = "not_taken"          // One of several workers' consumers has a message no more, or is not to take it: it is deleted, takes other subjects, or another one's worker ended it.
	NotStored         Kind = "not_stored"         // A publish attempt was seen, and no stored message: none followed, or its line was lost in a gap.
	KeyShared         Kind = "key_shared"         // A message of another task has an idempotency key of this task, or one that names this task.
	Unbound           Kind = "unbound"            // A report or a record names no message, and publish lines were lost: it may be about one that is not known, as may all that follow.
	PublishSwallowed  Kind = "publish_swallowed"  // A publish attempt stored nothing, because a message of another task had its message id.
	Repaired          Kind = "repaired"           // A message whose publish line was lost was read from the stream itself.
	ConsumerRecreated Kind = "consumer_recreated" // The consumer that holds the message was created again, or reset; its attempt numbers start again.
)

// What was recorded elsewhere.
const (
	CompletionRecorded Kind = "completion_recorded" // An idempotency record says the task completed.
	RecordExpired      Kind = "record_expired"      // That record passed its retention.
	RecordDeleted      Kind = "record_deleted"      // That record was deleted before its retention ended. History stays.
	EffectLogged       Kind = "effect_logged"       // The side-effect log has an entry.
	DeadLettered       Kind = "dead_lettered"       // A dead-letter entry exists for the message.
)

// What was decided about a message. These events come from Fleetglass itself: what people and programs decide through the transaction for
// decisions, what the rules say from whoever applies them.
const (
	Decided  Kind = "decided"  // Somebody asked for an action; what comes of it is not known yet.
	Triaged  Kind = "triaged"  // A decision took effect: the outcome says which.
	Reopened Kind = "reopened" // The decision before was taken back: the message waits for another one.
	Released Kind = "released" // Somebody handed a message in flight back, in its worker's place.
	Resolved Kind = "resolved" // Somebody marked a message in flight as resolved, with a note. That is no completion.

	Classified Kind = "classified" // The rules, or a person, said why the message died.
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
