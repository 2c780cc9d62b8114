package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// A completion belongs to one idempotency key and one message, and to no other (SITUATIONS, "Completion"):
//
//   - A record that names its stream sequence completes that message. One that names none completes the only message of its key that it can
//     mean: the only one there is, else the only one that a worker had at that time. It completes none that was stored after it.
//   - A record that was stored after a message had been removed from the stream does not complete that message. Nor does one that was stored
//     up to [bindingSlack] before the removal showed: which of the two came first cannot be told, and what is in doubt is not completed.
//     For a report the time at which it came decides: what its agent says of the time may be wrong.
//   - The other messages of the key are covered: a redelivery finds the record and skips the work. Messages of another key are not touched.
//   - A report is bound by its message id, where several messages have it by its time too; without an id only where a single message fits its agent, attempt
//     and time. Completion is credited to the agent that holds or held the message.

// bound is what the task's records and reports say of one message.
type bound struct {
	recordedAt Micros        // The earliest record that completes the message; zero when none does.
	named      bool          // One that completes it names its sequence.
	findable   bool          // One that completes or covers it was not deleted since, so that the next worker finds it.
	coveredAt  Micros        // The earliest completion of its key by another message; zero when there is none.
	unreadAt   Micros        // When a record of its key was last deleted, or had expired, that was never read; zero when none was since the message was stored.
	reportedAt Micros        // When the message's agent reports that it completed; zero when it does not.
	unboundAt  Micros        // When its agent first reports a completion that may be of this message, and nothing tells of which one; zero when it does not.
	reports    []ReportFacts // Those of its agent that speak of the message.
	announced  []LastReport  // Effects of the message that its agents announced, or of a message that they did not name.
	conflict   bool          // Somebody who never held the message reports that it is completed.
}

// boundTo collects what the task knows of m.
func (t *TaskFacts) boundTo(m *MessageFacts) bound {
	var b bound
	if len(t.Completed) == 0 && len(t.Reports) == 0 && len(t.Erased) == 0 {
		return b
	}
	b.announced = t.announced(m)
	copies := t.copiesWith(m)
	own := copies[slices.IndexFunc(copies, func(c DeliveryCopy) bool { return c.Key == m.Key })]
	for _, c := range t.Completed {
		switch i := t.completes(c, copies); {
		case i >= 0 && copies[i].Key == m.Key && m.surelyThere(c.At):
			b.recordedAt, b.named = earliest(b.recordedAt, c.At), b.named || c.Seq != 0
			b.findable = b.findable || t.isThere(c)
		case c.ofKey(copies)(own):
			b.coveredAt = earliest(b.coveredAt, c.At)
			b.findable = b.findable || t.isThere(c)
		}
	}
	for i := range t.Reports {
		b.take(t, &t.Reports[i], m, own, copies)
	}
	b.unreadAt = t.erasedUnread(m)
	return b
}

// toldAt is when the work of the message was first said to be done, whether this message did it or not; zero where nobody said so.
func (b *bound) toldAt() Micros {
	at := earliest(b.recordedAt, b.coveredAt)
	for i := range b.reports {
		at = earliest(at, b.reports[i].CompletedAt)
	}
	return at
}

// RecordedMessage is the message that the task's earliest record ([TaskFacts.Completion]) completes; zero where it completes none, or it cannot be told which.
func (t *TaskFacts) RecordedMessage() MessageKey {
	copies := t.distinctCopies()
	for _, c := range t.Completed {
		if first := t.Completion; first != nil && c.Key == first.Key && c.At == first.At {
			if i := t.completes(c, copies); i >= 0 {
				return copies[i].Key
			}
		}
	}
	return MessageKey{}
}

// RecordNames reports whether a record completes the message and names its sequence, which only somebody knows that was given the message: a broker that is killed,
// or whose disk is full, forgets its last deliveries.
func (t *TaskFacts) RecordNames(m *MessageFacts) bool {
	return slices.ContainsFunc(t.Completed, func(c Completed) bool { return c.Seq == m.Key.Seq }) && t.boundTo(m).named
}

