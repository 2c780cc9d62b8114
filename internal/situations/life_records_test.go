//go:build linux

package situations

import (
	"fmt"
	"slices"
	"time"
)

// What becomes of the idempotency records of random worlds: they are written after their message has left, written again, and deleted.

// work is what an idempotency key stands for; version zero where none was given.
type work struct {
	task string
	key  int
}

// saying is where it stands that work was completed.
type saying struct {
	reported bool      // An agent said so.
	recorded bool      // A record is there, or is about to be.
	over     bool      // A record was written over another, or deleted, or is about to be.
	old      bool      // The record that is there says a time before that from which documents are polled: without a listener only the day's sweep finds it.
	deleted  time.Time // When a record was last deleted.
}

// polledBack is how far behind the latest completion documents are polled.
const polledBack = 10 * time.Minute

// justDeleted is how long after the deletion of a record a worker may be given a message that the broker had sent before.
const justDeleted = 500 * time.Millisecond

// at reports whether it stood somewhere when a delivery began.
func (s saying) at(began time.Time) bool {
	return s.reported || s.recorded || began.Before(s.deleted.Add(justDeleted))
}

// isSaid notes how the completion of a message's work is told.
func (w *life) isSaid(m *mail, by func(*saying)) {
	for _, of := range []work{{m.task, m.key}, {m.task, 0}} {
		s := w.said[of]
		by(&s)
		w.said[of] = s
	}
	w.sayings[m.task]++
}

// recorded notes that a record of a message's work is there.
func recorded(s *saying) { s.recorded, s.over, s.old = true, s.over || s.recorded, false }

// recordLost reports whether a record of a task may never have been seen: a document holds what was written last.
func (w *life) recordLost(task string) bool {
	if w.mode == live || !w.land.outside {
		return false
	}
	for of, s := range w.said {
		if of.task == task && s.over {
			return true
		}
	}
	return false
}

// recordUnread reports whether the record of a message's work may wait for the day's sweep: a document whose time is old was written while Fleetglass was down.
func (w *life) recordUnread(m *mail) bool {
	return w.mode == interrupted && w.land.outside && w.said[work{m.task, m.key}].old
}

// saidBefore reports whether the completion of a message's work was told when a delivery began.
func (w *life) saidBefore(d delivery) bool {
	m := d.of
	keyless := d.Headers().Get("X-Idempotency-Key") == ""
	return m.task == "foreign" || w.said[work{m.task, m.key}].at(d.at) || keyless && w.said[work{m.task, 0}].at(d.at)
}

// recordLater writes the record of a message that may have left its stream, as a worker does that goes on after it lost what it had.
func (w *life) recordLater() {
	m := pick(w.random, slices.DeleteFunc(slices.Clone(w.letters), func(m *mail) bool { return m.task == "foreign" || m.had == 0 })) // Who never had it cannot name it.
	if m == nil {
		return
	}
	there := w.there(m.letter)
	w.note("record of %d, which is in its stream: %v", m.seq, there)
	inHand := slices.ContainsFunc(w.crews(), func(c *crew) bool { _, has := m.open[c.name]; return has && c.takes(m.kind) })
	w.know(func() {
		// Of one that no consumer has in hand that takes it, or that was purged, no line tells when it left: that it is missed shows after the record.
		m.recorded, m.late = m.recorded || there || !inHand || m.purged, true
		_, naked := m.deeds[len(m.deeds)-1].ends["naked"]
		m.idle = m.idle || naked
		w.isSaid(m, recorded)
	})
	w.record(m.task, map[string]any{"idempotencyKey": fmt.Sprintf("%s-%d", w.task(m.task), m.key), "natsStreamSeq": m.seq})
}

// recordAgain writes a record again that is there: refreshed, with another result, of another message of its key, of none, or with another time.
func (w *life) recordAgain() {
	m := pick(w.random, slices.DeleteFunc(slices.Clone(w.letters), func(m *mail) bool { return m.task == "foreign" || m.had == 0 || !w.said[work{m.task, m.key}].recorded }))
	if m == nil {
		return
	}
	fields := map[string]any{"idempotencyKey": fmt.Sprintf("%s-%d", w.task(m.task), m.key), "natsStreamSeq": m.seq}
	ofAny, shift := false, time.Duration(0)
	switch w.random.IntN(4) {
	case 0:
		fields["resultSummary"] = "done, looked at again"
	case 1:
		ofAny, fields["natsStreamSeq"] = true, nil
	case 2:
		shift = time.Duration(w.random.IntN(7200)-3600) * time.Second
		fields["completedAt"] = time.Now().Add(shift).UnixMilli()
	}
	w.note("record of %d again: %v", m.seq, fields)
	for _, o := range w.letters {
		if o != m && (!ofAny || o.task != m.task) || o.seq == 0 {
			continue
		}
		there := w.there(o.letter)
		w.know(func() { o.recorded, o.late = o.recorded || there || len(o.open) == 0 || o.purged, true })
	}
	w.know(func() {
		w.isSaid(m, func(s *saying) {
			recorded(s)
			s.old = shift < -polledBack
		})
	})
	w.record(m.task, fields)
}

// forgetRecord deletes the record of a key, so that a worker that is given a message of it finds none.
func (w *life) forgetRecord() {
	m := pick(w.random, slices.DeleteFunc(slices.Clone(w.letters), func(m *mail) bool { return !w.said[work{m.task, m.key}].recorded }))
	if m == nil {
		return
	}
	w.halt()
	wholly := w.random.IntN(2) == 0
	w.must(w.records.remove(w.ctx, w.task(m.task), m.key, wholly))
	w.note("the record of key %d of task %q is deleted, with what was there before it: %v", m.key, m.task, wholly)
	w.know(func() {
		of := work{m.task, m.key}
		s := w.said[of]
		s.recorded, s.over, s.deleted = false, true, time.Now()
		w.said[of] = s
		s = w.said[work{m.task, 0}]
		s.deleted, s.recorded = time.Now(), slices.ContainsFunc(w.letters, func(o *mail) bool { return o.task == m.task && w.said[work{o.task, o.key}].recorded })
		w.said[work{m.task, 0}] = s
	})
}
