package lifecycle

import (
	"maps"
	"slices"
)

// AnomalyCode names a surprising set of facts. An anomaly is shown, never an error, and nothing is dropped because of it.
type AnomalyCode string

// The anomalies.
const (
	AnomalyLateAck            AnomalyCode = "late_ack"            // An older attempt acknowledged after a newer one began: a fenced-out worker (zombie).
	AnomalyAckRefuted         AnomalyCode = "ack_refuted"         // An acknowledgement was seen, yet the message was still in the stream later.
	AnomalyAckUnproved        AnomalyCode = "ack_unproved"        // An answer was seen, and the broker's state does not prove that it had effect.
	AnomalyAckedAndDead       AnomalyCode = "acked_and_dead"      // Acknowledged and dead-lettered.
	AnomalyCompletedAndDead   AnomalyCode = "completed_and_dead"  // Completion recorded, yet exhausted or dead-lettered.
	AnomalyOrphaned           AnomalyCode = "orphaned"            // No consumer's filter matches the subject.
	AnomalyPublishUnseen      AnomalyCode = "publish_unseen"      // The publish line was not seen; the body may be missing.
	AnomalyForged             AnomalyCode = "forged"              // Lines about one message contradict each other, or the broker's own state.
	AnomalyNotStored          AnomalyCode = "not_stored"          // A publish attempt stored nothing, or the line of what it stored was lost in a gap.
	AnomalyPublishRefused     AnomalyCode = "publish_refused"     // No message that a publish stored is known, and none could have swallowed it.
	AnomalyClockSkew          AnomalyCode = "clock_skew"          // A time lies before one that must precede it.
	AnomalyConsumerRecreated  AnomalyCode = "consumer_recreated"  // Attempt numbers started again.
	AnomalySilentAttempt      AnomalyCode = "silent_attempt"      // At least one attempt never answered.
	AnomalyVanished           AnomalyCode = "vanished"            // Gone from the stream without proof.
	AnomalyAckAfterTerm       AnomalyCode = "ack_after_term"      // Both acknowledged and terminated.
	AnomalyEffectAfterFailure AnomalyCode = "completed_not_acked" // Completion recorded, and the message ended without an acknowledgement.
	AnomalyConflictingReport  AnomalyCode = "conflicting_report"  // Somebody who is not known to have had the message reports that it is completed.
	AnomalyEntryUnproved      AnomalyCode = "entry_unproved"      // A dead-letter entry names the message, and what is known of the message contradicts it.
	AnomalyDiedBesideAck      AnomalyCode = "died_beside_ack"     // One workers' consumer acknowledged the message, and it died in the hands of another.
	AnomalyOlderAtWork        AnomalyCode = "older_at_work"       // An older message of the task is in a worker's hands after the newest ended.

	// The findings of the duplicate ledger, so that lists can be narrowed to them.
	AnomalyCaughtByIdempotency AnomalyCode = "caught_by_idempotency" // Delivered again after completion, and not run again.
	AnomalyReachedExecution    AnomalyCode = "reached_execution"     // Ran again after completion.
	AnomalyDuplicateUnknown    AnomalyCode = "duplicate_unknown"     // More than one delivery was worked on or answered, and nothing tells whether it ran more than once.
	AnomalyKeyConflict         AnomalyCode = "key_conflict"          // One idempotency key with different payloads.
	AnomalySharedKey           AnomalyCode = "shared_key"            // Another task has a message with the same idempotency key.
	AnomalySemanticDuplicate   AnomalyCode = "semantic_duplicate"    // The same tool call under different step ids.
)

// layerAnomalies are the anomalies by which the cases of a layer are found. Those of the stream have a column of their own.
var layerAnomalies = map[Layer]AnomalyCode{
	LayerIdempotency: AnomalyCaughtByIdempotency, LayerExecution: AnomalyReachedExecution, LayerUnknown: AnomalyDuplicateUnknown,
	LayerConflict: AnomalyKeyConflict, LayerSemantic: AnomalySemanticDuplicate,
}

// Anomaly is the code that a task with a finding of the layer has; "" for the layer of the stream, whose findings are counted in
// [TaskSummary.Duplicates].
func (l Layer) Anomaly() AnomalyCode { return layerAnomalies[l] }

