package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// By the contract an idempotency key names its task: <task id>-<version>. A key that messages of several tasks have is one piece of work
// under several names, so that what one of the tasks did tells of the others. Facts are those of one task; what a task knows of the others
// with its key came as [KeyShared].

// SharedKey says that another task has a message with an idempotency key, and what became of it there.
type SharedKey struct {
	Key    string `json:"k"`
	Task   string `json:"task"`             // The other task.
	At     Micros `json:"at,omitempty"`     // What is said below was so when the other task had last changed, at this time.
	DoneAt Micros `json:"done,omitempty"`   // When the other task did this work, or was acknowledged; zero while neither is known.
	Proved bool   `json:"proved,omitempty"` // A record or a report says that it did the work.
}

// maxVersionNamed bounds the versions by which a key names its task: a number as of an order is no version.
const maxVersionNamed = 99

// KeyHolder is the task under whose name it is kept which other tasks use an idempotency key: the one that the key names, else one with the
// key itself for its id.
func KeyHolder(key string) string {
	i := strings.LastIndexByte(key, '-')
	if i <= 0 {
		return key
	}
	if n, err := strconv.Atoi(key[i+1:]); err != nil || n < 1 || n > maxVersionNamed || strconv.Itoa(n) != key[i+1:] {
		return key
	}
	return key[:i]
}

// KeyUse is what a task did under one idempotency key, as other tasks with that key are told; used says whether a message of it has the
// key at all.
func (r *TaskRecord) KeyUse(key string) (use SharedKey, used bool) {
	use, used = r.Facts.keyUse(key)
	use.At = latest(r.Facts.LastAt, r.Summary.LastEventAt)
	for i := range r.Messages {
		use.At = latest(use.At, r.Messages[i].LastAt)
	}
	return use, used
}

func (t *TaskFacts) keyUse(key string) (use SharedKey, used bool) {
	use = SharedKey{Key: key, Task: t.ID}
	for _, part := range t.byKey() {
		if len(part.Copies) > 0 && part.Copies[0].IdemKey == key {
			use.DoneAt, use.Proved = part.firstDone()
			return use, true
		}
	}
	return use, false
}

// Sharers are the other tasks of which a message has the idempotency key of m, those that did its work first, then those that were acknowledged.
func (t *TaskFacts) Sharers(m MessageFacts) []SharedKey {
	if m.Stored == nil || m.Stored.IdempotencyKey == "" {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(t.Shared), func(s SharedKey) bool { return s.Key != m.Stored.IdempotencyKey })
	slices.SortStableFunc(out, func(a, b SharedKey) int { return cmp.Compare(a.undone(), b.undone()) })
	return out
}

// AllSharers are the other tasks of which a message has the key of any message of t, those that did the work first.
func (t *TaskFacts) AllSharers() []SharedKey {
	out := slices.DeleteFunc(slices.Clone(t.Shared), func(s SharedKey) bool {
		return !slices.ContainsFunc(t.Copies, func(c DeliveryCopy) bool { return c.IdemKey == s.Key })
	})
	slices.SortStableFunc(out, func(a, b SharedKey) int { return cmp.Compare(a.undone(), b.undone()) })
	return out
}

// undone is 0 where the other task did the work, 1 where it was acknowledged, 2 where neither is known.
func (s SharedKey) undone() int {
	switch {
	case s.Proved:
		return 0
	case s.DoneAt.Known():
		return 1
	}
	return 2
}

// Words say what became of the key in the other task. They name it, so they are untrusted.
func (s SharedKey) Words() string {
	switch s.undone() {
	case 0:
		return fmt.Sprintf("Task %q has the same idempotency key, and a record or a report says that it completed this work.", s.Task)
	case 1:
		return fmt.Sprintf("Task %q has the same idempotency key and was acknowledged: it may have done this work.", s.Task)
	}
	return fmt.Sprintf("Task %q has the same idempotency key, and is not known to be done: the work may be done under both names.", s.Task)
}

