package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/reveal"
)

// RevealedPayload is what a message says, unmasked.
type RevealedPayload struct{ Payload }

// RevealRequest is the body of the call that shows a payload unmasked.
type RevealRequest struct {
	Stream string `json:"stream,omitempty" doc:"Stream of the message; with seq. Default: the newest message." example:"TASKS"`
	Seq    string `json:"seq,omitempty" doc:"Sequence of the message; with stream." example:"1042"`
	Reason string `json:"reason" doc:"Why, in 3 to 2,000 characters. The audit keeps it." example:"the customer asked what was sent"`
}

// RevealInput names a task.
type RevealInput struct {
	TaskPathInput
}

const (
	revealDetail = "The payload of one message as it was sent, with nothing masked. Who may is what --masking-reveal says; by default nobody. The audit has a record with actor, message and reason before " +
		"anything is shown, and of each refusal. Nothing keeps the answer. There is no tool for agents that does this."
	revealForm = `{"stream": "TASKS", "seq": "1042", "reason": "…"}`
)

func (a *API) describeReveal() {
	register(a, call{
		id: "reveal-payload", needs: access.Read, method: http.MethodPost, path: Base + "/tasks/{task_id}/payload/reveal", tag: "tasks", summary: "Show a payload unmasked", detail: revealDetail,
		example: RevealedPayload{examplePayload()}, failures: []httperr.Code{httperr.InvalidBody, httperr.ReasonRequired, httperr.NotFound},
		body: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
			Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[RevealRequest](), true, ""), Example: RevealRequest{Stream: "TASKS", Seq: "1042", Reason: "the customer asked what was sent"},
		}}},
	}, a.revealPayload)
}

func (a *API) revealPayload(ctx context.Context, in *RevealInput) (*reply[RevealedPayload], error) {
	body, err := readBody[RevealRequest](requestOf(ctx), revealForm)
	if err != nil {
		return nil, err
	}
	key, err := a.revealedMessage(ctx, in, body)
	if err != nil {
		return nil, err
	}
	p, err := a.cfg.Reveal.Reveal(ctx, reveal.Request{Who: access.From(ctx), By: actorOf(ctx), Message: key, Reason: body.Reason})
	if err != nil {
		return nil, err
	}
	return uncached(RevealedPayload{a.payloadOf(in.TaskID, p)}), nil
}

// revealedMessage finds which message of the task is asked for.
func (a *API) revealedMessage(ctx context.Context, in *RevealInput, body RevealRequest) (lifecycle.MessageKey, error) {
	record, _, err := a.cfg.Query.Task(ctx, in.TaskID)
	if err != nil {
		return lifecycle.MessageKey{}, err
	}
	key, err := (&PayloadQuery{Stream: body.Stream, Seq: body.Seq}).message(record)
	var wrong *lifecycle.FilterError
	if errors.As(err, &wrong) {
		err = invalidField(wrong.Parameter, wrong.Detail)
	}
	return key, err
}
