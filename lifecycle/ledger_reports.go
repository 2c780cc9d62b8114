package lifecycle

import (
	"cmp"
	"iter"
	"slices"
)

// What reports say to the ledger. One that does not name its message or its attempt may be about one that another finding is about: it counts only where it
// cannot be.

// believed is the task without the reports of agents that never had the message that they are about, and without those of attempts that nothing but reports
// shows: whoever reports can write any number, and each would be one more run, or one more that was saved. So can one write any message id: a report that names a
// message that nobody knows is one that names none.
func (t *TaskFacts) believed() *TaskFacts {
	doubtful := func(r ReportFacts) bool { return !t.MayHaveHad(r.Agent, r.MsgID) || r.ofUnseen(t.Copies) }
	strange := func(r ReportFacts) bool { return t.ofUnknown(&r) }
	stranger := func(i IntentFacts) bool { return !t.MayHaveHad(i.Agent, i.MsgID) }
	reports := slices.ContainsFunc(t.Reports, func(r ReportFacts) bool { return doubtful(r) || strange(r) })
	intents := slices.ContainsFunc(t.Intents, stranger)
	if !reports && !intents {
		return t
	}
	out := *t
	if reports {
		out.Reports = slices.DeleteFunc(slices.Clone(t.Reports), doubtful)
	}
	for i := range out.Reports {
		if reports && strange(out.Reports[i]) {
			out.Reports[i].MsgID = ""
		}
	}
	if intents {
		out.Intents = slices.DeleteFunc(slices.Clone(t.Intents), stranger)
	}
	return &out
}

// unknownID reports whether none of the task's known messages has that id.
func (t *TaskFacts) unknownID(msgID string) bool {
	return msgID != "" && len(t.Copies) > 0 && !slices.ContainsFunc(t.Copies, func(c DeliveryCopy) bool { return c.MsgID == msgID })
}

// ofUnknown reports whether a report names a message, and none that is known: an earlier one may have had the id of one that is.
func (t *TaskFacts) ofUnknown(r *ReportFacts) bool {
	return r.MsgID != "" && len(t.Copies) > 0 && len(r.fits(t.Copies)) == 0
}

// besideUnknownID adds that an agent reports completion of a message that is not known, beside that of one that is: it may have run again, or names what it has by
// another id. A record or a report that may be about the unknown message too does not count as that of a known one.
func (t *TaskFacts) besideUnknownID(cases []Case) []Case {
	beside := Case{Layer: LayerUnknown, N: 1, Why: "The agent reports completion of a message that is not known, and nothing tells whether it ran again."}
	known := slices.ContainsFunc(t.Completed, t.ofKnown)
	for r := range t.Credible() {
		switch {
		case !r.CompletedAt.Known() || r.By != "":
		case t.ofUnknown(r):
			beside.At = latest(beside.At, r.CompletedAt)
		case r.MsgID != "":
			known = true
		}
	}
	told := slices.ContainsFunc(cases, func(c Case) bool { return c.Layer == LayerExecution || c.Layer == LayerUnknown })
	if known && beside.At.Known() && !told {
		cases = append(cases, beside)
	}
	return cases
}

// ofKnown reports whether a record is surely about one of the task's known messages.
func (t *TaskFacts) ofKnown(d Completed) bool {
	return slices.ContainsFunc(t.Copies, func(c DeliveryCopy) bool { return c.Key.Seq == d.Seq || d.Seq == 0 && c.Attempts > 0 })
}

// Credible yields the reports of agents that may have had the message that they are about: any agent may report about any task.
func (t *TaskFacts) Credible() iter.Seq[*ReportFacts] {
	return func(yield func(*ReportFacts) bool) {
		for i := range t.Reports {
			if r := &t.Reports[i]; t.MayHaveHad(r.Agent, r.MsgID) && !yield(r) {
				return
			}
		}
	}
}

// concerns reports whether one of the task's messages is the agent's. Where no message is known it may be.
func (t *TaskFacts) concerns(agent string) bool { return t.MayHaveHad(agent, "") }

