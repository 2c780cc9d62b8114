package dlqtriage

import (
	"cmp"
	"fmt"
	"slices"

	"fleetglass/lifecycle"
)

// recoveryRow is a row of the table of recovery.
type recoveryRow struct {
	rule       string
	remedy     Remedy     // Empty where the policy says it.
	confidence Confidence // Where all of its time was observed.
	unknown    bool       // [Recovery.Unknown].
	holds      func(*RecoveryCase) bool
	why        string
	changes    []string
}

// The rows of a completion that is recorded.
const (
	ruleRecorded   = "completion_recorded"
	ruleRecordGone = "completion_record_gone"
)

// Whether there may be effects that nobody confirmed.
const (
	effectsKnown   = false
	effectsUnknown = true
)

// recoveryTable is the table of SPEC 3. The first row that holds gives the decision. An intent is open while no receipt of it is known. A checkpoint covers what came
// before it, and steps that go on from checkpoints; what was announced after it may have happened.
var recoveryTable = [...]recoveryRow{
	{ruleRecorded, RemedyReconcile, ConfidenceHigh, effectsKnown, func(c *RecoveryCase) bool { return c.recorded() && c.Completion.Findable },
		"Its completion is recorded: a redelivery finds the record and skips the work.",
		[]string{"If the record is deleted or expires before the redelivery, the work is run again."}},
	{ruleRecordGone, RemedyReconcile, ConfidenceHigh, effectsKnown, (*RecoveryCase).recorded,
		"Its completion was recorded, and that record is gone: a redelivery may run the work again.",
		[]string{"A worker that finds the record skips the work: write it again before the redelivery."}},
	{"completion_reported", RemedyReconcile, ConfidenceMedium, effectsUnknown, (*RecoveryCase).reported,
		"Its agent reports that it is completed, and no record was seen: check what it did before anything is run again.",
		[]string{"A completion record would prove it."}},
	{"completed_by_other_task", RemedyReconcile, ConfidenceMedium, effectsUnknown, (*RecoveryCase).doneElsewhere,
		"Another task with the same idempotency key completed this work: check what it did before anything is run again.",
		[]string{"A check that finds that the other task did other work."}},
	{"acknowledged_by_other_task", RemedyReconcile, ConfidenceMedium, effectsUnknown, (*RecoveryCase).ackedElsewhere,
		"Another task with the same idempotency key was acknowledged, so its worker may have done this work: check that first.",
		[]string{"A completion record of the other task would prove it.", "A check that finds that the other task did not do the work."}},
	{"every_intent_has_receipt", RemedyResume, ConfidenceMedium, effectsKnown, (*RecoveryCase).allConfirmed,
		"Every effect that was announced is confirmed: the work can go on after the last receipt.",
		[]string{"An intent without a receipt would make this depend on the class of its step."}},
	{"checkpoint", RemedyResume, ConfidenceMedium, effectsKnown, (*RecoveryCase).coveredByCheckpoint,
		"The agent reports a durable checkpoint, and nothing that may not be repeated was announced after it.",
		[]string{"An intent after the checkpoint, of a step that may not be repeated, would lead to quarantine."}},
	{"repeatable_type", RemedyRetry, ConfidenceMedium, effectsKnown, (*RecoveryCase).repeatableType,
		"No effect was announced, and the policy says that the steps of its type may be repeated.",
		[]string{"A reported intent of a step of another class."}},
	{"open_intent_keyed", RemedyRetry, ConfidenceMedium, effectsKnown, (*RecoveryCase).openRepeatable,
		"An effect was announced and not confirmed. Its step has a strong key: repeated with the same key it has its effect once.",
		[]string{"A receipt would let the work resume instead.", "A key that differs from attempt to attempt would make the retry unsafe."}},
	{"open_intent_lookup", RemedyReconcile, ConfidenceMedium, effectsUnknown, (*RecoveryCase).openLookup,
		"An effect was announced and not confirmed. It can be looked up: do that first.",
		[]string{"A receipt, or a check that finds the effect, lets the work resume; a check that finds none lets it be retried."}},
	{"open_intent", RemedyQuarantine, ConfidenceMedium, effectsUnknown, (*RecoveryCase).open,
		"An effect was announced and not confirmed, and its step may not be repeated: it may have happened.",
		[]string{"A receipt or an entry of the side-effect log.", "A step class that is keyed or lookup, in reports or in the policy."}},
	{"record_deleted_unread", RemedyReconcile, ConfidenceLow, effectsUnknown, func(c *RecoveryCase) bool { return c.Completion.UnreadAt.Known() },
		"Its idempotency record was deleted or has expired, and was not read before: its work may have been done.",
		[]string{"A check that finds the effect, or finds none.", "Reports of intents and receipts, a checkpoint, or a completion record."}},
	{"completion_unbound", RemedyReconcile, ConfidenceLow, effectsUnknown, func(c *RecoveryCase) bool { return c.Completion.UnboundAt.Known() },
		"Its agent reports that a message of the task is completed, and nothing tells which one: its work may have been done.",
		[]string{"A report that names its message, or a completion record.", "A check that finds the effect, or finds none."}},
	{"default_of_type", "", ConfidenceLow, effectsKnown, (*RecoveryCase).hasDefault,
		"Nothing is known of its effects; the policy has a default for its type.",
		[]string{"Reports of intents and receipts, a checkpoint, or a completion record."}},
	{"nothing_known", RemedyQuarantine, ConfidenceLow, effectsUnknown, func(*RecoveryCase) bool { return true },
		"Nothing is known of its effects, and the policy has no default for its type.",
		[]string{"Reports of intents and receipts, a checkpoint, or a completion record.", "A class or a default for its type in the policy (recovery.types)."}},
}