// take adds what a report says of m.
func (b *bound) take(t *TaskFacts, said *ReportFacts, m *MessageFacts, own DeliveryCopy, copies []DeliveryCopy) {
	fits := said.by(own) && (said.MsgID == "" || said.MsgID == own.MsgID)
	stored := own // It may have been delivered before the first delivery that is known.
	stored.Runs = nil
	for _, at := range []Micros{said.CompletedAt, said.LastCompletedAt} {
		if fits && at.Known() && t.mayBeSpokenOf(stored, at) && t.speaksOf(said, copies, at) < 0 {
			b.unboundAt = earliest(b.unboundAt, at)
		}
	}
	r, speaks := t.about(said, copies, func(c DeliveryCopy) bool { return c.Key == m.Key })
	switch {
	case !speaks:
		return
	case !r.by(own):
		b.conflict = b.conflict || (r.CompletedAt.Known() && own.takerKnown())
		return
	}
	b.reports = append(b.reports, r)
	if m.surelyThere(r.completedBy()) {
		b.reportedAt = earliest(b.reportedAt, r.completed(m))
	}
}

// completed is when the report says that m was completed. Where its clock says a time before the message was stored, it is when the report came.
func (r *ReportFacts) completed(m *MessageFacts) Micros {
	if at := m.notBefore(r.CompletedAt); at == r.CompletedAt {
		return at
	}
	return m.notBefore(r.completedBy())
}

// notBefore is a time, but no time before the message was stored: nothing happens to a message before that, whatever the clocks of others say.
func (m *MessageFacts) notBefore(at Micros) Micros {
	if m.Stored == nil || !at.Known() {
		return at
	}
	return latest(at, m.Stored.At)
}

// surelyThere reports whether a record was stored, or a report came, before the message was removed. The broker says of a removal later than it
// happens, and whoever took the record or the report may have another clock. A message that was only missed may have left by an answer.
func (m *MessageFacts) surelyThere(at Micros) bool {
	return !m.VanishedAt.Known() || (m.goneUnexplained() && at <= m.goneBy()) || at.Add(bindingSlack) <= m.VanishedAt
}

// distinctCopies lists each message of the task once.
func (t *TaskFacts) distinctCopies() []DeliveryCopy {
	return slices.CompactFunc(slices.Clone(t.Copies), func(a, b DeliveryCopy) bool { return a.Key == b.Key })
}

// copiesWith lists each message of the task once, m included.
func (t *TaskFacts) copiesWith(m *MessageFacts) []DeliveryCopy {
	out := t.distinctCopies()
	if !slices.ContainsFunc(out, func(c DeliveryCopy) bool { return c.Key == m.Key }) {
		out = append(out, copiesOf(m, Verdict{})[0])
	}
	return out
}

// completes is the index of the message that a record completes; negative when it completes none, or it cannot be told which. One that names none may be about a
// message of which the publish line was lost.
func (t *TaskFacts) completes(c Completed, copies []DeliveryCopy) int {
	if c.Seq == 0 && t.UnboundSince.Known() && c.At >= t.UnboundSince {
		return -1
	}
	var fits []int
	of := c.ofKey(copies)
	for i := range copies {
		if of(copies[i]) && (c.Seq == 0 || c.Seq == copies[i].Key.Seq) {
			fits = append(fits, i)
		}
	}
	i := only(fits, func(i int) bool { return copies[i].mayBeHeldAt(c.At) })
	switch {
	case i < 0, copies[i].Gone.Known() && c.At > copies[i].Gone:
		return -1
	case c.Seq == 0 && c.At < copies[i].At: // Its store's clock may be late, or somebody wrote the record of another message, which may not be known, again.
		return -1
	}
	return i
}

// ofKey tells of each message whether the record is about its idempotency key.
func (c *Completed) ofKey(copies []DeliveryCopy) func(DeliveryCopy) bool {
	key, known := c.key(copies)
	return func(of DeliveryCopy) bool { return known && (of.IdemKey == key || of.IdemKey == "" && c.Key != "") }
}

// key is the idempotency key that the record is about. One that names none is about that of the message whose sequence it names, else about the first version: its
// task has one record for that and for keys that are no versions, and others for later versions. Where no message of that is known it is about none that is.
func (c *Completed) key(copies []DeliveryCopy) (key string, known bool) {
	if c.Key != "" {
		return c.Key, true
	}
	for _, of := range copies {
		named := c.Seq == of.Key.Seq && c.At.Add(bindingSlack) >= of.At
		if first := recordSlot(of.IdemKey) == "" && (!known || of.IdemKey < key); named || first {
			key, known = of.IdemKey, true
		}
		if named {
			break
		}
	}
	return key, known
}

