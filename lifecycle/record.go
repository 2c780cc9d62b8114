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

// End is when the record's time is over, as it says itself or by how long its store keeps records, which is zero for ever. Zero where it has no end.
func (r CompletionRef) End(kept time.Duration) Micros {
	if kept > 0 {
		return earliest(r.ExpiresAt, r.At.Add(kept))
	}
	return r.ExpiresAt
}