// RecoveryRules lists the ids of the rows in their order.
func RecoveryRules() []string {
	out := make([]string, len(recoveryTable))
	for i, row := range recoveryTable {
		out[i] = row.rule
	}
	return out
}

func (c *RecoveryCase) recorded() bool {
	return c.Completion.RecordedAt.Known() || c.Completion.CoveredAt.Known()
}

func (c *RecoveryCase) reported() bool { return c.Completion.ReportedAt.Known() }

// doneElsewhere reports whether another task with its key did the work. Those that did come first.
func (c *RecoveryCase) doneElsewhere() bool { return len(c.Sharers) > 0 && c.Sharers[0].Proved }

func (c *RecoveryCase) ackedElsewhere() bool {
	return len(c.Sharers) > 0 && c.Sharers[0].DoneAt.Known()
}

func (c *RecoveryCase) allConfirmed() bool {
	return len(c.Intents) > 0 && !c.open()
}

func (c *RecoveryCase) coveredByCheckpoint() bool {
	return c.Checkpoint.Known() && !c.Cut && c.all(func(i Intent) bool { return i.BeforePoint || i.Class.repeatable() || i.Class == StepCheckpointed })
}

func (c *RecoveryCase) repeatableType() bool {
	return len(c.Intents) == 0 && c.Policy.Class.repeatable()
}

func (c *RecoveryCase) openRepeatable() bool {
	return c.open() && !c.Cut && c.all(func(i Intent) bool { return i.Class.repeatable() })
}

func (c *RecoveryCase) openLookup() bool {
	return c.open() && !c.Cut && c.all(func(i Intent) bool { return i.Class.repeatable() || i.Class == StepLookup })
}

// open reports whether an effect was announced of which no receipt is known, or may have been.
func (c *RecoveryCase) open() bool {
	return c.Cut || slices.ContainsFunc(c.Intents, func(i Intent) bool { return i.Open })
}

func (c *RecoveryCase) hasDefault() bool { return len(c.Intents) == 0 && c.Policy.Default != "" }

// all reports whether something holds for every open intent.
func (c *RecoveryCase) all(holds func(Intent) bool) bool {
	return !slices.ContainsFunc(c.Intents, func(i Intent) bool { return i.Open && !holds(i) })
}

// Decide gives the decision of the first row that holds. It is a pure function.
func (c RecoveryCase) Decide() Recovery {
	for _, row := range recoveryTable {
		if row.holds(&c) {
			return c.decided(row)
		}
	}
	panic("the last row always holds")
}

func (c *RecoveryCase) decided(row recoveryRow) Recovery {
	r := Recovery{
		Remedy: cmp.Or(row.remedy, c.Policy.Default), Rule: row.rule, Confidence: row.confidence,
		Reasons: []string{row.why}, Changes: row.changes, Evidence: c.evidence(),
	}
	if r.Confidence != ConfidenceHigh && (c.Blind || c.Cut) {
		r.Confidence = ConfidenceLow
	}
	if c.Cut {
		r.Reasons = append(r.Reasons, "More effects were announced than are kept, so not all of them can be looked at.")
	}
	if len(c.Sharers) > 0 && !c.ackedElsewhere() {
		r.Reasons = append(r.Reasons, "Another task has the same idempotency key, and is not known to be done: the work may be done under both names.")
	}
	if c.Blind {
		r.Reasons = append(r.Reasons, "Part of its time was not observed: reports may have been missed.")
	}
	r.Unknown = row.unknown || r.Remedy == RemedyQuarantine || (row.remedy == "" && r.Remedy == RemedyReconcile)
	return r
}

