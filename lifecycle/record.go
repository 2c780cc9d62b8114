package lifecycle

import "time"

// RecordRef names a completion record that was seen.
type RecordRef struct {
	TaskID string
	Key    string // The idempotency key that the record states; empty where it states none.
	Source string // [CompletionFacts.Source].
}

// RecordAnswer is what a source of records answers about a record that was seen before.
type RecordAnswer int

// The answers.
const (
	RecordNotAsked RecordAnswer = iota // The source is not configured now.
	RecordThere
	RecordGone
)

// CompletionRef is a completion record that was seen, and how long it is kept.
type CompletionRef struct {
	RecordRef
	At        Micros
	ExpiresAt Micros // Zero where the record does not say.
}

// End is when the record's time is over, where its store keeps records for a while or for ever (zero); zero where neither it nor its store says.
func (r CompletionRef) End(kept time.Duration) Micros {
	if kept > 0 {
		return earliest(r.ExpiresAt, r.At.Add(kept))
	}
	return r.ExpiresAt
}