// ofUnseen reports whether the report names an attempt beyond the first that neither the wire nor the broker shows of any message that it can be about.
func (r *ReportFacts) ofUnseen(copies []DeliveryCopy) bool {
	return r.Attempt > 1 && !slices.ContainsFunc(copies, func(c DeliveryCopy) bool {
		return (r.MsgID == "" || r.MsgID == c.MsgID) && r.Attempt <= c.Attempts
	})
}

// contradicted reports whether somebody who never had a message reports that it is completed.
func (t *TaskFacts) contradicted() bool {
	return slices.ContainsFunc(t.Reports, func(r ReportFacts) bool { return r.CompletedAt.Known() && r.byStranger(t.Copies) })
}

// byStranger reports whether the report names a message that others had.
func (r *ReportFacts) byStranger(copies []DeliveryCopy) bool {
	if r.MsgID == "" {
		return false
	}
	fits := r.fits(copies)
	return len(fits) > 0 && !slices.ContainsFunc(fits, func(i int) bool { return r.by(copies[i]) || !copies[i].takerKnown() })
}

// takerKnown reports whether it is known who had the message, or that nobody had: until then the consumer of whoever reports may have got it.
func (c *DeliveryCopy) takerKnown() bool { return c.Attempts > 0 || c.Never }

// mayBe reports whether two reports can be about one attempt, whoever sent them.
func (r *ReportFacts) mayBe(o *ReportFacts) bool {
	message := r.MsgID == o.MsgID || r.MsgID == "" || o.MsgID == ""
	attempt := r.Attempt == o.Attempt || r.Attempt == 0 || o.Attempt == 0
	agent := r.Agent == o.Agent || r.Agent == "" || o.Agent == "" || (r.MsgID != "" && r.MsgID == o.MsgID)
	return message && attempt && agent
}

// mayBeOf reports whether the report can be about an attempt of a message.
func (r *ReportFacts) mayBeOf(c DeliveryCopy, attempt int) bool {
	return (r.MsgID == "" || r.MsgID == c.MsgID) && (r.Attempt == 0 || r.Attempt == attempt)
}

// reportedCompletions is of how many attempts completion is reported, at least, and when the last report of one was. Where several consumers take a message each of
// their agents is to do the work: then the agent counts that reports the most.
func (t *TaskFacts) reportedCompletions() (n int, last Micros) {
	if !t.several() {
		return t.completionsSaid(func(*ReportFacts) bool { return true })
	}
	for _, of := range t.Reports {
		most, at := t.completionsSaid(func(r *ReportFacts) bool { return r.Agent == of.Agent })
		if most > n {
			n, last = most, at
		}
	}
	return n, last
}

// several reports whether several consumers take a message of the task, each of whose workers is to do it.
func (t *TaskFacts) several() bool {
	return slices.ContainsFunc(t.Copies, DeliveryCopy.several)
}

// several reports whether several consumers take the message.
func (c DeliveryCopy) several() bool { return len(c.Workers) > 1 }

func (t *TaskFacts) completionsSaid(counts func(*ReportFacts) bool) (n int, last Micros) {
	var counted []*ReportFacts
	for _, r := range t.mostExactFirst() {
		if !r.CompletedAt.Known() || !counts(r) {
			continue
		}
		last = latest(last, r.CompletedAt)
		if !slices.ContainsFunc(counted, r.mayBe) {
			counted = append(counted, r)
		}
	}
	return len(counted), last
}

// mostExactFirst are the reports, those first that name both their message and their attempt, then those that name their message.
func (t *TaskFacts) mostExactFirst() (out []*ReportFacts) {
	for i := range t.Reports {
		out = append(out, &t.Reports[i])
	}
	vague := func(r *ReportFacts) (n int) {
		if r.MsgID == "" {
			n += 2
		}
		if r.Attempt == 0 {
			n++
		}
		return n
	}
	slices.SortStableFunc(out, func(a, b *ReportFacts) int { return cmp.Compare(vague(a), vague(b)) })
	return out
}