// CasesFilter selects the tasks behind a number of the ledger.
func CasesFilter(l Layer) Filter {
	if l == LayerStream {
		return Filter{Duplicates: true, Sort: SortLastEventDesc}
	}
	return Filter{Anomalies: []AnomalyCode{layerAnomalies[l]}, Sort: SortLastEventDesc}
}

var anomalyMeaning = map[AnomalyCode]string{
	AnomalyLateAck:            "An older attempt acknowledged after a newer one began: that worker had lost its lease.",
	AnomalyAckRefuted:         "An acknowledgement was seen, yet the message was still in the stream later: it had no effect.",
	AnomalyAckUnproved:        "An acknowledgement was seen, and the broker's state does not prove that it had effect: it counts for nothing until it is proved or refuted.",
	AnomalyAckedAndDead:       "The message was acknowledged and also has a dead-letter entry. Retrying the entry may repeat the effect.",
	AnomalyCompletedAndDead:   "Completion is recorded, yet the message died. Retrying it may repeat the effect.",
	AnomalyOrphaned:           "No consumer's filter matches the subject: no consumer delivers this message for the first time until one does.",
	AnomalyPublishUnseen:      "The publish line was not captured; subject, body and publish time may be missing.",
	AnomalyForged:             "Somebody sent what only the broker sends. Of publish lines that differ what the stream holds counts, else the line that came first, and the other is in quarantine; an advisory that the broker's state contradicts does not count.",
	AnomalyNotStored:          "A publish was attempted and no stored message was seen to follow.",
	AnomalyPublishRefused:     "No message that a publish stored is known, and none of its id could have swallowed it: the stream refused it, or its line was lost.",
	AnomalyClockSkew:          "A time lies before one that must precede it: some clock is off.",
	AnomalyConsumerRecreated:  "The consumer was created again, or reset: its attempt numbers started again.",
	AnomalySilentAttempt:      "At least one attempt never answered.",
	AnomalyVanished:           "The message left the stream and nothing seen explains it.",
	AnomalyAckAfterTerm:       "The message was acknowledged and also terminated: what came first ended it.",
	AnomalyEffectAfterFailure: "Completion is recorded, and the message left without an acknowledgement.",
	AnomalyConflictingReport:  "An agent that is not known to have had the message reports that it is completed: the report does not count.",
	AnomalyEntryUnproved:      "A dead-letter entry names this message, but the message lives, or it is of another task or subject: the entry does not count.",
	AnomalyDiedBesideAck:      "It died in the hands of one consumer's workers, and those of another acknowledged it. Published again, both get it again.",
	AnomalyOlderAtWork:        "The newest message has ended, and an older one of the task is in a worker's hands.",

	AnomalyCaughtByIdempotency: "It was delivered again after completion, and the worker did not run it again.",
	AnomalyReachedExecution:    "It ran again after completion: a duplicate reached execution.",
	AnomalyDuplicateUnknown:    "More than one delivery of it was worked on or answered, and nothing tells whether it ran more than once.",
	AnomalyKeyConflict:         "One idempotency key stands for different payloads.",
	AnomalySharedKey:           "Another task has a message with the same idempotency key: one piece of work may be done under both names.",
	AnomalySemanticDuplicate:   "The same tool was called with the same input under different step ids.",
}

// Meaning is one sentence for people.
func (c AnomalyCode) Meaning() string { return anomalyMeaning[c] }

// AnomalyCodes lists all codes, in the order of the alphabet.
func AnomalyCodes() []AnomalyCode { return slices.Sorted(maps.Keys(anomalyMeaning)) }

// skewTolerance is how far apart two clocks of one fleet may be before it is worth a remark.
const skewTolerance = Micros(2_000_000)

