package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// PublishFacts is what is known of the publishes of one message id, as two sets.
type PublishFacts struct {
	Attempts []PublishAttempt `json:"a,omitempty"` // The attempts seen, the earliest first.
	Stored   []MessageKey     `json:"s,omitempty"` // Stored messages, sorted.
	StoredAt Micros           `json:"t,omitempty"` // When the first of them was stored; zero when that is not known.
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

// Caught are the attempts that the stream swallowed as duplicates, the earliest first: those beyond the stored messages (SPEC 4, layer 1).
// What was attempted before there was a message to be the duplicate of is not among them (ADR 12), and none are while no stored message
// is known: the stream may have refused them, and says so to the publisher alone.
func (p *PublishFacts) Caught() []PublishAttempt {
	if len(p.Stored) == 0 {
		return nil
	}
	could := p.Attempts[p.TooEarly():]
	return could[min(len(p.Stored), len(could)):]
}

// TooEarly is how many attempts were made before the first message was stored, and not shortly before. No message of theirs is known.
func (p *PublishFacts) TooEarly() int {
	if len(p.Stored) == 0 {
		return 0
	}
	since := p.StoredAt.Add(-captureLead)
	n, _ := slices.BinarySearchFunc(p.Attempts, since, func(a PublishAttempt, since Micros) int { return cmp.Compare(a.At, since) })
	return n
}

// FirstAt is the time of the earliest attempt; zero when none was seen.
func (p *PublishFacts) FirstAt() Micros {
	if len(p.Attempts) == 0 {
		return 0
	}
	return p.Attempts[0].At
}

func (p *PublishFacts) attempted(a PublishAttempt) {
	if i, found := slices.BinarySearchFunc(p.Attempts, a, PublishAttempt.compare); !found {
		p.Attempts = slices.Insert(p.Attempts, i, a)
		p.Attempts = p.Attempts[:min(len(p.Attempts), maxAttemptsKept)]
	}
}

func (p *PublishFacts) stored(k MessageKey, at Micros) {
	p.StoredAt = earliest(p.StoredAt, at)
	if i, found := slices.BinarySearchFunc(p.Stored, k, MessageKey.Compare); !found && len(p.Stored) < maxAttemptsKept {
		p.Stored = slices.Insert(p.Stored, i, k)
	}
}

func (t *TaskFacts) editPublish(msgID string, edit func(*PublishFacts)) {
	if msgID == "" {
		return
	}
	if t.Publishes == nil {
		t.Publishes = map[string]PublishFacts{}
	}
	p := t.Publishes[msgID]
	edit(&p)
	t.Publishes[msgID] = p
	if len(t.Publishes) > maxPublishesKept {
		delete(t.Publishes, slices.Max(slices.Collect(maps.Keys(t.Publishes))))
	}
}

// CaughtByStream is the number of publishes of this task that the stream swallowed as duplicates (SPEC 4, layer 1).
func (t *TaskFacts) CaughtByStream() int {
	n := 0
	for _, p := range t.Publishes {
		n += len(p.Caught())
	}
	return n
}
