package lifecycle

import "cmp"

// Removal says what took an unanswered message out of its stream. It is never a worker's decision: those are [Acked] and [Terminated].
type Removal string

// The kinds of removal, as [Vanished] carries them.
const (
	RemovedByAge      Removal = "age"         // It reached the max_age of the stream.
	RemovedByTTL      Removal = "ttl"         // It reached its own Nats-TTL.
	RemovedByLimit    Removal = "limit"       // A limit of the stream, or of its subject, made room for a newer message.
	RemovedByOperator Removal = "operator"    // Somebody deleted the message or purged the stream.
	RemovedWithStream Removal = "stream"      // Its stream was deleted.
	RemovedByInterest Removal = "consumer"    // Its stream has Interest retention, and the last consumer that took it was deleted.
	RemovedToQueue    Removal = "dead_letter" // Its dead-letter entry is stored, and Fleetglass's monitor deleted it.
	RemovedUnwatched  Removal = "unwatched"   // It reached its age or its TTL while nobody observed its stream: an operator or a limit may have removed it before.
	RemovedByBroker   Removal = "deleted"     // The broker says that it was deleted unacknowledged. By an operator, a purge, a publish that rolls up, a limit, its age, its TTL or because no consumer took it any more (Interest retention), it does not say.
	RemovedUnknown    Removal = "unknown"     // It is gone, and nothing seen says how: an acknowledgement may have been missed.
)

var removalWords = map[Removal]string{
	RemovedByAge:      "by the max_age of the stream",
	RemovedByTTL:      "by its own TTL",
	RemovedByLimit:    "by a limit of the stream",
	RemovedByOperator: "by an operator",
	RemovedWithStream: "with its stream",
	RemovedByInterest: "with the last consumer that took it",
	RemovedToQueue:    "once its dead-letter entry was stored",
	RemovedUnwatched:  "by its age, its TTL or, before that, an operator or a limit",
	RemovedByBroker:   "by an operator, a purge, a rollup, a limit, its age, its TTL or lost interest",
}

// Removals lists the kinds of removal of which the cause is known.
func Removals() []Removal {
	return []Removal{RemovedByAge, RemovedByTTL, RemovedByLimit, RemovedByOperator, RemovedWithStream, RemovedByInterest, RemovedToQueue, RemovedUnwatched, RemovedByBroker}
}

// Known reports whether the cause is known, which excludes that the message left by an answer that was missed.
func (r Removal) Known() bool { return removalWords[r] != "" }

// Words name the cause so that they follow "removed"; empty where it is not known.
func (r Removal) Words() string { return removalWords[r] }

// Provenance is how it is known that the message left without an answer: by the broker's own state or word where that says what removed it, else only because
// the message was missed and no answer to it was seen.
func (r Removal) Provenance() Provenance {
	if r.Known() {
		return Broker
	}
	return Inferred
}

// rank orders what is said of one removal: who did it knows more than who names the cause, that more than who sees the deletion, and that more than who misses the
// message.
func (r Removal) rank() int {
	switch r {
	case "":
		return 0
	case RemovedUnknown:
		return 1
	case RemovedByBroker, RemovedUnwatched:
		return 2
	case RemovedToQueue:
		return 4
	}
	return 3
}

// joinRemoval keeps what is known best; among equals the least text.
func joinRemoval(a, b Removal) Removal {
	if c := cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b, a)); c < 0 {
		return b
	}
	return a
}

// The reasons of [TermConfirmed] by which the broker itself speaks of a removal. A worker's +TERM carries the worker's own words.
const (
	BrokerDeleted = "Unacknowledged message was deleted" // It left the stream just then, while a worker had it.
	BrokerMissed  = "Message deleted by stream limits"   // It was not there any more when it was to be delivered again.
)

// VanishedByAge is the reason of [Vanished] that says that a message was older than the stream's max_age when it was missed.
const VanishedByAge = "older than max_age"

// removalOf says whether e tells of a removal, and of which.
func removalOf(e Event) (Removal, bool) {
	switch {
	case e.Kind == TermConfirmed && (e.Detail.Reason == BrokerDeleted || e.Detail.Reason == BrokerMissed || e.Attempt == 0):
		return RemovedByBroker, true
	case e.Kind != Vanished:
		return "", false
	case e.Detail.Removal != "":
		return e.Detail.Removal, true
	case e.Detail.Reason == VanishedByAge:
		return RemovedByAge, true
	}
	return RemovedUnknown, true
}

func (m *MessageFacts) joinRemoval(e Event, r Removal) {
	m.VanishedAt = earliest(m.VanishedAt, e.At)
	m.VanishedWhy = leastText(m.VanishedWhy, e.Detail.Reason)
	m.Removal = joinRemoval(m.Removal, r)
	m.Undelivered = m.Undelivered || e.Detail.Undelivered
}

// RemovedWords say how the message left unanswered, so that they follow "it was". They name an answer as well where the broker told of both.
func (m *MessageFacts) RemovedWords() string {
	words := "removed " + m.Removal.Words()
	if m.answerSaid() {
		return "answered, or " + words
	}
	return words
}

// answerSaid reports whether the broker told of an answer, and later that the message was deleted unanswered. A broker that was killed, or whose disk is full,
// forgets that it accepted an answer, and then misses the message; but anybody can tell of an answer that never was. Nothing shows which of them it is.
func (m *MessageFacts) answerSaid() bool {
	if m.Removal != RemovedByBroker {
		return false
	}
	for a := range m.everyAttempt() {
		if said := earliest(a.TermSaidAt, a.ConfirmedAt); said > m.RefutedAt && said < m.VanishedAt {
			return true
		}
	}
	return false
}

// goneBy is when the message had surely left the stream unanswered; zero when it has not. Where nothing says what removed it, it was missed by a
// poll, whose time is rounded.
func (m *MessageFacts) goneBy() Micros {
	if m.goneUnexplained() {
		return m.VanishedAt.Add(bindingSlack)
	}
	return m.VanishedAt
}

// goneUnexplained reports whether the message left the stream and nothing says why: a late acknowledgement may have been missed.
func (m *MessageFacts) goneUnexplained() bool { return m.VanishedAt.Known() && !m.Removal.Known() }