// anomalies lists what is surprising about a task: cases are its findings in the ledger, ev the evidence about its newest message, nil
// where none is known, attempts and state those of that message.
func anomalies(t *TaskFacts, cases []Case, ev *evidence, attempts []Attempt, state State) []AnomalyCode {
	var out []AnomalyCode
	note := func(c AnomalyCode, holds bool) {
		if holds {
			out = append(out, c)
		}
	}
	owner, _ := t.owner()
	note(AnomalyNotStored, t.NotStoredAt.Known() && t.Messages == 0 && owner == "")
	note(AnomalyPublishRefused, t.refusedPublish())
	note(AnomalySharedKey, t.sharesAKey())
	note(AnomalyConflictingReport, t.contradicted())
	for _, c := range cases {
		code := layerAnomalies[c.Layer]
		note(code, code != "" && !slices.Contains(out, code))
	}
	if ev == nil {
		return out
	}
	head := ev.m
	var acked, termed bool
	for i, a := range attempts {
		acked, termed = acked || a.AckAt.Known(), termed || head.attemptFacts(a.N).termAfter(&MessageFacts{VanishedAt: head.VanishedAt}).Known()
		note(AnomalyLateAck, a.AckAt.Known() && i+1 < len(attempts) && a.Former == attempts[i+1].Former && a.AckAt > attempts[i+1].BeganAt && attempts[i+1].BeganAt.Known() && ev.shown(attempts[i+1]))
	}
	completed := ev.completedAt.Known()
	answered := acked || slices.ContainsFunc(attempts, func(a Attempt) bool { return a.End == EndAcked }) // Also by the broker's word alone, where the worker's line was not captured.
	note(AnomalyAckRefuted, head.RefutedAt.Known())
	_, unproved := head.OpenClaim()
	note(AnomalyAckUnproved, unproved && !ev.ackedAt.Known())
	note(AnomalyAckAfterTerm, acked && termed)
	note(AnomalyAckedAndDead, acked && head.Dead != nil)
	note(AnomalyDiedBesideAck, ev.ackedByOther && (state.Dead() || state == StateTriaged))
	note(AnomalyEntryUnproved, len(head.Entries) > 0 && ev.entry() == nil)
	note(AnomalyCompletedAndDead, (completed || ev.bound.coveredAt.Known()) && (state.Dead() || state == StateTriaged))
	note(AnomalyEffectAfterFailure, completed && head.VanishedAt.Known() && !answered)
	note(AnomalyOlderAtWork, head.Key != t.Head.Key)
	note(AnomalyVanished, head.goneUnexplained() && !answered && !termed)
	note(AnomalyOrphaned, head.OrphanedAt > head.AdoptedAt && state == StatePublished)
	note(AnomalyPublishUnseen, head.Stored == nil || head.Repaired && !t.hadBefore(head))
	note(AnomalyForged, head.Forged || head.ExhaustedForged > head.RecreatedAt)
	note(AnomalyConsumerRecreated, head.consumerRecreated())
	for _, a := range attempts {
		if a.Silent && (a.N < len(attempts) || a.End == EndTimedOut) {
			note(AnomalySilentAttempt, true)
			break
		}
	}
	note(AnomalyClockSkew, head.skewed())
	return out
}

// hadBefore reports whether the message is one that its stream had before and has again: the line of its publish is that one's.
func (t *TaskFacts) hadBefore(m *MessageFacts) bool {
	return slices.ContainsFunc(t.Copies, func(c DeliveryCopy) bool { return m.Key.cameBack(m.Stored.At, c.Key, c.At) })
}

// shown reports whether something else than reports shows an attempt: who reports can write any number.
func (ev *evidence) shown(a Attempt) bool {
	return a.Former || a.N <= ev.life.currentAttempt(ev.deliveries)
}

// consumerRecreated reports whether the consumer is known to have begun anew, or an attempt was delivered under a later consumer sequence than the one after it. Two
// sequences of one attempt prove nothing: a busy broker gives a number twice (docs/broker-facts.md). Nor does one that is another
// attempt's too: the advisory of a deleted message names its first delivery beside a later attempt.
func (m *MessageFacts) consumerRecreated() bool {
	var last uint64
	for i, a := range m.Attempts {
		own := slices.DeleteFunc(slices.Clone(a.CSeqs), func(cseq uint64) bool { return m.deliveredElse(i, cseq) })
		if len(own) == 0 {
			continue
		}
		if slices.Min(own) < last {
			return true
		}
		last = max(last, slices.Max(own))
	}
	return m.RecreatedAt.Known() || len(m.Former) > 0
}

// deliveredElse reports whether another than the i-th attempt has a consumer sequence.
func (m *MessageFacts) deliveredElse(i int, cseq uint64) bool {
	for j, a := range m.Attempts {
		if j != i && slices.Contains(a.CSeqs, cseq) {
			return true
		}
	}
	return false
}

func (m *MessageFacts) skewed() bool {
	s := m.Stored
	if s == nil {
		return false
	}
	if s.CreatedAt.Known() && s.CreatedAt > s.At+skewTolerance {
		return true
	}
	for _, a := range m.Attempts {
		if a.SeenAt.Known() && a.SeenAt+skewTolerance < s.At {
			return true
		}
	}
	return false
}
