package lifecycle

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Erased says that an idempotency record was deleted, or that its time was over: a worker that looked for it afterwards found none. That the work was done
// stays known.
type Erased struct {
	At   Micros `json:"t"`           // By the clock of the record's store.
	Slot string `json:"k,omitempty"` // [recordSlot].
}

// maxErasedKept bounds how many are kept of a task: the latest ones.
const maxErasedKept = 16

// recordSlot tells the records of a task apart as their stores do: the idempotency key of a second or later version; empty for every other key.
func recordSlot(key string) string {
	if i := strings.LastIndexByte(key, '-'); i > 0 {
		if n, err := strconv.Atoi(key[i+1:]); err == nil && n > 1 {
			return key
		}
	}
	return ""
}

func (t *TaskFacts) joinErased(e Event) {
	x := Erased{At: e.At, Slot: recordSlot(e.Detail.IdempotencyKey)}
	i, found := slices.BinarySearchFunc(t.Erased, x, func(a, b Erased) int { return cmp.Or(cmp.Compare(a.At, b.At), compareText(a.Slot, b.Slot)) })
	if found {
		return
	}
	t.Erased = slices.Insert(slices.Clip(t.Erased), i, x)
	t.Erased = t.Erased[max(0, len(t.Erased)-maxErasedKept):]
}

// isThere reports whether the record of a completion is in its store now, as far as that was read.
func (t *TaskFacts) isThere(c Completed) bool {
	return !t.erased(c, latest(c.At, c.Again), math.MaxInt64)
}

// erased reports whether a record of the key of a completion was deleted, or its time was over, in a period.
func (t *TaskFacts) erased(c Completed, from, to Micros) bool {
	return slices.ContainsFunc(t.Erased, func(x Erased) bool { return x.Slot == recordSlot(c.Key) && x.At >= from && x.At <= to })
}

// RecordGoneAt is since when no record of the key of [TaskFacts.Completion] is in its store: it was deleted, or its time was over. Zero while one is there,
// and where no completion is recorded.
func (t *TaskFacts) RecordGoneAt() Micros {
	if t.Completion == nil {
		return 0
	}
	slot := recordSlot(t.Completion.Key)
	var written Micros
	for _, c := range t.Completed {
		if recordSlot(c.Key) != slot {
			continue
		}
		if t.isThere(c) {
			return 0
		}
		written = latest(written, latest(c.At, c.Again))
	}
	for _, x := range t.Erased {
		if x.Slot == slot && x.At >= written {
			return x.At
		}
	}
	return 0
}

// Relies lists the records that keep whoever is given an open message again from doing its work again: those about its key that are in their store, as far as that was
// read, each with the latest time at which it was written.
func (t *TaskFacts) Relies(m *MessageFacts) (out []CompletionRef) {
	if t.Completion == nil {
		return nil
	}
	copies := t.copiesWith(m)
	own := copies[slices.IndexFunc(copies, func(c DeliveryCopy) bool { return c.Key == m.Key })]
	for _, c := range t.Completed {
		if !c.ofKey(copies)(own) || !t.isThere(c) {
			continue
		}
		ref := CompletionRef{RecordRef: RecordRef{TaskID: t.ID, Key: c.Key, Source: t.Completion.Source}, At: latest(c.At, c.Again)}
		if recordSlot(c.Key) == recordSlot(t.Completion.Key) {
			ref.ExpiresAt = t.Completion.ExpiresAt
		}
		out = append(out, ref)
	}
	return out
}

// foundBefore reports whether the worker of an acknowledged attempt can have found that the work was done: a record that came before a time was there until
// it acknowledged, or a report says so.
func (t *TaskFacts) foundBefore(c DeliveryCopy, records Micros) bool {
	return slices.ContainsFunc(t.Completed, func(d Completed) bool { return d.At < records && !t.erased(d, d.At, c.AckedAt) }) || t.reportedBefore(c, c.Surely)
}

// erasedUnread is when a record of the message's key was last deleted, or had expired, since the message was stored; zero as in [TaskFacts.unreadErased].
func (t *TaskFacts) erasedUnread(m *MessageFacts) (at Micros) {
	if m.Stored == nil {
		return 0
	}
	return t.unreadErased(m.Stored.IdempotencyKey, m.Stored.At, math.MaxInt64)
}

// unreadErased is when a record of a key was last deleted, or had expired, in a period, and no record of the key was read before that; zero where there is none.
// What the record said is not known, nor whether there was one: a store notes the deletion of a key that it does not have too.
func (t *TaskFacts) unreadErased(key string, from, to Micros) (at Micros) {
	slot := recordSlot(key)
	for _, x := range t.Erased {
		read := slices.ContainsFunc(t.Completed, func(c Completed) bool { return recordSlot(c.Key) == x.Slot && c.At <= x.At })
		if x.Slot == slot && x.At >= from && x.At <= to && !read {
			at = x.At
		}
	}
	return at
}
