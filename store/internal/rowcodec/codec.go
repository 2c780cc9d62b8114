// Package rowcodec writes facts, events and summaries as the compact binary columns of the stores: MessagePack, written and read by
// generated code (rows.go is the format). Texts keep every byte, which JSON does not promise.
package rowcodec

import (
	"errors"
	"fmt"

	"fleetglass/lifecycle"
)

// ErrCorrupt says that stored bytes are no value that this package wrote.
var ErrCorrupt = errors.New("stored row is corrupt")

// AppendEvent appends an event without what addresses it: its id, its time, its task and its message.
func AppendEvent(b []byte, e *lifecycle.Event) []byte { return written((*eventRow)(e).MarshalMsg(b)) }

// ReadEvent adds to e, which is addressed already, what AppendEvent wrote.
func ReadEvent(e *lifecycle.Event, b []byte) error {
	if err := read((*eventRow)(e).UnmarshalMsg(b)); err != nil {
		return fmt.Errorf("read event %v: %w", e.ID, err)
	}
	return nil
}

// AppendMessage appends the facts of a message, without its key.
func AppendMessage(b []byte, m *lifecycle.MessageFacts) []byte {
	return written((*messageFactsRow)(m).MarshalMsg(b))
}

// Message reads what AppendMessage wrote.
func Message(key lifecycle.MessageKey, b []byte) (lifecycle.MessageFacts, error) {
	m := lifecycle.MessageFacts{Key: key}
	if err := read((*messageFactsRow)(&m).UnmarshalMsg(b)); err != nil {
		return lifecycle.MessageFacts{}, fmt.Errorf("read facts of %v: %w", key, err)
	}
	return m, nil
}

// AppendTask appends the facts of a task, without its id.
func AppendTask(b []byte, t *lifecycle.TaskFacts) []byte {
	return written((*taskFactsRow)(t).MarshalMsg(b))
}

// Task reads what AppendTask wrote.
func Task(id string, b []byte) (lifecycle.TaskFacts, error) {
	t := lifecycle.TaskFacts{ID: id}
	if err := read((*taskFactsRow)(&t).UnmarshalMsg(b)); err != nil {
		return lifecycle.TaskFacts{}, fmt.Errorf("read facts of task %q: %w", id, err)
	}
	return t, nil
}

// AppendHeaders appends message headers; none take no bytes.
func AppendHeaders(b []byte, headers map[string][]string) []byte {
	if len(headers) == 0 {
		return b
	}
	return written(headersRow(headers).MarshalMsg(b))
}

// Headers reads what AppendHeaders wrote; none gives nil.
func Headers(b []byte) (map[string][]string, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var out headersRow
	if err := read(out.UnmarshalMsg(b)); err != nil {
		return nil, fmt.Errorf("read headers: %w", err)
	}
	return out, nil
}

// written is what a generated method wrote. Writing cannot fail: no type of rows.go has a method of its own that may.
func written(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// read judges what a generated method left of a row. It errors with [ErrCorrupt].
func read(rest []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if len(rest) != 0 {
		return fmt.Errorf("%w: %d bytes are left", ErrCorrupt, len(rest))
	}
	return nil
}
