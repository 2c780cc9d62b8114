package api

import (
	"encoding/json"
	"unicode/utf8"

	"fleetglass/dlqtriage"
)

// ActionPreview is what an action would do.
type ActionPreview struct {
	Eligible         bool                   `json:"eligible"`
	Blocked          []Obstacle             `json:"blocked" nullable:"false" doc:"What stands in the way."`
	Diff             []dlqtriage.Difference `json:"diff" nullable:"false" doc:"Between the payload of the message that died and of the one that would be published (RFC 6902)."`
	Message          Maybe[OutgoingMessage] `json:"message" doc:"What would be published; null where nothing is."`
	DueAt            Instant                `json:"due_at" doc:"When it would be published."`
	Preflight        Maybe[PreflightAnswer] `json:"preflight" doc:"Whether it fits the model that takes it."`
	DuplicateWarning Text                   `json:"duplicate_warning" doc:"Why the work may be done twice."`
}

// Obstacle is one thing that stands in the way of an action.
type Obstacle struct {
	Code string `json:"code" example:"already_completed"`
	Why  string `json:"why" example:"Its work is done: a retry would be skipped where a record says so, or would do the work twice."`
}

// OutgoingMessage is a message that would be published.
type OutgoingMessage struct {
	Subject         string            `json:"subject" example:"genbrain.agents.marketing.tasks.content_creation"`
	Headers         map[string]string `json:"headers"`
	Payload         json.RawMessage   `json:"payload"`
	PayloadEncoding string            `json:"payload_encoding" enum:"json,text,base64"`
}

func previewOf(v dlqtriage.Preview) ActionPreview {
	out := ActionPreview{
		Eligible: v.Eligible, Blocked: obstaclesOf(v.Blocked), Diff: v.Diff, DueAt: Instant(v.DueAt), DuplicateWarning: Text(v.DuplicateWarning),
	}
	if m := v.Message; m != nil {
		shown, encoding := payloadShown(m.Payload)
		headers := map[string]string{}
		for name, value := range m.Headers {
			if !utf8.ValidString(value) {
				value, _ = bytesAsText([]byte(value))
			}
			headers[name] = value
		}
		out.Message = just(OutgoingMessage{Subject: m.Subject, Headers: headers, Payload: shown, PayloadEncoding: encoding})
	}
	if v.Preflight != nil {
		out.Preflight = just(preflightOf(*v.Preflight))
	}
	return out
}

func obstaclesOf(all []dlqtriage.Obstacle) []Obstacle {
	out := []Obstacle{}
	for _, o := range all {
		out = append(out, Obstacle{Code: string(o.Code), Why: o.Why})
	}
	return out
}
