package api

import (
	"fmt"

	"fleetglass/lifecycle"
)

// summaryOf says in one sentence what an event tells. It holds no text of the fleet, which is untrusted; that is in the data.
func summaryOf(e lifecycle.Event) string {
	sentence, ofAttempt := sentences()[e.Kind], ""
	if sentence == "" {
		return "An observation of kind " + string(e.Kind) + "."
	}
	if e.Attempt > 0 {
		ofAttempt = fmt.Sprintf("Attempt %d: ", e.Attempt)
	}
	if e.Kind == lifecycle.Naked && e.Detail.Delay > 0 {
		sentence = fmt.Sprintf("the worker handed it back, to be delivered again after %s.", e.Detail.Delay)
	}
	if ofAttempt == "" {
		return capital(sentence)
	}
	return ofAttempt + sentence
}

// sentences are written to follow "Attempt n: ".
func sentences() map[lifecycle.Kind]string {
	return map[lifecycle.Kind]string{
		lifecycle.Published:              "the stream stored the message.",
		lifecycle.PublishAttempted:       "somebody published; whether it was stored is judged by comparison.",
		lifecycle.Acked:                  "the worker acknowledged.",
		lifecycle.Naked:                  "the worker handed it back.",
		lifecycle.Terminated:             "the worker said never to deliver it again.",
		lifecycle.Heartbeat:              "the worker is still working: the lease is extended.",
		lifecycle.AckConfirmed:           "the broker accepted the acknowledgement.",
		lifecycle.NakConfirmed:           "the broker confirmed that it was handed back.",
		lifecycle.TermConfirmed:          "the broker says that the message is terminated or deleted.",
		lifecycle.MaxDeliveries:          "the broker said that the attempts are used up.",
		lifecycle.Delivered:              "the broker's state shows the delivery.",
		lifecycle.AttemptUnanswered:      "consumer sequences prove the delivery, but no line of it was seen.",
		lifecycle.LeaseExpired:           "the deadline passed without an answer; a redelivery is due.",
		lifecycle.PresumedDead:           "the deadline of the last attempt passed without an answer.",
		lifecycle.AckRefuted:             "an acknowledgement was seen, yet the message is still in the stream.",
		lifecycle.Vanished:               "the message left the stream without an answer.",
		lifecycle.Orphaned:               "no consumer's filter matches the subject.",
		lifecycle.Adopted:                "a consumer's filter matches the subject now.",
		lifecycle.NotStored:              "a publish was seen and no stored message was seen to follow.",
		lifecycle.Repaired:               "the publish line was lost; the message was read from the stream.",
		lifecycle.ConsumerRecreated:      "the consumer was created anew; its attempt numbers start again.",
		lifecycle.CompletionRecorded:     "an idempotency record says that the task completed.",
		lifecycle.RecordExpired:          "the idempotency record passed its retention.",
		lifecycle.RecordDeleted:          "the idempotency record was deleted before its retention ended.",
		lifecycle.EffectLogged:           "the side-effect log has an entry.",
		lifecycle.DeadLettered:           "a dead-letter entry exists.",
		lifecycle.ReportIngressAcked:     "the ingress reports that the task is stored durably.",
		lifecycle.ReportClaimed:          "the worker reports that it took the lease.",
		lifecycle.ReportAccepted:         "the runtime reports that it started.",
		lifecycle.ReportHeartbeat:        "the agent reports that it renewed the lease.",
		lifecycle.ReportStepIntent:       "the agent reports that a step is about to have an effect.",
		lifecycle.ReportStepReceipt:      "the agent reports that a step's effect is confirmed.",
		lifecycle.ReportCheckpoint:       "the agent reports that work up to here can be resumed.",
		lifecycle.ReportCompleted:        "the agent reports a recoverable result.",
		lifecycle.ReportFailed:           "the agent reports that the attempt failed.",
		lifecycle.ReportDuplicateCaught:  "the agent reports that it skipped a task that had already had its effect.",
		lifecycle.ReportPublishDuplicate: "the publisher reports that the stream called its publish a duplicate.",
		lifecycle.ReportOutboundIntent:   "the agent reports that an outgoing message is about to be sent.",
		lifecycle.ReportOutboundSent:     "the agent reports that the outside accepted the outgoing message.",
	}
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }
