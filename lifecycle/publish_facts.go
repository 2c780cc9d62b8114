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

// maybeRecorded reports whether an attempt that was recorded can be this one, which was heard.
func (a PublishAttempt) maybeRecorded(r PublishAttempt) bool {
	return a.At.Add(-captureLead) <= r.At && r.At <= a.At.Add(recordedLate)
}

// captureLead is how much earlier an attempt may have been captured than its message was stored: by two streams that do not wait for each
// other, perhaps on two servers.
const captureLead = 2 * time.Second

// captureSkew is how much earlier that usually is, at most.
const captureSkew = 50 * time.Millisecond

// captureNear is how far from the time of storing, to either side, the attempt that stored the message was captured by a broker that did not stand still.
const captureNear = 500 * time.Millisecond

// forgottenLate is how long after its duplicate window a stream may still swallow a publish: it forgets ids by a timer, 50 ms late by design, and later
// where its server is busy.
const forgottenLate = time.Second

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
		if !slices.ContainsFunc(p.Recorded, heard.maybeRecorded) {
			all = append(all, heard)
		}
	}
	slices.SortFunc(all, PublishAttempt.compare)
	return all
}

// Caught are the attempts that the stream swallowed as duplicates, the earliest first: those captured after the first message was stored that did not store
// another (SPEC 4, layer 1; ADR 66). What was attempted when there was no message to be the duplicate of is not among them, and none are while no stored message
// is known: the stream may have refused them, and says so to the publisher alone.
func (p *PublishFacts) Caught() []PublishAttempt {
	if !p.known() {
		return nil
	}
	before, after := p.around()
	others := p.late()
	if len(p.Stored) > 0 {
		others += len(p.Stored) - 1
		if p.storedFirst(before, after) {
			others++
		}
	}
	return after[min(others, len(after)):]
}

// late is how many attempts that were recorded after the first message was stored may have been made before: each that was heard by then may be one.
func (p *PublishFacts) late() (n int) {
	for _, heard := range p.Heard {
		late := func(r PublishAttempt) bool { return r.At > p.StoredAt && heard.maybeRecorded(r) }
		if heard.At <= p.StoredAt && slices.ContainsFunc(p.Recorded, late) {
			n++
		}
	}
	return n
}

// Unclear is how many attempts were captured before the first message was stored and did not store it, shortly before or while the broker stood still, or shortly
// after the duplicate window and stored nothing: the stream may have refused them or caught them, and nothing tells which.
func (p *PublishFacts) Unclear() int {
	if !p.known() {
		return 0
	}
	before, after := p.around()
	attempts := p.Attempts()
	late := p.after(attempts, 0) - p.after(attempts, forgottenLate)
	if len(p.Stored) == 0 || p.storedFirst(before, after) {
		return late + len(before)
	}
	return late + max(0, len(before)-1)
}

// known reports whether a stored message is known that has the id.
func (p *PublishFacts) known() bool { return len(p.Stored) > 0 || p.Owner != "" }

// around are the attempts that a message may have caught: those captured before the first one was stored, and not too early, and those captured after that.
func (p *PublishFacts) around() (before, after []PublishAttempt) {
	attempts := p.Attempts()
	could := attempts[p.tooEarly(attempts) : len(attempts)-p.after(attempts, 0)]
	n, _ := slices.BinarySearchFunc(could, p.StoredAt+1, func(a PublishAttempt, at Micros) int { return cmp.Compare(a.At, at) })
	return could[:n], could[n:]
}

