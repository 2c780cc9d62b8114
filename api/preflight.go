package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
)

// PreflightRequest is the body of the preflight call.
type PreflightRequest struct {
	Agent           string          `json:"agent,omitempty" doc:"Whose model it is; the policy says which. Give this or model." example:"marketing"`
	Model           string          `json:"model,omitempty" doc:"The model." example:"claude-sonnet-4-5"`
	Payload         json.RawMessage `json:"payload,omitempty" doc:"What is to be published: a text, or JSON. Its tokens are estimated. Give this or estimated_tokens."`
	EstimatedTokens *int64          `json:"estimated_tokens,omitempty" doc:"The caller's own estimate." example:"160000"`
}

// PreflightAnswer says whether a task fits into its model.
type PreflightAnswer struct {
	Verdict         string `json:"verdict" doc:"Whether it fits: warn above 80 % of the budget, refuse above the budget." enum:"ok,warn,refuse" example:"warn"`
	EstimatedTokens int64  `json:"estimated_tokens" example:"160000"`
	Budget          int64  `json:"budget" doc:"Tokens that a prompt for the model may have." example:"180000"`
	Advice          string `json:"advice" example:"160000 of 180000 tokens are used before the work begins: leave out what is not needed"`
	Model           string `json:"model" doc:"The model that it was judged for." example:"claude-sonnet-4-5"`
}

const (
	preflightForm   = `{"agent" or "model": "…", "payload": … or "estimated_tokens": …}`
	preflightDetail = "Ask before publishing. The tokens are estimated offline, with the encoding that the triage policy names for the model. " +
		"Budgets come from the policy. Nothing is stored."
)

func (a *API) describePrevention() {
	register(a, call{
		id: "preflight", needs: access.Read, method: http.MethodPost, path: Base + "/preflight", tag: "triage", summary: "Does a task fit its model?",
		detail: preflightDetail, example: examplePreflight(), body: preflightBody(a.huma.OpenAPI().Components.Schemas),
		failures: []httperr.Code{httperr.InvalidBody, httperr.BodyTooLarge},
	}, a.preflight)
}

func preflightBody(schemas huma.Registry) *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema: schemas.Schema(reflect.TypeFor[PreflightRequest](), true, ""), Example: examplePreflightRequest(),
	}}}
}

func (a *API) preflight(ctx context.Context, _ *struct{}) (*reply[PreflightAnswer], error) {
	in, err := readBody[PreflightRequest](requestOf(ctx), preflightForm)
	if err != nil {
		return nil, err
	}
	asked, err := in.read()
	if err != nil {
		return nil, err
	}
	found, err := a.cfg.Policy().Policy.Preflight(asked)
	if err != nil {
		return nil, err
	}
	return uncached(preflightOf(found)), nil
}

// read checks that the request says enough. It errors with all that is wrong.
func (in PreflightRequest) read() (dlqtriage.PreflightRequest, error) {
	out := dlqtriage.PreflightRequest{Agent: in.Agent, Model: in.Model}
	given := in.EstimatedTokens != nil
	var wrong []error
	if in.Agent == "" && in.Model == "" {
		wrong = append(wrong, invalidField("model", "give an agent or a model"))
	}
	if given && *in.EstimatedTokens < 0 {
		wrong = append(wrong, invalidField("estimated_tokens", "a number of tokens is not negative"))
	}
	if given == (len(in.Payload) > 0) {
		wrong = append(wrong, invalidField("payload", "give either a payload or estimated_tokens"))
	}
	if given {
		out.Tokens = int(*in.EstimatedTokens)
	} else {
		out.Payload = payloadText(in.Payload)
	}
	return out, together(wrong...)
}

// payloadText is what a model would read: the text itself, or the JSON.
func payloadText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func preflightOf(f dlqtriage.Preflight) PreflightAnswer {
	return PreflightAnswer{Verdict: string(f.Verdict), EstimatedTokens: int64(f.Tokens), Budget: int64(f.Budget), Advice: f.Advice, Model: f.Model}
}

// uncached is an answer that nobody keeps.
func uncached[T any](body T) *reply[T] {
	return &reply[T]{Status: http.StatusOK, CacheControl: "no-store", Body: body}
}

func examplePreflightRequest() PreflightRequest {
	tokens := int64(160_000)
	return PreflightRequest{Agent: "marketing", EstimatedTokens: &tokens}
}

func examplePreflight() PreflightAnswer {
	p := dlqtriage.DefaultPolicy()
	found, _ := p.Preflight(dlqtriage.PreflightRequest{Agent: "marketing", Tokens: 160_000}) // Nothing is counted.
	return preflightOf(found)
}