// about is what a report says of messages: all of it where it can mean one alone. What is said of several under one message id, or without any under one number
// of an attempt, is kept together: each thing is about the message that it fits at its time.
func (t *TaskFacts) about(r *ReportFacts, copies []DeliveryCopy, which func(DeliveryCopy) bool) (out ReportFacts, speaks bool) {
	out = *r
	if fits := r.fits(copies); len(fits) < 2 && (r.MsgID != "" || !t.othersMaySpeak(r.lastAt())) {
		return out, len(fits) == 1 && which(copies[fits[0]])
	}
	last := r.lastAt()
	for _, at := range out.times() {
		if !at.Known() {
			continue
		}
		if i := t.speaksOf(r, copies, *at); i >= 0 && which(copies[i]) {
			speaks = true
			continue
		}
		if *at == last { // Nobody says when the lease was told; the latest one has the highest version.
			out.Owner, out.LeaseVersion, out.LeaseExpiresAt = "", 0, 0
		}
		*at = 0
	}
	out.keepLast()
	return out, speaks
}

// keepLast takes the last times for the first where those are another message's.
func (r *ReportFacts) keepLast() {
	if r.ClaimedAt == 0 {
		r.ClaimedAt, r.LastClaimedAt = r.LastClaimedAt, 0
	}
	if r.AcceptedAt == 0 {
		r.AcceptedAt = r.LastAcceptedAt
	}
	if r.CompletedAt == 0 {
		r.CompletedAt, r.HeardAt = r.LastCompletedAt, r.LastHeardAt
	}
	if r.CompletedAt == 0 {
		r.HeardAt, r.LastHeardAt = 0, 0
	}
}

// speaksOf is the index of the message that the report is about with what it says of a time; negative when it is about none that is known, or it cannot be
// told which. The stream stores a message id again once its duplicate window is over. One without an id may be about a message of which the publish line was lost.
func (t *TaskFacts) speaksOf(r *ReportFacts, copies []DeliveryCopy, at Micros) int {
	if r.MsgID == "" && t.othersMaySpeak(at) {
		return -1
	}
	return only(r.fits(copies), func(i int) bool { return t.mayBeSpokenOf(copies[i], at) })
}

// othersMaySpeak reports whether what is said at a time and names no message may be about one that nobody knows.
func (t *TaskFacts) othersMaySpeak(at Micros) bool {
	return t.UnboundSince.Known() && at >= t.UnboundSince || t.mayHaveStored(at)
}

// reportedDone reports whether a completion was reported before a time that the message may have had.
func (t *TaskFacts) reportedDone(c DeliveryCopy, before Micros) bool {
	return slices.ContainsFunc(t.Reports, func(r ReportFacts) bool {
		its := func(at Micros) bool { return at.Known() && at < before && c.workedOnAt(at) }
		return r.by(c) && (r.MsgID == "" || r.MsgID == c.MsgID) && (its(r.CompletedAt) || its(r.LastCompletedAt))
	})
}

// fits are the messages that the report can be about, whatever its agent says of the time. One that names a further attempt than is known of a message that a worker
// may have had then may be about that: it is about none of which no attempt is known.
func (r *ReportFacts) fits(copies []DeliveryCopy) (fits []int) {
	further := r.MsgID == "" && slices.ContainsFunc(copies, func(c DeliveryCopy) bool {
		return c.Attempts > 0 && r.Attempt > c.Attempts && r.by(c) && c.workedOnAt(r.firstAt())
	})
	for i, c := range copies {
		named := r.MsgID != "" && r.MsgID == c.MsgID && !r.cameBefore(c)
		unnamed := r.MsgID == "" && r.by(c) && (r.Attempt == 0 || c.Attempts == 0 && !further || r.Attempt <= c.Attempts)
		if again := i > 0 && copies[i-1].Key == c.Key; !again && (named || unnamed) {
			fits = append(fits, i)
		}
	}
	return fits
}

