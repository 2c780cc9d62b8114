// Package rowcodec writes facts and events as the compact binary columns of the stores. Texts keep every byte, which JSON does not
// promise. A value is a list of numbered fields, zero fields left out; unknown numbers are skipped, so that a field can be added
// without touching stored rows. A number is never used again for another field. A field that is added to facts, events or summaries
// is added here too; a test finds the one that was forgotten.
package rowcodec

import (
	"encoding/binary"
	"errors"
	"math"

	"fleetglass/lifecycle"
)

// ErrCorrupt says that stored bytes are no value that this package wrote.
var ErrCorrupt = errors.New("stored row is corrupt")

// A field begins with its number and its form.
const (
	formNumber = 0 // A varint follows.
	formBytes  = 1 // A length and that many bytes follow.
)

// writer appends fields.
type writer []byte

func (w *writer) uint(field int, v uint64) {
	if v != 0 {
		w.member(field, v)
	}
}

// member writes a number even when it is zero: a member of a list.
func (w *writer) member(field int, v uint64) {
	*w = binary.AppendUvarint(binary.AppendUvarint(*w, uint64(field)<<1|formNumber), v)
}

// int writes small negative and positive numbers alike in few bytes.
func (w *writer) int(field int, v int64) { w.uint(field, uint64(v)<<1^uint64(v>>63)) }

func (w *writer) at(field int, v lifecycle.Micros) { w.int(field, int64(v)) }

func (w *writer) float(field int, v float64) { w.uint(field, math.Float64bits(v)) }

func (w *writer) bool(field int, v bool) {
	if v {
		w.uint(field, 1)
	}
}

func (w *writer) text(field int, s string) {
	if s != "" {
		w.element(field, s)
	}
}

// element writes a text even when it is empty: a member of a list.
func (w *writer) element(field int, s string) {
	*w = binary.AppendUvarint(binary.AppendUvarint(*w, uint64(field)<<1|formBytes), uint64(len(s)))
	*w = append(*w, s...)
}

func (w *writer) bytes(field int, b []byte) {
	if len(b) != 0 {
		*w = binary.AppendUvarint(binary.AppendUvarint(*w, uint64(field)<<1|formBytes), uint64(len(b)))
		*w = append(*w, b...)
	}
}

// group writes a value within the value: the fields that fill writes.
func (w *writer) group(field int, fill func(*writer)) {
	*w = binary.AppendUvarint(*w, uint64(field)<<1|formBytes)
	at := len(*w)
	*w = append(*w, 0)
	fill(w)
	n := len(*w) - at - 1
	if n < 0x80 {
		(*w)[at] = byte(n)
		return
	}
	var size [binary.MaxVarintLen64]byte
	k := binary.PutUvarint(size[:], uint64(n))
	*w = append(*w, size[:k-1]...)
	copy((*w)[at+k:], (*w)[at+1:at+1+n])
	copy((*w)[at:], size[:k])
}

// reader walks over fields. Its value methods give the current field's value; a field of another form gives the zero value.
type reader struct {
	rest   []byte
	number uint64
	data   []byte
	err    error
}

// next moves to the next field and returns its number, zero at the end or on an error.
func (r *reader) next() int {
	if len(r.rest) == 0 || r.err != nil {
		return 0
	}
	head := r.uvarint()
	r.number, r.data = 0, nil
	if head&1 == formNumber {
		r.number = r.uvarint()
	} else {
		n := r.uvarint()
		if n > uint64(len(r.rest)) {
			r.err = ErrCorrupt
			return 0
		}
		r.data, r.rest = r.rest[:n:n], r.rest[n:]
	}
	if head>>1 == 0 || head>>1 > 1<<20 {
		r.err = ErrCorrupt
	}
	if r.err != nil {
		return 0
	}
	return int(head >> 1)
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.err, r.rest = ErrCorrupt, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) uint() uint64 { return r.number }

func (r *reader) int() int64 { return int64(r.number>>1) ^ -int64(r.number&1) }

func (r *reader) at() lifecycle.Micros { return lifecycle.Micros(r.int()) }

func (r *reader) float() float64 { return math.Float64frombits(r.number) }

func (r *reader) bool() bool { return r.number != 0 }

func (r *reader) text() string { return string(r.data) }

// group reads a value within the value.
func (r *reader) group(read func(*reader)) {
	inner := reader{rest: r.data}
	read(&inner)
	if r.err == nil {
		r.err = inner.err
	}
}