// saidCaught reports whether the agent said of this very attempt that it caught a duplicate.
func (t *TaskFacts) saidCaught(c DeliveryCopy) bool {
	return slices.ContainsFunc(t.Reports, func(r ReportFacts) bool {
		return r.MsgID == c.MsgID && r.Attempt == c.Attempt && t.tells(c, r.DuplicateAt)
	})
}

// reportedCaught adds the duplicates that agents report to have caught to what was found. One that does not name its attempt is no further one where it may be
// about an attempt that is among them, and it settles what became of that where no other can be meant. There are no more further ones than deliveries are known beside
// those that did the work or are among what was found: a saving is never counted on an agent's word alone.
func (t *TaskFacts) reportedCaught(found []Case) []Case {
	var counted []*ReportFacts
	for _, r := range t.mostExactFirst() {
		if !r.DuplicateAt.Known() || slices.ContainsFunc(counted, r.mayBe) {
			continue
		}
		counted = append(counted, r)
		said := Case{Layer: LayerIdempotency, At: r.DuplicateAt, N: 1, Message: t.keyOf(r.MsgID), Attempt: r.Attempt, Why: "The agent reports that it caught a duplicate."}
		fits := t.sameRepeats(r, found)
		switch {
		case len(fits) == 0 && t.unaccounted(found) > 0:
			found = append(found, said)
		case len(fits) == 1 && near(found[fits[0]].At, r.DuplicateAt):
			said.Message, said.Attempt = found[fits[0]].Message, found[fits[0]].Attempt
			found[fits[0]] = said
		}
	}
	return found
}

// unaccounted is how many known deliveries may have been repeats of which nothing was found yet: one of them did the work, where a record names its message, or the work
// was done since the first message that is known to have been delivered was stored.
func (t *TaskFacts) unaccounted(found []Case) int {
	n, since := t.delivered(), t.firstDelivered()
	recorded := func(d Completed) bool {
		if i := t.completes(d, t.Copies); d.Seq != 0 && i >= 0 {
			return t.Copies[i].Attempts > 0
		}
		return d.At >= since.Add(-t.recordSlack())
	}
	reported := func(r ReportFacts) bool {
		return r.CompletedAt.Known() && r.completedBy() >= since.Add(-bindingSlack)
	}
	if slices.ContainsFunc(t.Completed, recorded) || slices.ContainsFunc(t.Reports, reported) {
		n--
	}
	for _, c := range found {
		if c.Layer == LayerIdempotency || c.Layer == LayerExecution {
			n -= c.N
		}
	}
	return n
}

// firstDelivered is when the first of the messages was stored of which a delivery is known; zero where that was not seen of one of them.
func (t *TaskFacts) firstDelivered() (at Micros) {
	for _, c := range t.Copies {
		if c.Attempts > 0 && !c.At.Known() {
			return 0
		}
		if c.Attempts > 0 {
			at = earliest(at, c.At)
		}
	}
	return at
}

// sameRepeats are the findings that a report may speak of: they are about attempts of which nobody said that they ran. Where messages have the same id, they are
// about one that a worker had when it reported.
func (t *TaskFacts) sameRepeats(r *ReportFacts, found []Case) (fits []int) {
	for i, c := range found {
		open := c.Attempt > 0 && (c.Layer == LayerIdempotency || c.Layer == LayerUnknown)
		of := slices.IndexFunc(t.Copies, func(o DeliveryCopy) bool { return o.Key == c.Message && o.Attempt == c.Attempt })
		if open && of >= 0 && r.mayBeOf(t.Copies[of], c.Attempt) && t.tells(t.Copies[of], r.DuplicateAt) {
			fits = append(fits, i)
		}
	}
	return fits
}

// near reports whether two times are no further apart than clocks may be.
func near(a, b Micros) bool { return a <= b.Add(bindingSlack) && b <= a.Add(bindingSlack) }
