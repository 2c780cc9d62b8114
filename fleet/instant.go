package fleet

import (
	"encoding/json"
	"errors"
	"time"

	"fleetglass/lifecycle"
)

// Instant is a time in a record or report: written as RFC 3339, read as any form that [ParseInstant] knows. What cannot be read is
// unknown, never an error.
type Instant lifecycle.Micros

// MarshalJSON writes RFC 3339, or null when unknown.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(lifecycle.Micros(i).Time().Format(time.RFC3339Nano))
}

// UnmarshalJSON reads a string or a number.
func (i *Instant) UnmarshalJSON(b []byte) error {
	s := scanner{rest: b}
	text, _ := s.scalar()
	*i = Instant(ParseInstant(text))
	return nil
}

// unmarshalLoosely tolerates fields of a wrong type.
func unmarshalLoosely(b []byte, into any) error {
	err := json.Unmarshal(b, into)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) && wrongType.Field != "" {
		return nil
	}
	return err
}