// cameBefore reports whether the report came before the message was stored: it is about an earlier one of that id, which may not be known. When it came is known
// where it tells of a completion.
func (r *ReportFacts) cameBefore(c DeliveryCopy) bool {
	return r.LastHeardAt.Known() && latest(r.LastHeardAt, r.lastAt()).Add(bindingSlack) < c.At
}

// mayBeSpokenOf reports whether what is said at a time may be about the message: while it was in hand, and later where a worker may not know that it lost it. Such
// a worker lost its lease, or its message was removed, or it had an attempt before the one that ended the message; what it would say is known once its completion is.
func (t *TaskFacts) mayBeSpokenOf(c DeliveryCopy, at Micros) bool {
	return c.workedOnAt(at) || c.Attempts > 1 && c.To.Known() && c.To < at && !t.reportedDone(c, at)
}

// workedOnAt reports whether a worker may have worked on the message at a time: one whose lease ran out, or whose message was removed, may have gone on.
func (c DeliveryCopy) workedOnAt(at Micros) bool {
	if c.Lost {
		c.To = 0
	}
	return c.mayBeHeldAt(at)
}

// mayBeHeldAt reports whether a worker may have had the message at a time: it was stored by then, was not delivered first after it, and was not over. That no
// delivery of it was seen proves nothing.
func (c *DeliveryCopy) mayBeHeldAt(at Micros) bool {
	until := at.Add(bindingSlack)
	begun := len(c.Runs) == 0 || c.Runs[0].N > 1 || !c.Runs[0].Exact || c.Runs[0].By <= until
	return !c.Never && c.At <= until && begun && (!c.To.Known() || at <= c.To.Add(bindingSlack))
}

// by reports whether the report's agent is the one that the message is for. A report that names no agent contradicts none.
func (r *ReportFacts) by(c DeliveryCopy) bool { return c.mayBeOf(r.Agent) }

// mayBeOf reports whether an agent is the one that the message is for, or one whose consumer got it. No agent's name contradicts none.
func (c *DeliveryCopy) mayBeOf(agent string) bool {
	return agent == "" || c.Agent == "" || agent == c.Agent || slices.Contains(c.Workers, agent)
}

// speaker is who reports, at the beginning of a sentence.
func (r *ReportFacts) speaker() string {
	if r.By == "" {
		return "The agent"
	}
	return fmt.Sprintf("%q, in the agent's name,", r.By)
}

// times are the times of what the report says.
func (r *ReportFacts) times() []*Micros {
	return []*Micros{&r.ClaimedAt, &r.AcceptedAt, &r.BeatAt, &r.ReceiptAt, &r.CheckpointAt, &r.CompletedAt, &r.FailedAt, &r.SentAt, &r.DuplicateAt,
		&r.LastClaimedAt, &r.LastAcceptedAt, &r.LastCompletedAt}
}

// UnnamedSince is the first time from a given one on of which a report speaks that names no message, or at which such a record was stored; zero when there is none.
// Clocks may be apart.
func (t *TaskFacts) UnnamedSince(from Micros) (first Micros) {
	for _, c := range t.Completed {
		if c.Seq == 0 && c.At.Add(bindingSlack) >= from {
			first = earliest(first, c.At)
		}
	}
	for i := range t.Reports {
		for _, at := range t.Reports[i].times() {
			if t.Reports[i].MsgID == "" && at.Known() && at.Add(bindingSlack) >= from {
				first = earliest(first, *at)
			}
		}
	}
	return first
}

// firstAt is the earliest time that the report speaks of.
func (r *ReportFacts) firstAt() (first Micros) {
	for _, at := range r.times() {
		first = earliest(first, *at)
	}
	return first
}

// lastAt is the latest time that the report speaks of.
func (r *ReportFacts) lastAt() (last Micros) {
	for _, at := range r.times() {
		last = latest(last, *at)
	}
	return last
}

// only picks the single one of several, by a further condition where there is more than one; negative when that leaves none or several.
func only(fits []int, further func(int) bool) int {
	if len(fits) > 1 {
		fits = slices.DeleteFunc(fits, func(i int) bool { return !further(i) })
	}
	if len(fits) != 1 {
		return -1
	}
	return fits[0]
}

// bindingSlack is how far the clocks of a record's store, of a reporter and of the broker may be apart where their times are compared, and
// how early a poll may date that a message was missed.
const bindingSlack = 2 * time.Second
