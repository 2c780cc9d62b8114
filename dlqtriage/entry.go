package dlqtriage

import (
	"fleetglass/lifecycle"
)

// Entry is one message that died, whether or not it has an entry in the broker's dead-letter queue yet. It is computed from facts and
// never changed by hand.
type Entry struct {
	ID       string               // Names the entry; see [EntryID].
	Key      lifecycle.MessageKey // The message. An entry of a foreign queue whose message is not known has the key of that entry itself.
	Revision uint64               // Of its subject ([decision.About]): who decides says which one it saw.

	TaskID    string
	MessageID string // Nats-Msg-Id; empty where the publisher set none.
	DLQStream string // Where the entry in the broker's queue is, as [lifecycle.StreamID.String] writes it; empty until one was seen.
	DLQSeq    uint64 // Likewise; zero until one was seen.
	Subject   string // That the message was published to.
	Agent     string
	Type      string
	Title     string // A short human name found in the payload. Untrusted.

	Path           Path
	Class                         // Why it died.
	Classification Classification // Who said so, and what that rests on.

	Reason            string // In the words of whoever gave it up, in full; empty where nobody said why. Untrusted.
	ReasonFingerprint string // What groups it with others of the same reason ([Fingerprint]).

	Deliveries int // How often the message was delivered, as far as is known.
	Generation int // How often the task had been published before.
	FailedAt   lifecycle.Micros

	Status        Status
	DeferredUntil lifecycle.Micros // Zero while it is not deferred, or deferred until a person decides.
	Action        string           // The id of the open action, or of the last one; empty where there was none.
	ActionKind    string           // What was asked for, such as retry.
	Actor         string           // Who decided last: a person, a program, the policy; empty where nobody did.
	Via           string           // How that actor came in: page, api, mcp or auto.
	DecidedAt     lifecycle.Micros // When; zero where nobody decided.

	Outcome    Outcome
	ResolvedAt lifecycle.Micros // When the message that followed completed, or this one was discarded; zero until then.
	Next       Next             // The message that followed this one.
	RetryOf    string           // The id of the entry that this message was a retry of; empty for none.
}

// Class is why a message died (SPEC 5, the taxonomy).
type Class struct {
	Category Category
	Detail   string // Within the category, such as llm_provider_timeout; empty where that is not known.
	Kind     Kind   // What kind of cause it is; empty where that is not known.
}

// Classification says who classified, and what that rests on. The zero value means that nobody did.
type Classification struct {
	Rule     string               // The rule that matched; empty where a person classified.
	Evidence []lifecycle.Evidence // What it rests on. Untrusted.
	By       string               // [ByRules], or the actor.
	At       lifecycle.Micros
}

// ByRules is who classified where a rule did.
const ByRules = "rules"

// Next names the message that was published because of an entry: the newest one of those that name it in X-Retry-Of.
type Next struct {
	TaskID    string
	MessageID string
	Key       lifecycle.MessageKey // Zero where there is none.
}

// Open reports whether the entry waits for somebody to decide about it.
func (e Entry) Open() bool { return e.Status == StatusOpen }

// Copied reports whether an entry in the broker's dead-letter queue was seen.
func (e Entry) Copied() bool { return e.DLQSeq != 0 }
