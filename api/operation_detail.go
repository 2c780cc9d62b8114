package api

import (
	"net/url"

	"fleetglass/dlqtriage"
)

// Operation is an action on one dead letter or on many, and how far it is.
type Operation struct {
	ID        string          `json:"id" example:"act-5f0c2b1a9d8e7f605f0c2b1a"`
	Action    string          `json:"action" example:"retry"`
	Actor     string          `json:"actor" example:"ceo"`
	Reason    string          `json:"reason" example:"the provider is back"`
	DryRun    bool            `json:"dry_run" doc:"It was a dry run: it changed nothing."`
	Status    string          `json:"status" enum:"queued,running,succeeded,failed,cancelled" example:"succeeded"`
	CreatedAt Instant         `json:"created_at"`
	StartedAt Instant         `json:"started_at"`
	EndedAt   Instant         `json:"ended_at"`
	Counts    OperationCounts `json:"counts"`
	Counting  bool            `json:"counting" doc:"Entries may have been acted on that counts and items do not have yet: these are written together, within a second or so; where a server was killed, up to half a minute later." example:"false"`
	RatePerS  *float64        `json:"rate_per_s" doc:"Entries in a second at most; null for no limit."`
	Items     []OperationItem `json:"items" nullable:"false" doc:"The first items. All of them are at links.items."`
	Refusals  []RefusalCount  `json:"refusals" nullable:"false" doc:"Why items are blocked or failed, with how many; the first 20 reasons."`
	Links     OperationLinks  `json:"links"`
}

// OperationCounts counts the entries of an operation.
type OperationCounts struct {
	Selected int64 `json:"selected"`
	Eligible int64 `json:"eligible" doc:"Of those that were looked at."`
	Blocked  int64 `json:"blocked" doc:"Of those that were looked at."`
	Done     int64 `json:"done" doc:"The action was taken. Of many retries each item says whether its message was published yet."`
	Failed   int64 `json:"failed"`
}

// RefusalCount is how many items were not done for one reason.
type RefusalCount struct {
	Status string `json:"status" enum:"blocked,failed" example:"blocked"`
	Why    string `json:"why" example:"An action on this entry has not ended."`
	Count  int64  `json:"count"`
}

// OperationItem is one entry of an operation.
type OperationItem struct {
	EntryID string             `json:"entry_id" example:"TASKS:1042"`
	Status  string             `json:"status" enum:"queued,blocked,done,failed,cancelled" example:"done"`
	Why     Text               `json:"why" doc:"Why it is blocked, or failed."`
	Message Maybe[SentMessage] `json:"message" doc:"The message that was published; null while there is none."`
	Outcome Text               `json:"outcome" doc:"What became of that message: waiting, picked_up, resolved or died_again."`
	DueAt   Instant            `json:"due_at" doc:"When the message is, or was, to be published; null where none is."`
}

// SentMessage is where a message was stored.
type SentMessage struct {
	Stream    string   `json:"stream" example:"TASKS"`
	Seq       Sequence `json:"seq"`
	MessageID string   `json:"message_id" example:"blog-post-118:r1"`
}

// OperationLinks leads on.
type OperationLinks struct {
	Self   string `json:"self" example:"/api/v1/operations/act-5f0c2b1a9d8e7f605f0c2b1a"`
	Items  string `json:"items" example:"/api/v1/operations/act-5f0c2b1a9d8e7f605f0c2b1a/items"`
	Cancel Text   `json:"cancel" doc:"Null when it has ended, and for an action on one entry unless it is a retry that waits."`
	Entry  Text   `json:"entry" doc:"Of an action on one entry."`
}

// operationPath is the address of an operation.
func operationPath(id string) string { return Base + "/operations/" + url.PathEscape(id) }

// entryPath is the address of a dead letter.
func entryPath(id string) string { return Base + "/dlq/" + url.PathEscape(id) }

func operationOf(o dlqtriage.Operation) Operation {
	out := Operation{
		ID: o.ID, Action: string(o.Action), Actor: o.Actor.Name, Reason: o.Reason, DryRun: o.DryRun, Status: string(o.Status),
		CreatedAt: Instant(o.CreatedAt), StartedAt: Instant(o.StartedAt), EndedAt: Instant(o.EndedAt), Counts: OperationCounts(o.Counts), Counting: o.Counting,
		Items: make([]OperationItem, len(o.Items)), Refusals: make([]RefusalCount, len(o.Refusals)),
		Links: OperationLinks{Self: operationPath(o.ID), Items: operationPath(o.ID) + "/items"},
	}
	for i, r := range o.Refusals {
		out.Refusals[i] = RefusalCount{Status: string(r.Status), Why: r.Why, Count: r.Count}
	}
	if o.Rate > 0 {
		out.RatePerS = &o.Rate
	}
	for i, item := range o.Items {
		out.Items[i] = itemOf(item)
	}
	if !o.Bulk && len(o.Items) == 1 {
		out.Links.Entry = Text(entryPath(o.Items[0].Entry))
	}
	if o.Cancellable() {
		out.Links.Cancel = Text(operationPath(o.ID) + "/cancel")
	}
	return out
}

func itemOf(i dlqtriage.Item) OperationItem {
	out := OperationItem{EntryID: i.Entry, Status: string(i.Status), Why: Text(i.Why), Outcome: Text(i.Outcome), DueAt: Instant(i.DueAt)}
	if i.Message != nil {
		out.Message = just(SentMessage{Stream: i.Message.Stream, Seq: Sequence(i.Message.Seq), MessageID: i.ID})
	}
	return out
}
