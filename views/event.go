package views

import (
	"fmt"
	"strings"

	"fleetglass/lifecycle"
)

// kindLook gives an event kind its mark, colour and word.
func kindLook(k lifecycle.Kind) look {
	if l, ok := wireLook(k); ok {
		return l
	}
	if l, ok := brokerLook(k); ok {
		return l
	}
	return reportLook(k)
}

func wireLook(k lifecycle.Kind) (look, bool) {
	switch k {
	case lifecycle.Published:
		return look{"m-pub", "run", "published"}, true
	case lifecycle.PublishAttempted:
		return look{"m-dup", "wait", "publish attempt"}, true
	case lifecycle.Acked:
		return look{"m-ack", "ok", "ack"}, true
	case lifecycle.Naked:
		return look{"m-nak", "warn", "nak"}, true
	case lifecycle.Terminated:
		return look{"m-term", "bad", "term"}, true
	case lifecycle.Heartbeat:
		return look{"doctor", "run", "heartbeat"}, true
	}
	return look{}, false
}

func brokerLook(k lifecycle.Kind) (look, bool) {
	switch k {
	case lifecycle.AckConfirmed:
		return look{"m-ack", "ok", "ack confirmed"}, true
	case lifecycle.NakConfirmed:
		return look{"m-nak", "warn", "nak confirmed"}, true
	case lifecycle.TermConfirmed:
		return look{"m-term", "bad", "term confirmed"}, true
	case lifecycle.MaxDeliveries:
		return look{"exhausted", "bad", "max deliveries"}, true
	case lifecycle.Delivered:
		return look{"delivered", "run", "delivered"}, true
	case lifecycle.AttemptUnanswered:
		return look{"redelivered", "warn", "delivery without a line"}, true
	case lifecycle.LeaseExpired:
		return look{"m-deadline", "bad", "lease expired"}, true
	case lifecycle.PresumedDead:
		return look{"m-crash", "bad", "presumed dead"}, true
	case lifecycle.AckRefuted:
		return look{"warn", "bad", "ack refuted"}, true
	case lifecycle.Vanished:
		return look{"unknown", "wait", "vanished"}, true
	case lifecycle.Orphaned:
		return look{"warn", "warn", "orphaned"}, true
	case lifecycle.Adopted:
		return look{"check", "run", "adopted"}, true
	case lifecycle.NotStored:
		return look{"x", "bad", "not stored"}, true
	case lifecycle.Repaired:
		return look{"m-pub", "run", "read from the stream"}, true
	case lifecycle.ConsumerRecreated:
		return look{"redelivered", "warn", "consumer re-created"}, true
	}
	return look{}, false
}

func reportLook(k lifecycle.Kind) look {
	switch k {
	case lifecycle.CompletionRecorded:
		return look{"m-record", "ok", "completion recorded"}
	case lifecycle.RecordExpired:
		return look{"recorded", "wait", "record expired"}
	case lifecycle.RecordDeleted:
		return look{"recorded", "warn", "record deleted"}
	case lifecycle.EffectLogged:
		return look{"m-effect", "ok", "effect logged"}
	case lifecycle.DeadLettered:
		return look{"m-dlq", "dead", "dead-lettered"}
	case lifecycle.Decided:
		return look{"check", "wait", "decided"}
	case lifecycle.Triaged:
		return look{"retried", "dup", "triaged"}
	case lifecycle.Reopened:
		return look{"redelivered", "warn", "reopened"}
	case lifecycle.ReportIngressAcked:
		return look{"check", "run", "ingress acked"}
	case lifecycle.ReportClaimed:
		return look{"lock", "run", "claimed"}
	case lifecycle.ReportAccepted:
		return look{"check", "run", "accepted"}
	case lifecycle.ReportHeartbeat:
		return look{"doctor", "run", "heartbeat report"}
	case lifecycle.ReportStepIntent:
		return look{"m-effect", "warn", "step intent"}
	case lifecycle.ReportStepReceipt:
		return look{"m-effect", "ok", "step receipt"}
	case lifecycle.ReportCheckpoint:
		return look{"book", "run", "checkpoint"}
	case lifecycle.ReportCompleted:
		return look{"completed", "ok", "completed report"}
	case lifecycle.ReportFailed:
		return look{"failed", "bad", "failure report"}
	case lifecycle.ReportDuplicateCaught:
		return look{"m-dup", "dup", "duplicate caught"}
	case lifecycle.ReportPublishDuplicate:
		return look{"m-dup", "dup", "duplicate publish"}
	case lifecycle.ReportOutboundIntent:
		return look{"release", "warn", "outbound intent"}
	case lifecycle.ReportOutboundSent:
		return look{"release", "ok", "outbound sent"}
	}
	return look{"info", "wait", strings.ReplaceAll(string(k), "_", " ")}
}

// KindMeaning is what an event of a kind says, in a sentence or two.
func KindMeaning(k lifecycle.Kind) string {
	if s, ok := wireMeaning[k]; ok {
		return s
	}
	return "An observation of the kind " + strings.ReplaceAll(string(k), "_", " ") + "."
}

