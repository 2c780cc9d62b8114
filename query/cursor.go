package query

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/url"
	"slices"

	"fleetglass/lifecycle"
)

// Cursor is a place in a list of a page or of the API. Its text is opaque and bound to the list and its filter by a checksum: a damaged
// one, or one of another list, is refused. It carries no authority, so the checksum is not a secret.
type Cursor struct {
	At       lifecycle.Micros // The value of the sort column.
	Key      string           // Breaks ties; any bytes.
	Backward bool             // The page ends before this place instead of beginning after it.
	Now      lifecycle.Micros // When the first page was asked for: relative times of the filter count from it on every page.
}

// ErrCursor says that a text is no cursor of the list: it is damaged, or of another list.
var ErrCursor = errors.New("not a cursor of this list")

// CursorOf is the cursor of a place in the task list; nil for no place.
func CursorOf(c *lifecycle.Cursor, backward bool) *Cursor {
	if c == nil {
		return nil
	}
	return &Cursor{At: c.At, Key: c.TaskID, Backward: backward}
}

// Page asks for the rows of the task list beyond the cursor; nil asks for the first ones.
func (c *Cursor) Page(limit int) lifecycle.Page {
	if c == nil {
		return lifecycle.Page{Limit: limit}
	}
	return lifecycle.Page{Limit: limit, From: &lifecycle.Cursor{At: c.At, TaskID: c.Key}, Backward: c.Backward}
}

// Compare orders places by time, unknown last, then by key.
func (c Cursor) Compare(o Cursor) int {
	if (c.At == 0) != (o.At == 0) {
		if c.At == 0 {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(c.At, o.At), cmp.Compare(c.Key, o.Key))
}

// maxCursor bounds the text of a cursor, in bytes.
const maxCursor = 4096

const cursorSum = 8

// Encode writes the cursor for the list that binding names ([Binding]).
func (c Cursor) Encode(binding string) string {
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

// DecodeCursor reads what [Cursor.Encode] wrote for the same list. It errors with ErrCursor.
func DecodeCursor(text, binding string) (Cursor, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(text) > maxCursor || len(raw) < cursorSum+3 {
		return Cursor{}, ErrCursor
	}
	b, sum := raw[:len(raw)-cursorSum], raw[len(raw)-cursorSum:]
	if !bytes.Equal(sum, checksum(binding, b)) || b[0] > 1 {
		return Cursor{}, ErrCursor
	}
	c := Cursor{Backward: b[0] == 1}
	at, n := binary.Varint(b[1:])
	if n <= 0 {
		return Cursor{}, ErrCursor
	}
	now, m := binary.Varint(b[1+n:])
	if m <= 0 {
		return Cursor{}, ErrCursor
	}
	c.At, c.Now, c.Key = lifecycle.Micros(at), lifecycle.Micros(now), string(b[1+n+m:])
	return c, nil
}

// Binding names the list that a request asks for: its path and every parameter but those that move within the list.
func Binding(path string, query url.Values) string {
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
