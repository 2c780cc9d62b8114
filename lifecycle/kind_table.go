package lifecycle

import "strings"

// KindRow is the row of a kind in the table of event kinds. Traces, pages, the API and the documentation read it; what an event proves
// is written in the fold alone.
type KindRow struct {
	Kind       Kind
	Name       string     // For people, in lower case.
	Icon       string     // A symbol of the pages' sprite.
	Tone       string     // The pages' colour: run, ok, warn, bad, dead, dup or wait.
	Provenance Provenance // How an event of this kind is known.
	About      About
	Turn       Turn  // Where it stands among the attempts of its message.
	Phase      Phase // Where it stands among the events of its turn.
	Lane       Lane  // Where a trace's timeline marks it.
	Meaning    string
}

// About is what an event of a kind speaks of.
type About string

// What events speak of.
const (
	AboutPublish About = "publish" // An attempt to publish, which may have stored nothing.
	AboutMessage About = "message" // A stored message.
	AboutAttempt About = "attempt" // One delivery of a message.
	AboutTask    About = "task"    // A task, whichever message of it.
)

// Turn says where an event that names no attempt stands among the attempts of its message. The attempt that an event names comes first.
type Turn int

// The turns.
const (
	BeforeAttempts Turn = iota // Before the first attempt.
	InAttempt                  // In an attempt, even if the line does not say in which.
	OfDelivery                 // In the attempt that it began: the one with its consumer sequence, where the line does not number it.
	AtItsTime                  // In the attempt that was under way, as far as clocks can say; it proves nothing about that attempt.
	AfterAttempts              // After the last attempt.
)

// Phase orders what happens within one attempt.
type Phase int

// The phases, in their causal order.
const (
	PhaseAttempted Phase = iota // Somebody publishes.
	PhaseStored                 // The stream answers.
	PhaseMatched                // A consumer's filter matches, or none does.
	PhaseDelivered              // A worker is given the message.
	PhaseClaimed                // The worker takes the lease.
	PhaseAccepted               // The runtime starts.
	PhaseWork                   // The work itself, heartbeats and records.
	PhaseAnswered               // The worker answers.
	PhaseConfirmed              // The broker confirms the answer.
	PhaseExpired                // The deadline passes, or the answer proves to have had no effect.
	PhaseGone                   // The message is given up, or leaves the stream.
	PhaseKept                   // What is kept of it elsewhere changes.
	PhaseDecided                // Somebody decides about the dead message.
)

// Lane says on which lanes of a timeline an event is marked.
type Lane int

// The lanes; their sum is both.
const (
	LaneNone    Lane = 0
	LaneMessage Lane = 1
	LaneAttempt Lane = 2
	LaneBeats   Lane = 4 // On the attempt's lane, as one of many signs of life; lists fold them.
)

// On reports whether the event is marked on that lane.
func (l Lane) On(lane Lane) bool { return l&lane != 0 }

// IsBeat reports whether events of this kind are repeated signs of life, of which one says as much as many.
func (k Kind) IsBeat() bool { return k.Row().Lane.On(LaneBeats) }

// Kinds is the table of event kinds.
func Kinds() []KindRow { return kindTable[:] }

// Meaning is what the event tells, in a sentence.
func (e Event) Meaning() string {
	if e.Kind == Nacked && e.Detail.Action == ActionRelease {
		return "The line names an action of Fleetglass: the message was handed back in its worker's place."
	}
	return e.Kind.Row().Meaning
}

// Row is the row of k. A kind that is not in the table, as when a newer version wrote the event, gets a row that says so.
func (k Kind) Row() KindRow {
	if i, known := kindIndex[k]; known {
		return kindTable[i]
	}
	name := strings.ReplaceAll(string(k), "_", " ")
	return KindRow{Kind: k, Name: name, Icon: "info", Tone: "wait", About: AboutTask, Turn: InAttempt, Phase: PhaseWork,
		Meaning: "An observation of the kind " + name + "."}
}