var wireMeaning = map[lifecycle.Kind]string{
	lifecycle.Published:              "The stream stored the message: from here on it survives every crash of a publisher or worker.",
	lifecycle.PublishAttempted:       "Somebody published this message id. Attempts beyond the stored messages were caught by the stream.",
	lifecycle.Acked:                  "The worker said it is done. It is a claim: the broker ignores an acknowledgement by a worker that lost its lease.",
	lifecycle.Naked:                  "The worker handed the message back, to be delivered again.",
	lifecycle.Terminated:             "The worker said that this must never be delivered again. The broker removes it from the stream.",
	lifecycle.Heartbeat:              "The worker said that it is still working. The lease is extended by the wait of this attempt.",
	lifecycle.AckConfirmed:           "The broker accepted the acknowledgement.",
	lifecycle.NakConfirmed:           "The broker took the message back.",
	lifecycle.TermConfirmed:          "The broker terminated the message, or an operator deleted it.",
	lifecycle.MaxDeliveries:          "The broker said that the attempts are used up. It says so with the next pull, or never.",
	lifecycle.Delivered:              "The broker's consumer state shows this delivery.",
	lifecycle.AttemptUnanswered:      "A delivery is proved by consumer sequences, but no line of it was seen.",
	lifecycle.LeaseExpired:           "The deadline of the attempt passed without an answer. A redelivery is due.",
	lifecycle.PresumedDead:           "The deadline of the last attempt passed without an answer. The broker may never say so.",
	lifecycle.AckRefuted:             "An acknowledgement was seen, yet the message was still in the stream later: it had no effect.",
	lifecycle.Vanished:               "The message left the stream without an answer.",
	lifecycle.Orphaned:               "No consumer's filter matches the subject: nobody will take this message.",
	lifecycle.Adopted:                "A consumer's filter now matches the subject.",
	lifecycle.NotStored:              "A publish attempt was seen and no stored message was seen to follow.",
	lifecycle.Repaired:               "The publish line was lost; the message was read from the stream itself.",
	lifecycle.ConsumerRecreated:      "The consumer was created anew: its attempt numbers start again.",
	lifecycle.CompletionRecorded:     "An idempotency record says that the task completed. A later delivery finds it and skips the work.",
	lifecycle.RecordExpired:          "The idempotency record passed its retention.",
	lifecycle.RecordDeleted:          "The idempotency record was deleted before its retention ended.",
	lifecycle.EffectLogged:           "The side-effect log has an entry for this task.",
	lifecycle.DeadLettered:           "A dead-letter entry exists for the message.",
	lifecycle.Decided:                "Somebody asked for an action on the dead message. What comes of it is another event.",
	lifecycle.Triaged:                "A decision about the dead message took effect.",
	lifecycle.Reopened:               "The decision before was taken back: the message waits for another one.",
	lifecycle.ReportIngressAcked:     "The agent reports that the task was stored durably at the ingress.",
	lifecycle.ReportClaimed:          "The agent reports that a worker took the lease.",
	lifecycle.ReportAccepted:         "The agent reports evidence that the runtime started.",
	lifecycle.ReportHeartbeat:        "The agent reports that it renewed its lease.",
	lifecycle.ReportStepIntent:       "The agent reports that a step is about to have an effect. Without a receipt the effect is unknown.",
	lifecycle.ReportStepReceipt:      "The agent reports that the effect of a step is confirmed.",
	lifecycle.ReportCheckpoint:       "The agent reports that work up to here can be resumed.",
	lifecycle.ReportCompleted:        "The agent reports that a recoverable result is recorded.",
	lifecycle.ReportFailed:           "The agent reports that the attempt failed.",
	lifecycle.ReportDuplicateCaught:  "The agent reports that it skipped a task that had already had its effect.",
	lifecycle.ReportPublishDuplicate: "The publisher reports that the stream answered: duplicate.",
	lifecycle.ReportOutboundIntent:   "The agent reports that an outgoing message is about to be sent.",
	lifecycle.ReportOutboundSent:     "The agent reports that the outside accepted the outgoing message.",
}

// EventText says what happened in one line, from what the event carries. It contains untrusted text.
func EventText(e lifecycle.Event) string {
	d := e.Detail
	var parts []string
	say := func(format, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	switch e.Kind {
	case lifecycle.Published, lifecycle.Repaired, lifecycle.PublishAttempted:
		say("%s", d.Subject)
		if e.Kind != lifecycle.PublishAttempted && d.Generation > 0 {
			say("generation %s", fmt.Sprint(d.Generation))
		}
		say("retry of %s", d.RetryOf)
		if d.BestEffort {
			parts = append(parts, "captured best effort")
		}
	case lifecycle.Delivered, lifecycle.AttemptUnanswered:
		say("to %s", e.Consumer)
		if !d.Exact {
			parts = append(parts, "no later than this")
		}
	case lifecycle.LeaseExpired, lifecycle.PresumedDead:
		say("%s after the last sign", Duration(d.Deadline.Sub(d.Basis)))
	case lifecycle.DeadLettered:
		say("%s", d.Category)
		say("entry %s", d.Entry)
	case lifecycle.Decided, lifecycle.Triaged, lifecycle.Reopened:
		say("%s", string(d.Outcome))
		say("asked for: %s", d.Action)
		say("by %s", d.Actor)
	default:
		say("%s", d.Tool)
		say("class %s", d.StepClass)
		say("from %s", wireConsumer(e))
		say("owner %s", d.LeaseOwner)
		say("result %s", d.ResultRef)
		say("model %s", d.Model)
	}
	if d.Delay > 0 {
		say("asked for %s", Duration(d.Delay))
	}
	if d.AckTime > 0 {
		say("after %s", Duration(d.AckTime))
	}
	say("%s", d.Reason)
	return Printable(strings.Join(parts, ", "))
}

func wireConsumer(e lifecycle.Event) string {
	switch e.Kind {
	case lifecycle.Acked, lifecycle.Naked, lifecycle.Terminated, lifecycle.Heartbeat:
		return e.Consumer
	}
	return ""
}