// Tells reports whether a saying brings anything new to a task that was told o before.
func (s SharedKey) Tells(o SharedKey) bool { return s.DoneAt != o.DoneAt || s.Proved != o.Proved }

// firstDone is when a completion of the task was first recorded, or reported by an agent that may have had it, which proves that its work was done, else
// when a message of it was acknowledged.
func (t *TaskFacts) firstDone() (at Micros, proved bool) {
	for _, c := range t.Completed {
		at = earliest(at, c.At)
	}
	for r := range t.Credible() {
		at = earliest(at, r.CompletedAt)
	}
	if at.Known() {
		return at, true
	}
	for _, c := range t.Copies {
		at = earliest(at, c.AckedAt)
	}
	return at, false
}

// SharesKey reports whether somebody is to be told when the task changes: two tasks at least that it knows of, itself among them, have messages with
// one idempotency key. A key under whose name one task alone is kept needs nobody to look.
func (t *TaskFacts) SharesKey() bool {
	for i, s := range t.Shared {
		if i > 0 && t.Shared[i-1].Key == s.Key {
			return true
		}
		if _, used := t.keyUse(s.Key); used {
			return true
		}
	}
	return false
}

// joinShared keeps what was said last of another task with the same key.
func (t *TaskFacts) joinShared(e Event) {
	s := SharedKey{Key: e.Detail.IdempotencyKey, Task: e.Detail.Owner, At: e.At, DoneAt: e.Detail.Basis, Proved: e.Detail.Basis.Known() && !e.Detail.Unproved}
	if s.Key == "" || s.Task == "" || s.Task == t.ID {
		return
	}
	i, found := slices.BinarySearchFunc(t.Shared, s, func(a, b SharedKey) int {
		return cmp.Or(compareText(a.Key, b.Key), compareText(a.Task, b.Task))
	})
	switch {
	case !found:
		t.Shared = slices.Insert(slices.Clip(t.Shared), i, s)
		t.Shared = t.Shared[:min(len(t.Shared), maxSharedKept)]
	case t.Shared[i].less(s):
		t.Shared[i] = s
	}
}

// less reports whether what o says came later. Of two sayings of one time the one that knows more counts.
func (s SharedKey) less(o SharedKey) bool {
	switch {
	case s.At != o.At:
		return s.At < o.At
	case s.DoneAt.Known() != o.DoneAt.Known():
		return o.DoneAt.Known()
	case s.Proved != o.Proved:
		return o.Proved
	}
	return o.DoneAt < s.DoneAt
}

// ledgerShared finds the other tasks that did the work of an idempotency key of t as well. In the numbers of the fleet the work of several tasks
// counts once for each that was not the first.
func ledgerShared(t *TaskFacts) []Case {
	var out []Case
	for _, s := range t.Shared {
		mine, used := t.keyUse(s.Key)
		if !used || !mine.DoneAt.Known() || !s.DoneAt.Known() {
			continue
		}
		counted := slices.ContainsFunc(out, func(c Case) bool { return !c.Elsewhere })
		c := Case{
			Layer: LayerUnknown, At: latest(mine.DoneAt, s.DoneAt), N: 1, Other: s.Task, Elsewhere: counted || !mine.after(s),
			Why: fmt.Sprintf("A message of the task %q has the same idempotency key and was acknowledged too, and nothing tells whether the work was done twice.", s.Task),
		}
		if mine.Proved && s.Proved {
			c.Layer, c.Why = LayerExecution, fmt.Sprintf("The task %q has the same idempotency key, and both recorded or reported that they completed it.", s.Task)
		}
		out = append(out, c)
	}
	return out
}

// after reports whether the work was done after that of another task.
func (s SharedKey) after(o SharedKey) bool {
	return cmp.Or(cmp.Compare(s.DoneAt, o.DoneAt), compareText(s.Task, o.Task)) > 0
}

// sharesAKey reports whether another task has a message with a key that a message of t has.
func (t *TaskFacts) sharesAKey() bool { return len(t.AllSharers()) > 0 }
