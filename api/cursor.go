package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"slices"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
)

// cursor is a place in a list. On the wire it is opaque and bound to the call and its filter by a checksum: a damaged one, or one of
// another list, is refused. It carries no authority, so the checksum is not a secret.
type cursor struct {
	At       lifecycle.Micros // The value of the sort column.
	Key      string           // Breaks ties; any bytes.
	Backward bool             // The page ends before this place instead of beginning after it.
	Now      lifecycle.Micros // When the first page was asked for: relative times of the filter count from it on every page.
}

// maxCursor bounds the text of a cursor, in bytes.
const maxCursor = 4096

const cursorSum = 8

// encode writes the cursor for the list that binding names.
func (c cursor) encode(binding string) string {
	flag := byte(0)
	if c.Backward {
		flag = 1
	}
	b := []byte{flag}
	b = binary.AppendVarint(b, int64(c.At))
	b = binary.AppendVarint(b, int64(c.Now))
	b = append(b, c.Key...)
	return base64.RawURLEncoding.EncodeToString(append(b, checksum(binding, b)...))
}

func checksum(binding string, b []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(binding), []byte{0}, b))
	return sum[:cursorSum]
}

// decodeCursor reads what encode wrote for the same list. The error is a problem.
func decodeCursor(text, binding string) (cursor, error) {
	invalid := httperr.New(httperr.InvalidCursor, nil).WithField(httperr.QueryPointer("cursor"), "Not a cursor of this list.")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(text) > maxCursor || len(raw) < cursorSum+3 {
		return cursor{}, invalid
	}
	b, sum := raw[:len(raw)-cursorSum], raw[len(raw)-cursorSum:]
	if !bytes.Equal(sum, checksum(binding, b)) || b[0] > 1 {
		return cursor{}, invalid
	}
	c := cursor{Backward: b[0] == 1}
	at, n := binary.Varint(b[1:])
	if n <= 0 {
		return cursor{}, invalid
	}
	now, m := binary.Varint(b[1+n:])
	if m <= 0 {
		return cursor{}, invalid
	}
	c.At, c.Now, c.Key = lifecycle.Micros(at), lifecycle.Micros(now), string(b[1+n+m:])
	return c, nil
}

// bindingOf names the list that a request asks for: the path and every parameter but those that move within the list.
func bindingOf(path string, query url.Values) string {
	q := url.Values{}
	for name, values := range query {
		if name == "cursor" || name == "limit" {
			continue
		}
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
		slices.Sort(values)
		if len(values) > 0 {
			q[name] = values
		}
	}
	return path + "?" + q.Encode()
}
