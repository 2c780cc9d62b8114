package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// A completion belongs to one idempotency key and one message, and to no other (SITUATIONS, "Completion"):
//
//   - A record that names its stream sequence completes that message. One that names none completes the only message of its key that it can
//     mean: the only one there is, else the only one that a worker had at that time.
//   - A record that was stored after a message had been removed from the stream does not complete that message. Nor does one that was stored
//     up to [bindingSlack] before the removal showed: which of the two came first cannot be told, and what is in doubt is not completed.
//     For a report the time at which it came decides: what its agent says of the time may be wrong.
//   - The other messages of the key are covered: a redelivery finds the record and skips the work. Messages of another key are not touched.
//   - A report is bound by its message id, where several messages have it by its time too; without an id only where a single message fits its agent, attempt
//     and time. Completion is credited to the agent that holds or held the message.

// bound is what the task's records and reports say of one message.
type bound struct {
	recordedAt Micros        // The earliest record that completes the message; zero when none does.
	coveredAt  Micros        // The earliest completion of its key by another message; zero when there is none.
	reportedAt Micros        // When the message's agent reports that it completed; zero when it does not.
	reports    []ReportFacts // Those of its agent that speak of the message.
	conflict   bool          // Somebody who never held the message reports that it is completed.
}

// boundTo collects what the task knows of m.
func (t *TaskFacts) boundTo(m *MessageFacts) bound {
	var b bound
	if len(t.Completed) == 0 && len(t.Reports) == 0 {
		return b
	}
	copies := t.copiesWith(m)
	own := copies[slices.IndexFunc(copies, func(c DeliveryCopy) bool { return c.Key == m.Key })]
	for _, c := range t.Completed {
		switch i := c.completes(copies); {
		case i >= 0 && copies[i].Key == m.Key && m.surelyThere(c.At):
			b.recordedAt = earliest(b.recordedAt, c.At)
		case c.ofKey(own, copies):
			b.coveredAt = earliest(b.coveredAt, c.At)
		}
	}
	for _, r := range t.Reports {
		b.take(&r, m, own, copies)
	}
	return b
}

// take adds what a report says of m.
func (b *bound) take(r *ReportFacts, m *MessageFacts, own DeliveryCopy, copies []DeliveryCopy) {
	of := func(at Micros) bool {
		i := r.speaksOf(copies, at)
		return i >= 0 && copies[i].Key == m.Key
	}
	if r.by(own) && of(r.firstAt()) {
		b.reports = append(b.reports, *r)
	}
	if !r.CompletedAt.Known() {
		return
	}
	for _, c := range []struct{ at, by Micros }{{r.CompletedAt, r.completedBy()}, {r.LastCompletedAt, r.lastCompletedBy()}} {
		switch {
		case !of(c.at):
		case !r.by(own):
			b.conflict = true
		case m.surelyThere(c.by):
			b.reportedAt = earliest(b.reportedAt, c.at)
		}
	}
}

// surelyThere reports whether a record was stored, or a report came, before the message was removed. The broker says of a removal later than it
// happens, and whoever took the record or the report may have another clock. A message that was only missed may have left by an answer.
func (m *MessageFacts) surelyThere(at Micros) bool {
	return !m.VanishedAt.Known() || (m.goneUnexplained() && at <= m.goneBy()) || at.Add(bindingSlack) <= m.VanishedAt
}

// copiesWith lists each message of the task once, m included.
func (t *TaskFacts) copiesWith(m *MessageFacts) []DeliveryCopy {
	out := slices.CompactFunc(slices.Clone(t.Copies), func(a, b DeliveryCopy) bool { return a.Key == b.Key })
	if !slices.ContainsFunc(out, func(c DeliveryCopy) bool { return c.Key == m.Key }) {
		out = append(out, copiesOf(m, Verdict{})[0])
	}
	return out
}

// completes is the index of the message that the record completes; negative when it completes none, or it cannot be told which.
func (c *Completed) completes(copies []DeliveryCopy) int {
	var fits []int
	for i := range copies {
		if c.ofKey(copies[i], copies) && (c.Seq == 0 || c.Seq == copies[i].Key.Seq) {
			fits = append(fits, i)
		}
	}
	i := only(fits, func(i int) bool { return copies[i].heldAt(c.At) })
	if i < 0 || (copies[i].Gone.Known() && c.At > copies[i].Gone) {
		return -1
	}
	return i
}

// ofKey reports whether the record is about the idempotency key of a message. A record that names no key is about the least key of its
// task, which is that of the first version.
func (c *Completed) ofKey(of DeliveryCopy, copies []DeliveryCopy) bool {
	if c.Key != "" {
		return of.IdemKey == "" || of.IdemKey == c.Key
	}
	least := slices.MinFunc(copies, func(a, b DeliveryCopy) int { return compareText(a.IdemKey, b.IdemKey) })
	return of.IdemKey == least.IdemKey
}

// speaksOf is the index of the message that the report is about with what it says of a time; negative when it is about none that is known, or it cannot be
// told which. The stream stores a message id again once its duplicate window is over.
func (r *ReportFacts) speaksOf(copies []DeliveryCopy, at Micros) int {
	var fits []int
	for i, c := range copies {
		switch {
		case r.MsgID != "" && r.MsgID != c.MsgID:
		case r.MsgID != "" || (r.by(c) && (r.Attempt == 0 || r.Attempt <= max(c.Attempts, 1))):
			fits = append(fits, i)
		}
	}
	return only(fits, func(i int) bool { return copies[i].heldAt(at) })
}

// heldAt reports whether a worker may have had the message at a time: it was stored by then, was delivered at some time, and was not over.
func (c *DeliveryCopy) heldAt(at Micros) bool {
	return c.Attempts > 0 && c.At <= at.Add(bindingSlack) && (!c.To.Known() || at <= c.To.Add(bindingSlack))
}

// by reports whether the report's agent is the one that the message is for. A report that names no agent contradicts none.
func (r *ReportFacts) by(c DeliveryCopy) bool {
	return r.Agent == "" || c.Agent == "" || r.Agent == c.Agent || slices.Contains(c.Workers, r.Agent)
}

// sameAttempt reports whether two reports are about one attempt, whoever sent them.
func (r *ReportFacts) sameAttempt(o *ReportFacts) bool {
	return r.MsgID == o.MsgID && r.Attempt == o.Attempt && r.Agent == o.Agent
}

// speaker is who reports, at the beginning of a sentence.
func (r *ReportFacts) speaker() string {
	if r.By == "" {
		return "The agent"
	}
	return fmt.Sprintf("%q, in the agent's name,", r.By)
}

// firstAt is the earliest time that the report speaks of.
func (r *ReportFacts) firstAt() Micros {
	var at Micros
	for _, x := range []Micros{r.ClaimedAt, r.AcceptedAt, r.BeatAt, r.ReceiptAt, r.CheckpointAt, r.CompletedAt, r.FailedAt, r.SentAt, r.DuplicateAt} {
		at = earliest(at, x)
	}
	return at
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
