package dlqtriage

import (
	"cmp"
	"strconv"

	"fleetglass/lifecycle"
)

// EntryOf is the entry that follows from the facts of a message and its task; false where the message did not die. What became of the message
// that followed is not in it: [Entry.Followed] adds that. The revision is the store's to fill in.
func EntryOf(m lifecycle.MessageFacts, t lifecycle.TaskFacts) (Entry, bool) {
	dead, died := lifecycle.JudgeDead(m, t)
	if !died {
		return Entry{}, false
	}
	e := Entry{ID: EntryID(m.Key), Key: m.Key, TaskID: t.ID, Agent: cmp.Or(m.Agent, t.Agent), FailedAt: dead.At, Deliveries: dead.Deliveries}
	e.name(m, t)
	e.classify(m)
	e.Path = pathOf(m, dead, e.Detail)
	if e.Reason = dead.Reason; e.Reason == "" && m.Dead == nil {
		e.Reason = e.reasonOfPath()
	}
	e.ReasonFingerprint = Fingerprint(e.Reason)
	e.decided(m)
	return e, true
}

// EntryOfHeld is the entry of a message that is copied to the dead-letter queue while it is in flight, because somebody asked for its quarantine at a
// time.
func EntryOfHeld(m lifecycle.MessageFacts, t lifecycle.TaskFacts, at lifecycle.Micros) Entry {
	e := Entry{
		ID: EntryID(m.Key), Key: m.Key, TaskID: t.ID, Agent: cmp.Or(m.Agent, t.Agent), FailedAt: at, Deliveries: m.CurrentAttempt(),
		Class: Class{Category: Unclassified}, Status: StatusActing,
	}
	e.name(m, t)
	return e
}

// name takes what the publish line says of the message, or else the dead-letter entry.
func (e *Entry) name(m lifecycle.MessageFacts, t lifecycle.TaskFacts) {
	if s := m.Stored; s != nil {
		e.MessageID, e.Subject, e.Type, e.Title, e.Generation = s.MsgID, s.Subject, cmp.Or(s.Type, t.Type), s.Title, s.Generation
		if of, err := retried(m.Key, s.RetryOf); err == nil {
			e.RetryOf = EntryID(of)
		}
	} else {
		e.Type = t.Type
	}
	if d := m.Dead; d != nil {
		e.Subject, e.Type = cmp.Or(e.Subject, d.Subject), cmp.Or(e.Type, d.Type)
		if at, err := lifecycle.ParseMessageKey(d.Entry); err == nil {
			e.DLQStream, e.DLQSeq = at.Stream.String(), at.Seq
		}
	}
}

// retried is the message that another one names as the one that it retries. The name need not say which account and domain: those of the
// message that names it.
func retried(by lifecycle.MessageKey, name string) (lifecycle.MessageKey, error) {
	k, err := lifecycle.ParseMessageKey(name)
	if k.Stream.Account == "" && k.Stream.Domain == "" {
		k.Stream.Account, k.Stream.Domain = by.Stream.Account, by.Stream.Domain
	}
	return k, err
}

// classify takes the word of a person, else that of whoever wrote the dead-letter entry, else that of the rules. An entry that says what the rules said is
// ours, or agrees: then the rule and its evidence say more.
func (e *Entry) classify(m lifecycle.MessageFacts) {
	e.Category = Unclassified
	c, d := m.Classified, m.Dead
	said := d != nil && entryClass(*d).Category != Unclassified
	ruled := c != nil && c.By == ByRules
	overruled := said && (c == nil || (ruled && (c.Rule == "" || entryClass(*d).Category != categoryOf(c.Category) || entryClass(*d).Detail != c.Detail)))
	switch {
	case c != nil && !overruled:
		e.Class = classSaid(*c)
		e.Classification = Classification{Rule: c.Rule, Evidence: c.Evidence, By: c.By, At: c.At}
	case said:
		e.Class = entryClass(*d)
		e.Classification = Classification{
			Rule: ruleEntry, By: ByRules, At: d.At, Evidence: []lifecycle.Evidence{{Source: string(sourceEntry), Text: d.Category}},
		}
	}
}

func classSaid(c lifecycle.ClassFacts) Class {
	return Class{Category: categoryOf(c.Category), Detail: c.Detail, Kind: Kind(c.Kind)}
}

// entryClass is what the writer of a dead-letter entry says of why. Some write the detail in the place of the category.
func entryClass(d lifecycle.DeadFacts) Class {
	if row, known := DetailNamed(d.Category); known {
		return row.Class
	}
	return ClassOf(categoryOf(d.Category), d.Detail)
}

// ruleEntry is the rule by which an entry has the category that is written in the broker's queue, while nobody else said why it died.
const ruleEntry = "as the dead-letter entry says"

// categoryOf is the category of that name; another name says nothing that this program knows.
func categoryOf(name string) Category {
	for _, c := range Categories() {
		if string(c) == name {
			return c
		}
	}
	return Unclassified
}

// pathOf is how the message came to be dead: as its dead-letter entry says, else as its facts prove.
func pathOf(m lifecycle.MessageFacts, dead lifecycle.DeadMessage, detail string) Path {
	if m.Dead != nil {
		for _, p := range Paths() {
			if string(p) == m.Dead.Path {
				return p
			}
		}
	}
	switch {
	case dead.State == lifecycle.StateExhausted:
		return PathMaxDeliveries
	case dead.State == lifecycle.StateTerminated && detail == DetailContextOverflow:
		return PathContextOverflow
	case dead.State == lifecycle.StateTerminated:
		return PathTerminated
	case dead.State == lifecycle.StatePublished:
		return PathFilterRejected
	}
	return ""
}

// reasonOfPath is why it died in our words, where nobody said it in theirs. The dead letter monitor writes the same into the broker's queue.
func (e *Entry) reasonOfPath() string {
	switch e.Path {
	case PathFilterRejected:
		return "no consumer takes the subject " + e.Subject
	case PathMaxDeliveries:
		return "maximum deliveries reached: it was delivered " + strconv.Itoa(e.Deliveries) + " times"
	case PathTerminated, PathContextOverflow:
		return "its worker terminated it and said no reason"
	}
	return ""
}

// DetailContextOverflow is the detail of a message that was larger than the model's context.
const DetailContextOverflow = "context_window_overflow"

// decided takes what was decided about the message.
func (e *Entry) decided(m lifecycle.MessageFacts) {
	e.Status = StatusOpen
	switch d := m.Triage; {
	case m.Acting():
		e.Status = StatusActing
		e.acted(m.Asked)
	case d != nil:
		if d.Outcome != "" {
			e.Status = Status(d.Outcome)
		}
		e.acted(d)
		if m.Asked != nil {
			e.Action, e.ActionKind = cmp.Or(e.Action, m.Asked.ActionID), cmp.Or(e.ActionKind, m.Asked.Action)
		}
		if e.Status == StatusDeferred {
			e.DeferredUntil = d.Until
		}
	}
}

func (e *Entry) acted(d *lifecycle.TriageFacts) {
	e.Action, e.ActionKind, e.Actor, e.Via, e.DecidedAt = d.ActionID, d.Action, d.Actor, d.Via, d.At
}
