package api

import (
	"encoding/json"

	"fleetglass/dlqtriage"
)

func exampleOperation() Operation {
	return Operation{
		ID: "act-5f0c2b1a9d8e7f605f0c2b1a", Action: "retry", Actor: "ceo", Reason: "the provider is back", Status: "succeeded",
		CreatedAt: Instant(exampleTime(0)), StartedAt: Instant(exampleTime(30e9)), EndedAt: Instant(exampleTime(31e9)),
		Counts: OperationCounts{Selected: 1, Eligible: 1, Done: 1},
		Items: []OperationItem{{
			EntryID: "TASKS:1042", Status: "done", Outcome: "picked_up", DueAt: Instant(exampleTime(30e9)),
			Message: just(SentMessage{Stream: "TASKS", Seq: 1187, MessageID: "blog-post-118:r1"}),
		}},
		Refusals: []RefusalCount{},
		Links:    OperationLinks{Self: "/api/v1/operations/act-5f0c2b1a9d8e7f605f0c2b1a", Items: "/api/v1/operations/act-5f0c2b1a9d8e7f605f0c2b1a/items", Entry: "/api/v1/dlq/TASKS:1042"},
	}
}

func exampleOperations() List[Operation] {
	return List[Operation]{Data: []Operation{exampleOperation()}, AsOf: Instant(exampleTime(0)), Gaps: []GapRef{}}
}

func exampleOperationItems() List[OperationItem] {
	return List[OperationItem]{Data: exampleOperation().Items, AsOf: Instant(exampleTime(0)), Gaps: []GapRef{}}
}

func examplePreview() PreviewReply {
	return PreviewReply{ActionPreview{
		Eligible: true, Blocked: []Obstacle{}, DueAt: Instant(exampleTime(30e9)), Preflight: just(examplePreflight()),
		Diff: []dlqtriage.Difference{{Op: dlqtriage.OpReplace, Path: "/version", Before: json.RawMessage("1"), After: json.RawMessage("2")}},
		Message: just(OutgoingMessage{
			Subject: "genbrain.agents.marketing.tasks.content_creation", Headers: map[string]string{"Nats-Msg-Id": "blog-post-118:r1", "X-Retry-Of": "TASKS:1042"},
			Payload: json.RawMessage(`{"taskId":"blog-post-118","version":2}`), PayloadEncoding: "json",
		}),
	}}
}
