package api

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/lifecycle"
)

// Instant is a time on the wire: RFC 3339, UTC, microseconds; null when not known.
type Instant lifecycle.Micros

// instantLayout always has the fraction, so that texts sort like the times.
const instantLayout = "2006-01-02T15:04:05.000000Z"

// MarshalJSON implements json.Marshaler.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + lifecycle.Micros(i).Time().Format(instantLayout) + `"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *Instant) UnmarshalJSON(b []byte) error {
	var t *time.Time
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	*i = 0
	if t != nil {
		*i = Instant(lifecycle.MicrosOf(*t))
	}
	return nil
}

// Schema implements huma.SchemaProvider.
func (Instant) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true, Examples: []any{"2026-11-20T16:25:00.123456Z"}}
}

// Sequence is a 64-bit number on the wire: a string of digits, because many readers lose digits beyond 2^53; null when zero, which
// means not known.
type Sequence uint64

// MarshalJSON implements json.Marshaler.
func (s Sequence) MarshalJSON() ([]byte, error) {
	if s == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + strconv.FormatUint(uint64(s), 10) + `"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Sequence) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err != nil || text == nil {
		*s = 0
		return err
	}
	n, err := strconv.ParseUint(*text, 10, 64)
	*s = Sequence(n)
	return err
}

// Schema implements huma.SchemaProvider.
func (Sequence) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9]+$", Nullable: true, Examples: []any{"9007199254740993"}}
}

// Text is a text that is null when empty, which means not known.
type Text string

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// Schema implements huma.SchemaProvider.
func (Text) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Nullable: true}
}

// Count is a number that is null when zero, which means not known.
type Count int64

// MarshalJSON implements json.Marshaler.
func (c Count) MarshalJSON() ([]byte, error) {
	if c == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(c), 10), nil
}

// Schema implements huma.SchemaProvider.
func (Count) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Nullable: true}
}

// Maybe is an object that may be null.
type Maybe[T any] struct{ Value *T }

// just holds a value.
func just[T any](v T) Maybe[T] { return Maybe[T]{Value: &v} }

// MarshalJSON implements json.Marshaler.
func (m Maybe[T]) MarshalJSON() ([]byte, error) { return json.Marshal(m.Value) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Maybe[T]) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &m.Value) }

// Schema implements huma.SchemaProvider.
func (Maybe[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}

// knownMilliseconds is a duration that is null when it is not known.
func knownMilliseconds(d time.Duration, known bool) *int64 {
	if !known {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

// OneOrMore are values of which a body names one as a text, or several as a list.
type OneOrMore []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *OneOrMore) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil && string(b) != "null" {
		*o = OneOrMore{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(o))
}

// Schema implements huma.SchemaProvider.
func (OneOrMore) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{OneOf: []*huma.Schema{text, {Type: huma.TypeArray, Items: text}}}
}