var kindIndex = func() map[Kind]int {
	out := make(map[Kind]int, len(kindTable))
	for i, r := range kindTable {
		out[r.Kind] = i
	}
	return out
}()

// kindTable has a row for each kind. A meaning begins with a word that can be written small behind "Attempt 2: ".
var kindTable = [...]KindRow{
	{Published, "published", "m-pub", "run", Observed, AboutMessage, BeforeAttempts, PhaseStored, LaneMessage,
		"The stream stored the message: from here on it survives every crash of a publisher or worker."},
	{PublishAttempted, "publish attempt", "m-dup", "wait", Observed, AboutPublish, BeforeAttempts, PhaseAttempted, LaneMessage,
		"Somebody published this message id. Attempts beyond the stored messages were caught by the stream."},
	{Acked, "ack", "m-ack", "ok", Observed, AboutAttempt, InAttempt, PhaseAnswered, LaneAttempt,
		"The worker said that it is done. This is a claim: the broker ignores an acknowledgement by a worker that lost its lease."},
	{Nacked, "nak", "m-nak", "warn", Observed, AboutAttempt, InAttempt, PhaseAnswered, LaneAttempt,
		"The worker handed the message back, to be delivered again."},
	{Terminated, "term", "m-term", "bad", Observed, AboutAttempt, InAttempt, PhaseAnswered, LaneAttempt,
		"The worker said that this must never be delivered again. The broker removes it from the stream."},
	{Heartbeat, "heartbeat", "doctor", "run", Observed, AboutAttempt, InAttempt, PhaseWork, LaneBeats,
		"The worker said that it is still working. The lease is extended by the wait of this attempt."},
	{AckConfirmed, "ack confirmed", "m-ack", "ok", Broker, AboutAttempt, InAttempt, PhaseConfirmed, LaneNone,
		"The broker accepted the acknowledgement."},
	{NakConfirmed, "nak confirmed", "m-nak", "warn", Broker, AboutAttempt, InAttempt, PhaseConfirmed, LaneNone,
		"The broker took the message back."},
	{TermConfirmed, "term confirmed", "m-term", "bad", Broker, AboutAttempt, InAttempt, PhaseConfirmed, LaneNone,
		"The broker says that the message is terminated or deleted."},
	{ExhaustionSaid, "said to be exhausted", "exhausted", "wait", Broker, AboutMessage, AfterAttempts, PhaseGone, LaneNone,
		"An advisory says that the attempts are used up. It counts when the broker's own state agrees."},
	{ExhaustionDenied, "not exhausted", "info", "warn", Broker, AboutMessage, AfterAttempts, PhaseGone, LaneMessage,
		"The broker's own state says otherwise than an advisory that the attempts are used up: somebody else sent it, or the consumer was made again since."},
	{MaxDeliveries, "max deliveries", "exhausted", "bad", Broker, AboutMessage, AfterAttempts, PhaseGone, LaneMessage | LaneAttempt,
		"The broker said that the attempts are used up. It says so with the next pull, or never."},
	{Delivered, "delivered", "delivered", "run", Broker, AboutAttempt, OfDelivery, PhaseDelivered, LaneNone,
		"The broker's consumer state shows this delivery."},
	{AttemptUnanswered, "delivery without a line", "redelivered", "warn", Inferred, AboutAttempt, OfDelivery, PhaseDelivered, LaneNone,
		"A delivery is proved by consumer sequences, but no line of it was seen."},
	{LeaseExpired, "lease expired", "m-deadline", "bad", Inferred, AboutAttempt, InAttempt, PhaseExpired, LaneAttempt,
		"The deadline of the attempt passed without an answer. A redelivery is due."},
	{PresumedDead, "presumed dead", "m-crash", "bad", Inferred, AboutAttempt, InAttempt, PhaseExpired, LaneAttempt,
		"No attempt of the message is left: the last one passed its deadline without an answer, or was handed back. The broker may never say so."},
	{AckRefuted, "ack refuted", "critical", "bad", Broker, AboutMessage, InAttempt, PhaseExpired, LaneMessage,
		"An acknowledgement was seen, yet the message was still in the stream later: it had no effect."},
	{Vanished, "vanished", "unknown", "wait", Inferred, AboutMessage, AfterAttempts, PhaseGone, LaneMessage,
		"The message left the stream without an answer."},
	{Orphaned, "orphaned", "warn", "warn", Broker, AboutMessage, BeforeAttempts, PhaseMatched, LaneMessage,
		"No consumer's filter matches the subject: no consumer delivers this message for the first time until one does."},
	{Adopted, "adopted", "check", "run", Broker, AboutMessage, BeforeAttempts, PhaseMatched, LaneMessage,
		"A consumer delivers the message after all: its filter matches the subject now, it begins again before the message, or it came after another workers' consumer was done with it."},
	{Stranded, "stranded", "stuck", "wait", Broker, AboutMessage, AfterAttempts, PhaseGone, LaneMessage,
		"The message is in the stream, its consumer is past it and awaits no answer to it: nobody delivers it again, and what became of it is not known."},
	{NotTaken, "not taken", "minus", "wait", Broker, AboutMessage, BeforeAttempts, PhaseMatched, LaneMessage,
		"One of several workers' consumers has the message no more, or is not to take it: it is deleted, takes other subjects, or another one's worker ended it."},
	{NotStored, "not stored", "x", "bad", Inferred, AboutPublish, BeforeAttempts, PhaseStored, LaneNone,
		"A publish attempt was seen, and no stored message was seen to follow."},
	{Unbound, "about no known message", "gap", "wait", Inferred, AboutTask, AtItsTime, PhaseWork, LaneMessage,
		"A report or a record names no message, and publish lines were lost before it came: from then on such evidence may be about a message that is not known, and counts for none."},
	{PublishSwallowed, "caught for another task", "m-dup", "dup", Inferred, AboutPublish, BeforeAttempts, PhaseStored, LaneMessage,
		"A message of another task had this message id, so the stream caught the publish as its duplicate."},
	{KeyShared, "shared key", "m-dup", "dup", Inferred, AboutTask, AtItsTime, PhaseWork, LaneMessage,
		"Another task uses an idempotency key of this one, or one that names it; the line says what became of it there."},
	{Repaired, "read from the stream", "m-pub", "run", Broker, AboutMessage, BeforeAttempts, PhaseStored, LaneMessage,
		"The publish line was lost; the message was read from the stream itself."},
	{ConsumerRecreated, "consumer re-created", "redelivered", "warn", Broker, AboutMessage, InAttempt, PhaseDelivered, LaneMessage,
		"The consumer was created again, or reset: its attempt numbers start again."},
	{CompletionRecorded, "completion recorded", "m-record", "ok", Recorded, AboutTask, AtItsTime, PhaseWork, LaneAttempt,
		"An idempotency record says that the task completed. A later delivery finds it and skips the work."},
	{RecordExpired, "record expired", "recorded", "wait", Recorded, AboutTask, AfterAttempts, PhaseKept, LaneNone,
		"The idempotency record passed its retention."},
	{RecordDeleted, "record deleted", "recorded", "warn", Recorded, AboutTask, AfterAttempts, PhaseKept, LaneNone,
		"The idempotency record was deleted before its retention ended."},
	{EffectLogged, "effect logged", "m-effect", "ok", Recorded, AboutTask, AtItsTime, PhaseWork, LaneAttempt,
		"The side-effect log has an entry for this task."},
	{DeadLettered, "dead-lettered", "m-dlq", "dead", Recorded, AboutMessage, AfterAttempts, PhaseKept, LaneMessage,
		"A dead-letter entry exists for the message."},
	{Decided, "decided", "m-decision", "wait", Recorded, AboutMessage, AfterAttempts, PhaseDecided, LaneMessage,
		"Somebody asked for an action on the dead message. What comes of it is another event."},
	{Triaged, "triaged", "retried", "dup", Recorded, AboutMessage, AfterAttempts, PhaseDecided, LaneMessage,
		"A decision about the dead message took effect."},
	{Reopened, "reopened", "undo", "warn", Recorded, AboutMessage, AfterAttempts, PhaseDecided, LaneMessage,
		"The decision before was taken back: the message waits for another one."},
	{Released, "released", "release", "warn", Recorded, AboutMessage, AtItsTime, PhaseAnswered, LaneMessage,
		"Somebody handed the message back through Fleetglass, in its worker's place."},
	{Resolved, "marked resolved", "reconciled", "wait", Recorded, AboutMessage, AtItsTime, PhaseDecided, LaneMessage,
		"Somebody marked the message in flight as resolved, with a note. It is that person's word, and no completion."},
	{Classified, "classified", "filter", "wait", Inferred, AboutMessage, AfterAttempts, PhaseDecided, LaneNone,
		"The rules, or a person, said why the message died. A person's word counts more than that of the rules."},
	{ReportIngressAcked, "ingress acked", "check", "run", Reported, AboutTask, BeforeAttempts, PhaseStored, LaneNone,
		"The agent reports that the task was stored durably at the ingress."},
	{ReportClaimed, "claimed", "lock", "run", Reported, AboutAttempt, InAttempt, PhaseClaimed, LaneNone,
		"The agent reports that a worker took the lease."},
	{ReportAccepted, "accepted", "check", "run", Reported, AboutAttempt, InAttempt, PhaseAccepted, LaneNone,
		"The agent reports evidence that the runtime started."},
	{ReportHeartbeat, "heartbeat report", "doctor", "run", Reported, AboutAttempt, InAttempt, PhaseWork, LaneBeats,
		"The agent reports that it renewed its lease."},
	{ReportStepIntent, "step intent", "m-intent", "warn", Reported, AboutAttempt, InAttempt, PhaseWork, LaneAttempt,
		"The agent reports that a step is about to have an effect. Without a receipt the effect is unknown."},
	{ReportStepReceipt, "step receipt", "m-effect", "ok", Reported, AboutAttempt, InAttempt, PhaseWork, LaneAttempt,
		"The agent reports that the effect of a step is confirmed."},
	{ReportCheckpoint, "checkpoint", "book", "run", Reported, AboutAttempt, InAttempt, PhaseWork, LaneAttempt,
		"The agent reports that work up to here can be resumed."},
	{ReportCompleted, "completed report", "completed", "ok", Reported, AboutAttempt, InAttempt, PhaseWork, LaneAttempt,
		"The agent reports that a recoverable result is recorded."},
	{ReportFailed, "failure report", "failed", "bad", Reported, AboutAttempt, InAttempt, PhaseWork, LaneAttempt,
		"The agent reports that the attempt failed."},
	{ReportDuplicateCaught, "duplicate caught", "m-dup", "dup", Reported, AboutAttempt, InAttempt, PhaseWork, LaneAttempt,
		"The agent reports that it skipped a task that had already had its effect."},
	{ReportPublishDuplicate, "duplicate publish", "m-dup", "dup", Reported, AboutTask, InAttempt, PhaseWork, LaneNone,
		"The publisher reports that the stream answered: duplicate."},
	{ReportOutboundIntent, "outbound intent", "release", "warn", Reported, AboutAttempt, InAttempt, PhaseWork, LaneNone,
		"The agent reports that an outgoing message is about to be sent."},
	{ReportOutboundSent, "outbound sent", "release", "ok", Reported, AboutAttempt, InAttempt, PhaseWork, LaneAttempt,
		"The agent reports that the outside accepted the outgoing message."},
}
