package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// PublishFacts is what is known of the publishes of one message id, as two sets.
type PublishFacts struct {
	Recorded []PublishAttempt `json:"a,omitempty"` // The attempts that a capture stream recorded, the earliest first.
	Heard    []PublishAttempt `json:"h,omitempty"` // Those that Fleetglass heard while none seemed to record them, likewise.
	Stored   []MessageKey     `json:"s,omitempty"` // Stored messages, sorted.
	StoredAt Micros           `json:"t,omitempty"` // When the first of them was stored; zero when that is not known.
	Until    Micros           `json:"u,omitempty"` // When the duplicate window of the last of them ended; zero when that is not known.
	Owner    string           `json:"o,omitempty"` // The other task whose message has the id, where that caught a publish: StoredAt and Until are that message's.
}

// PublishAttempt is one attempt to publish a message.
type PublishAttempt struct {
	At Micros  `json:"t"` // When it was captured.
	ID EventID `json:"id"`
}

func (a PublishAttempt) compare(o PublishAttempt) int {
	return cmp.Or(cmp.Compare(a.At, o.At), cmp.Compare(a.ID, o.ID))
}

// captureLead is how much earlier an attempt may have been captured than its message was stored: by two streams that do not wait for each
// other, perhaps on two servers.
const captureLead = 2 * time.Second

// recordedLate is how much later than it was heard an attempt may have been recorded: by a capture stream that waited for its majority, or for a
// server that stood still.
const recordedLate = 2 * time.Minute

// Attempts are publishes that were certainly made, the earliest first: those recorded, and those heard that no recorded one can be. Others were made
// perhaps, and a publish is missed rather than invented (ADR 65).
func (p *PublishFacts) Attempts() []PublishAttempt {
	if len(p.Heard) == 0 {
		return p.Recorded
	}
	all := slices.Clone(p.Recorded)
	for _, heard := range p.Heard {
		first, last := heard.At.Add(-captureLead), heard.At.Add(recordedLate)
		if !slices.ContainsFunc(p.Recorded, func(r PublishAttempt) bool { return first <= r.At && r.At <= last }) {
			all = append(all, heard)
		}
	}
	slices.SortFunc(all, PublishAttempt.compare)
	return all
}

// Caught are the attempts that the stream swallowed as duplicates, the earliest first: those beyond the stored messages (SPEC 4, layer 1).
// What was attempted when there was no message to be the duplicate of is not among them (ADR 24), and none are while no stored message
// is known: the stream may have refused them, and says so to the publisher alone.
func (p *PublishFacts) Caught() []PublishAttempt {
	if len(p.Stored) == 0 && p.Owner == "" {
		return nil
	}
	attempts := p.Attempts()
	could := attempts[p.tooEarly(attempts) : len(attempts)-p.tooLate(attempts)]
	return could[min(len(p.Stored), len(could)):]
}

// Refused is how many attempts stored nothing although no message could swallow them: those made too early, and too late.
func (p *PublishFacts) Refused() int {
	attempts := p.Attempts()
	return p.tooEarly(attempts) + p.tooLate(attempts)
}

// TooEarly is how many attempts were made before the first message was stored, and not shortly before. No message of theirs is known.
func (p *PublishFacts) TooEarly() int { return p.tooEarly(p.Attempts()) }

func (p *PublishFacts) tooEarly(attempts []PublishAttempt) int {
	if len(p.Stored) == 0 && p.Owner == "" {
		return 0
	}
	since := p.StoredAt.Add(-captureLead)
	n, _ := slices.BinarySearchFunc(attempts, since, func(a PublishAttempt, since Micros) int { return cmp.Compare(a.At, since) })
	return n
}

// tooLate is how many of the attempts were made after the duplicate window of the last message had ended: nothing was stored for them.
func (p *PublishFacts) tooLate(attempts []PublishAttempt) int {
	if !p.Until.Known() {
		return 0
	}
	n, _ := slices.BinarySearchFunc(attempts, p.Until+1, func(a PublishAttempt, at Micros) int { return cmp.Compare(a.At, at) })
	return len(attempts) - n
}

// FirstAt is the time of the earliest attempt; zero when none was seen.
func (p *PublishFacts) FirstAt() Micros {
	if attempts := p.Attempts(); len(attempts) > 0 {
		return attempts[0].At
	}
	return 0
}

// attempted notes the attempt that an event tells of.
func (p *PublishFacts) attempted(e Event) {
	into := &p.Recorded
	if e.Detail.BestEffort {
		into = &p.Heard
	}
	a := PublishAttempt{At: e.At, ID: e.ID}
	if i, found := slices.BinarySearchFunc(*into, a, PublishAttempt.compare); !found {
		*into = slices.Insert(*into, i, a)
		*into = (*into)[:min(len(*into), maxAttemptsKept)]
	}
}

func (p *PublishFacts) stored(k MessageKey, at Micros, window time.Duration) {
	p.span(at, window)
	if i, found := slices.BinarySearchFunc(p.Stored, k, MessageKey.Compare); !found && len(p.Stored) < maxAttemptsKept {
		p.Stored = slices.Insert(p.Stored, i, k)
	}
}

// span notes when a message with the id was stored, and for how long the stream swallowed others.
func (p *PublishFacts) span(at Micros, window time.Duration) {
	p.StoredAt = earliest(p.StoredAt, at)
	if at.Known() && window > 0 {
		p.Until = latest(p.Until, at.Add(window))
	}
}

// swallowed notes that a message of another task has the id.
func (p *PublishFacts) swallowed(d Detail) {
	p.Owner = leastText(p.Owner, d.Owner)
	p.span(d.Basis, d.Window)
}

func (t *TaskFacts) editPublish(msgID string, edit func(*PublishFacts)) {
	if msgID == "" {
		return
	}
	if t.Publishes == nil {
		t.Publishes = map[string]*PublishFacts{}
	}
	if t.Publishes[msgID] == nil {
		t.Publishes[msgID] = &PublishFacts{}
	}
	edit(t.Publishes[msgID])
	if len(t.Publishes) > maxPublishesKept {
		delete(t.Publishes, slices.Max(slices.Collect(maps.Keys(t.Publishes))))
	}
}

// owner is a task whose message caught a publish of this one; empty when there is none.
func (t *TaskFacts) owner() string {
	owner := ""
	for _, p := range t.Publishes {
		if p.Owner != "" && len(p.Caught()) > 0 {
			owner = leastText(owner, p.Owner)
		}
	}
	return owner
}

// refusedPublish reports whether a publish of the task stored nothing, and no message could have swallowed it.
func (t *TaskFacts) refusedPublish() bool {
	for _, p := range t.Publishes {
		if p.Refused() > 0 {
			return true
		}
	}
	return false
}

// CaughtByStream is the number of publishes of this task that the stream swallowed as duplicates (SPEC 4, layer 1).
func (t *TaskFacts) CaughtByStream() int {
	n := 0
	for _, p := range t.Publishes {
		n += len(p.Caught())
	}
	return n
}
