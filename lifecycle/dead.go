package lifecycle

import (
	"cmp"
	"slices"
)

// DeadFacts is a dead-letter entry, as it describes itself. Whoever may publish to the dead-letter queue can claim anything in it.
type DeadFacts struct {
	At         Micros `json:"at"`              // When the dead-letter queue stored it.
	Entry      string `json:"entry,omitempty"` // Where it is: the key of its own message in the dead-letter queue.
	Category   string `json:"category,omitempty"`
	Path       string `json:"path,omitempty"`
	Reason     string `json:"why,omitempty"`
	Detail     string `json:"detail,omitempty"`
	Deliveries int    `json:"deliveries,omitempty"` // How often the message had been delivered; zero when it does not say.
	FailedAt   Micros `json:"failed,omitempty"`     // When the message died; zero when it does not say.
	Subject    string `json:"subject,omitempty"`    // The subject of the message that it speaks of; empty when it does not say.
	TaskID     string `json:"task,omitempty"`       // The task of that message; empty when it does not say.
	Type       string `json:"type,omitempty"`       // The type of that task; empty when it does not say.
}

// maxEntriesKept bounds the entries that are kept of one message. The earliest are kept.
const maxEntriesKept = 16

func deadFacts(e Event) DeadFacts {
	d := e.Detail
	return DeadFacts{
		At: e.At, Entry: d.Entry, Category: d.Category, Path: d.Path, Reason: d.Reason, Detail: d.CategoryDetail, Deliveries: d.Deliveries, FailedAt: d.FailedAt,
		Subject: d.Subject, TaskID: d.OfTask, Type: d.Type,
	}
}

// joinEntry adds a dead-letter entry.
func (m *MessageFacts) joinEntry(d DeadFacts) {
	i, found := slices.BinarySearchFunc(m.Entries, d, compareDead)
	if found {
		return
	}
	m.Entries = slices.Insert(slices.Clip(m.Entries), i, d)
	m.Entries = m.Entries[:min(len(m.Entries), maxEntriesKept)]
}

// chooseEntry takes the earliest entry that speaks of this very message.
func (m *MessageFacts) chooseEntry() {
	m.Dead = nil
	if i := slices.IndexFunc(m.Entries, m.speaks); i >= 0 {
		d := m.Entries[i]
		m.Dead = &d
	}
}

// speaks reports whether what an entry says of its message is what the stream stored. While that is not known, and where the entry does not
// say it, the entry is believed.
func (m *MessageFacts) speaks(d DeadFacts) bool {
	s := m.Stored
	return s == nil || ((d.Subject == "" || d.Subject == s.Subject) && (d.TaskID == "" || d.TaskID == m.TaskID))
}

// ended reports whether something else than a dead-letter entry says that the message died, left its stream, or has nobody to take it. A message of
// which only entries are known has ended too: an entry without a known original stands for itself. One that was only missed may have left by an answer: then an
// entry counts that no sign of its life came after.
func (ev *evidence) ended() bool {
	m := ev.m
	_, dead := ev.deadAt()
	gone := m.VanishedAt.Known() && (m.Removal.Known() || !m.livedAfterEntries())
	return dead || ev.termAt.Known() || gone || m.OrphanedAt > m.AdoptedAt || m.Stranded() || (m.Stored == nil && ev.n == 0 && !ev.given && !ev.ackedAt.Known())
}

// livedAfterEntries reports whether the message was delivered, or its worker sent a heartbeat or handed it back, surely after each entry about it was stored.
func (m *MessageFacts) livedAfterEntries() bool {
	var lived, entry Micros
	for a := range m.everyAttempt() {
		lived = max(lived, a.DeliveredAt, a.LastBeat, a.LastNakAt)
	}
	for _, d := range m.Entries {
		if m.speaks(d) {
			entry = max(entry, d.At)
		}
	}
	return lived > entry.Add(bindingSlack)
}

// entry is the dead-letter entry that counts; nil where there is none.
func (ev *evidence) entry() *DeadFacts {
	if ev.m.Dead == nil || !ev.ended() {
		return nil
	}
	return ev.m.Dead
}

// HasEntry reports whether the message is in the dead-letter queue, whatever was decided about it since.
func (v Verdict) HasEntry() bool {
	return v.State == StateDeadLettered || v.Death.State == StateDeadLettered
}

// deadAt is when the attempts were used up, by the broker's word or by the clock.
func (ev *evidence) deadAt() (Micros, bool) {
	if at, dead := ev.maxedAt(); dead {
		return at, true
	}
	return ev.presumedAt()
}

// maxedAt is when the broker said that the attempts were used up; false where it delivered the message again since, or a later attempt than those is proved: an agent
// may report any number.
func (ev *evidence) maxedAt() (Micros, bool) {
	at, n := ev.life.MaxDeliveriesAt, ev.life.MaxDeliveriesN
	return at, at.Known() && ev.deliveredAt <= at && (n == 0 || ev.life.currentAttempt(ev.deliveries) <= n)
}

func (ev *evidence) presumedAt() (Micros, bool) {
	x, last := ev.passed()
	if !last {
		return 0, false
	}
	return x.Deadline, true
}

// leftBehindAt is when the attempts at a message were used up; false unless its consumer was created anew, or reset, behind it since.
func (ev *evidence) leftBehindAt() (Micros, bool) {
	if ev.life == ev.m || ev.n > 0 || !ev.stranded() {
		return 0, false
	}
	past := ev.m.pastLife()
	if ev.m.MaxDeliveriesAt < ev.m.RecreatedAt {
		past.MaxDeliveriesAt, past.MaxDeliveriesN = ev.m.MaxDeliveriesAt, ev.m.MaxDeliveriesN
	}
	before := evidenceAlone(&past, bound{})
	if at, maxed := before.maxedAt(); maxed {
		return at, true
	}
	return before.presumedAt()
}

func compareDead(a, b DeadFacts) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Entry, b.Entry), cmp.Compare(a.Category, b.Category), cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Detail, b.Detail), cmp.Compare(a.Deliveries, b.Deliveries), cmp.Compare(a.FailedAt, b.FailedAt),
		cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.TaskID, b.TaskID), cmp.Compare(a.Type, b.Type))
}