// maxRecoveryEvidence bounds the intents that a decision lists: the open ones first.
const maxRecoveryEvidence = 12

// evidence lists what is known, the strongest first.
func (c *RecoveryCase) evidence() []RecoveryEvidence {
	var out []RecoveryEvidence
	add := func(is bool, e RecoveryEvidence) {
		if is {
			out = append(out, e)
		}
	}
	d := c.Completion
	add(d.RecordedAt.Known(), RecoveryEvidence{Text: "A completion record of this message.", Provenance: lifecycle.Recorded, At: d.RecordedAt})
	add(d.CoveredAt.Known(), RecoveryEvidence{Text: "A completion record of the same idempotency key, by another message.", Provenance: lifecycle.Recorded, At: d.CoveredAt})
	add(d.UnreadAt.Known(), RecoveryEvidence{Text: "A record of the idempotency key was deleted or has expired, and was not read before.", Provenance: lifecycle.Recorded, At: d.UnreadAt})
	add(d.UnboundAt.Known(), RecoveryEvidence{Text: "The agent reports completion, and not of which message.", Provenance: lifecycle.Reported, At: d.UnboundAt})
	add(d.ReportedAt.Known(), RecoveryEvidence{Text: "The agent reports completion.", Provenance: lifecycle.Reported, At: d.ReportedAt})
	for _, s := range c.Sharers {
		out = append(out, RecoveryEvidence{Text: s.Words(), Provenance: lifecycle.Inferred, At: s.DoneAt, Task: s.Task})
	}
	add(c.Checkpoint.Known(), RecoveryEvidence{Text: "The agent reports a checkpoint.", Provenance: lifecycle.Reported, At: c.Checkpoint.At, Event: c.Checkpoint.ID})
	intents := slices.Clone(c.Intents)
	slices.SortStableFunc(intents, func(a, b Intent) int {
		if a.Open == b.Open {
			return cmp.Compare(b.Intent.At, a.Intent.At)
		}
		if a.Open {
			return -1
		}
		return 1
	})
	for _, i := range intents[:min(len(intents), maxRecoveryEvidence)] {
		out = append(out, i.evidence())
	}
	add(len(out) == 0, RecoveryEvidence{Text: "No intent, receipt, checkpoint or completion record is known.", Provenance: lifecycle.Inferred})
	add(c.Policy.Class != "", RecoveryEvidence{Text: fmt.Sprintf("The policy says that steps of type %q are %s.", c.Type, c.Policy.Class), Provenance: lifecycle.Recorded})
	add(c.Policy.Default != "", RecoveryEvidence{Text: fmt.Sprintf("The policy's default for type %q is %s.", c.Type, c.Policy.Default), Provenance: lifecycle.Recorded})
	return out
}

func (i Intent) evidence() RecoveryEvidence {
	what := "Step"
	if i.Outbound {
		what = "Outgoing message"
	}
	name := fmt.Sprintf("%s %q", what, cmp.Or(i.Step, "unnamed"))
	if i.Tool != "" {
		name += fmt.Sprintf(" (%q)", i.Tool)
	}
	switch {
	case i.Logged != nil && !i.Confirmed():
		return RecoveryEvidence{Text: name + ": the side-effect log has its effect.", Provenance: lifecycle.Recorded, At: i.Logged.At, Event: i.Logged.ID}
	case i.Open && i.Stranger:
		return RecoveryEvidence{
			Text:       fmt.Sprintf("%s was announced by agent %q, which is not known to have had the message: it may be no effect of this work.", name, i.Agent),
			Provenance: lifecycle.Reported, At: i.Intent.At, Event: i.Intent.ID,
		}
	case i.Open:
		return RecoveryEvidence{Text: fmt.Sprintf("%s of class %s was announced; no receipt is known.", name, i.Class), Provenance: lifecycle.Reported, At: i.Intent.At, Event: i.Intent.ID}
	case !i.Receipt.Known():
		return RecoveryEvidence{Text: name + " was confirmed in a later message.", Provenance: lifecycle.Reported, At: i.Intent.At, Event: i.Intent.ID}
	}
	return RecoveryEvidence{Text: name + " is confirmed.", Provenance: lifecycle.Reported, At: i.Receipt.At, Event: i.Receipt.ID}
}