// storedFirst reports whether the first of the later attempts is the one that stored the message. The only one that was captured just before that is it, else
// the nearest: whom the stream refuses may try again and again. Where some were only heard others were recorded late, and their times tell nothing.
func (p *PublishFacts) storedFirst(before, after []PublishAttempt) bool {
	switch {
	case len(after) == 0:
		return false
	case len(before) == 0, len(p.Heard) > 0 && len(p.Recorded) > 0:
		return true
	case p.StoredAt.Sub(before[len(before)-1].At) > captureLead: // The stream stood still: a catch that is counted must be proved.
		return true
	}
	just := func(i int) bool { return i >= 0 && p.StoredAt.Sub(before[i].At) <= captureSkew }
	if last := len(before) - 1; just(last) && !just(last-1) {
		return false
	}
	return after[0].At.Sub(p.StoredAt) < p.StoredAt.Sub(before[len(before)-1].At)
}

// Refused is how many attempts stored nothing although no message could swallow them: those made too early, and too late.
func (p *PublishFacts) Refused() int {
	attempts := p.Attempts()
	return p.tooEarly(attempts) + p.after(attempts, forgottenLate)
}

// TooEarly is how many attempts were made so long before the first message was stored that they did not store it. No message of theirs is known.
func (p *PublishFacts) TooEarly() int { return p.tooEarly(p.Attempts()) }

func (p *PublishFacts) tooEarly(attempts []PublishAttempt) int {
	if !p.known() {
		return 0
	}
	lead := captureLead
	if near := func(a PublishAttempt) bool { return max(a.At.Sub(p.StoredAt), p.StoredAt.Sub(a.At)) <= captureNear }; len(p.Stored) > 0 && !slices.ContainsFunc(attempts, near) {
		lead = recordedLate // The stream stood still: any of them may have stored the message.
	}
	n, _ := slices.BinarySearchFunc(attempts, p.StoredAt.Add(-lead), func(a PublishAttempt, since Micros) int { return cmp.Compare(a.At, since) })
	return n
}

// after is how many of the attempts were made longer than that after the duplicate window of the last message had ended: nothing was stored for them.
func (p *PublishFacts) after(attempts []PublishAttempt, that time.Duration) int {
	if !p.Until.Known() {
		return 0
	}
	n, _ := slices.BinarySearchFunc(attempts, p.Until.Add(that)+1, func(a PublishAttempt, at Micros) int { return cmp.Compare(a.At, at) })
	return len(attempts) - n
}

// MaySwallow reports whether a stored message may be the one as whose duplicate its stream swallowed a publish that was captured at a time.
func (s *StoredFacts) MaySwallow(at Micros) bool {
	return at >= s.At.Add(-captureLead) && (s.Window == 0 || at <= s.At.Add(s.Window+forgottenLate))
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
		if t.Unnamed == nil {
			t.Unnamed = &PublishFacts{}
		}
		edit(t.Unnamed)
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

// owner is a task whose message has the id of a publish of this one, and whether that is proved to have caught it; empty when there is none.
func (t *TaskFacts) owner() (owner string, proved bool) {
	for _, p := range t.Publishes {
		if p.Owner == "" || len(p.Caught())+p.Unclear() == 0 {
			continue
		}
		owner, proved = leastText(owner, p.Owner), proved || len(p.Caught()) > 0
	}
	return owner, proved
}

// mayHaveStored reports whether the task was published by a time once more than messages of it are known: that one's publish line may have been lost.
func (t *TaskFacts) mayHaveStored(by Micros) bool {
	for _, p := range t.Publishes {
		first := p.FirstAt()
		refused := first <= t.NotStoredAt && t.NotStoredDoubt == ""
		if first.Known() && first <= by && !refused && !p.known() {
			return true
		}
	}
	if t.Unnamed == nil {
		return false
	}
	made := t.Unnamed.Attempts()
	after, _ := slices.BinarySearchFunc(made, by+1, func(a PublishAttempt, at Micros) int { return cmp.Compare(a.At, at) })
	return after > len(t.Unnamed.Stored)
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

// CaughtByStream is the number of publishes of this task that the stream swallowed as duplicates (SPEC 4, layer 1), as captured or reported.
func (t *TaskFacts) CaughtByStream() int {
	n := 0
	for id, p := range t.Publishes {
		n += len(p.Caught()) + len(t.onlyReported(id))
	}
	return n
}
