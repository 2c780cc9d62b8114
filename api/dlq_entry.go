package api

import (
	"encoding/json"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// Entry is a message that died, as lists show it.
type Entry struct {
	ID             string              `json:"id" doc:"Opaque; part of addresses." example:"TASKS:1042"`
	Revision       string              `json:"revision" doc:"Rises with each decision; the entity tag begins with it." example:"0"`
	TaskID         string              `json:"task_id" example:"blog-post-118"`
	MessageID      Text                `json:"message_id" example:"blog-post-118"`
	Stream         string              `json:"stream" example:"TASKS"`
	Seq            Sequence            `json:"seq" example:"1042"`
	DLQStream      Text                `json:"dlq_stream" doc:"Of the entry in the broker's queue; null until one was seen." example:"DLQ"`
	DLQSeq         Sequence            `json:"dlq_seq" example:"17"`
	InQueue        Maybe[bool]         `json:"in_queue" doc:"Whether that entry is in the broker's queue now. False where it left without a word: deleted, purged, dropped by a limit of the queue, or with its stream; what is known of the message stays, and so does what can be done about it. Null where none was seen, or that is not known now."`
	Subject        Text                `json:"subject" example:"genbrain.agents.marketing.tasks.content_creation"`
	Agent          Text                `json:"agent" example:"marketing"`
	Type           Text                `json:"type" example:"content_creation"`
	Title          Text                `json:"title" doc:"A short name found in the payload. Untrusted."`
	Path           Text                `json:"path" doc:"max_deliveries, terminated, context_overflow or filter_rejected; null where nothing seen tells." example:"context_overflow"`
	Category       string              `json:"category" enum:"transient,conditionally_recoverable,permanent,unclassified"`
	Detail         Text                `json:"detail" example:"context_window_overflow"`
	Kind           Text                `json:"kind" doc:"transient, resource, logic or authority." example:"resource"`
	Classification EntryClassification `json:"classification"`
	Reason         Text                `json:"reason" doc:"In the words of whoever gave it up. Untrusted."`
	Fingerprint    string              `json:"fingerprint" doc:"The reason without what differs between entries of one cause."`
	Deliveries     int                 `json:"deliveries" example:"2"`
	Generation     int                 `json:"generation" doc:"0 is the first message of the task." example:"0"`
	FailedAt       Instant             `json:"failed_at"`
	AgeMS          int64               `json:"age_ms"`
	Status         string              `json:"status" enum:"open,acting,deferred,retried,reassigned,discarded,quarantined"`
	Outcome        Text                `json:"outcome" doc:"What became of the message that followed: waiting, picked_up, resolved or died_again; null where none did."`
	DeferredUntil  Instant             `json:"deferred_until"`
	ResolvedAt     Instant             `json:"resolved_at" doc:"When the message that followed completed, or this one was discarded."`
	Next           Maybe[NextMessage]  `json:"next" doc:"The message that followed."`
	RetryOf        Text                `json:"retry_of" doc:"The entry that this message was a retry of."`
	Plan           EntryPlan           `json:"plan"`
	Risk           Maybe[Risk]         `json:"risk" doc:"How likely a task of this type and agent is to die now; null where that is not known."`
	Links          EntryLinks          `json:"links"`
}

// EntryClassification says why the message died, who said so, and what that rests on.
type EntryClassification struct {
	Rule     Text            `json:"rule" doc:"Null where a person classified, no rule matched, or nobody did. not_read_yet: nobody has looked yet, somebody will within seconds."`
	Evidence []EntryEvidence `json:"evidence" nullable:"false"`
	By       Text            `json:"by" doc:"rules, or the actor; null where nobody classified."`
	At       Instant         `json:"at"`
}

// EntryEvidence is a text that a classification rests on.
type EntryEvidence struct {
	Source string `json:"source" example:"term_reason"`
	Text   string `json:"text" doc:"Untrusted."`
}

// NextMessage is the message that was published because of an entry.
type NextMessage struct {
	TaskID    string `json:"task_id" example:"blog-post-118"`
	MessageID Text   `json:"message_id" example:"blog-post-118:r1"`
}

// EntryPlan is what should happen next.
type EntryPlan struct {
	Strategy             string                   `json:"strategy"`
	DelayMS              int64                    `json:"delay_ms"`
	DueAt                Instant                  `json:"due_at" doc:"When a retry that is decided now is published."`
	TargetAgent          Text                     `json:"target_agent"`
	TargetModel          Text                     `json:"target_model"`
	MaxAdditionalRetries int                      `json:"max_additional_retries"`
	Modifications        []dlqtriage.Modification `json:"modifications" nullable:"false"`
	Reasons              []string                 `json:"reasons" nullable:"false"`
	Eligible             bool                     `json:"eligible"`
	Blocked              []Obstacle               `json:"blocked" nullable:"false"`
}

// EntryLinks leads on.
type EntryLinks struct {
	Self    string `json:"self" example:"/api/v1/dlq/TASKS:1042"`
	Actions string `json:"actions" example:"/api/v1/dlq/TASKS:1042/actions"`
	Task    string `json:"task" example:"/api/v1/tasks/blog-post-118"`
}

func entryOf(row query.EntryRow, now lifecycle.Micros) Entry {
	e := row.Entry
	out := Entry{
		ID: e.ID, Revision: revisionText(e.Revision), TaskID: e.TaskID, MessageID: Text(e.MessageID), Stream: e.Key.Stream.String(), Seq: Sequence(e.Key.Seq),
		DLQStream: Text(e.DLQStream), DLQSeq: Sequence(e.DLQSeq), Subject: Text(e.Subject), Agent: Text(e.Agent), Type: Text(e.Type), Title: Text(e.Title),
		Path: Text(e.Path), Category: string(e.Category), Detail: Text(e.Detail), Kind: Text(e.Kind), Classification: classificationOf(e.Classification),
		Reason: Text(e.Reason), Fingerprint: e.ReasonFingerprint, Deliveries: e.Deliveries, Generation: e.Generation, FailedAt: Instant(e.FailedAt),
		AgeMS: age(e.FailedAt, now), Status: string(e.Status), Outcome: Text(e.Outcome), DeferredUntil: Instant(e.DeferredUntil), ResolvedAt: Instant(e.ResolvedAt),
		RetryOf: Text(e.RetryOf), Plan: planOf(row.Plan), Links: EntryLinks{Self: entryPath(e.ID), Actions: entryPath(e.ID) + "/actions", Task: taskPath(e.TaskID)},
	}
	if row.InQueue != nil {
		out.InQueue = just(*row.InQueue)
	}
	if row.Risk != nil {
		out.Risk = just(riskOf(*row.Risk))
	}
	if !e.Next.Key.IsZero() {
		out.Next = just(NextMessage{TaskID: e.Next.TaskID, MessageID: Text(e.Next.MessageID)})
	}
	return out
}

func classificationOf(c dlqtriage.Classification) EntryClassification {
	out := EntryClassification{Rule: Text(c.Rule), By: Text(c.By), At: Instant(c.At), Evidence: make([]EntryEvidence, len(c.Evidence))}
	for i, e := range c.Evidence {
		out.Evidence[i] = EntryEvidence(e)
	}
	return out
}

func planOf(p dlqtriage.Plan) EntryPlan {
	return EntryPlan{
		Strategy: string(p.Strategy), DelayMS: p.Delay.Milliseconds(), DueAt: Instant(p.DueAt), TargetAgent: Text(p.TargetAgent), TargetModel: Text(p.TargetModel),
		MaxAdditionalRetries: p.MaxAdditionalRetries, Modifications: p.Modifications, Reasons: p.Reasons, Eligible: p.Eligible, Blocked: obstaclesOf(p.Blocked),
	}
}

// payloadShown is the body of a message as JSON where it is JSON, else as text, else in base64.
func payloadShown(body []byte) (shown json.RawMessage, encoding string) {
	if json.Valid(body) {
		return body, "json"
	}
	text, encoding := bytesAsText(body)
	shown, _ = json.Marshal(text) // A text can always be written.
	if encoding == "utf-8" {
		encoding = "text"
	}
	return shown, encoding
}
