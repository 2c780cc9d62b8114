package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/internal/requestkey"
)

// ActionRequest is the body of the call that acts on a dead letter.
type ActionRequest struct {
	Action string       `json:"action" doc:"What to do." enum:"retry,reassign,defer,discard,quarantine,reclassify,reopen" example:"retry"`
	Reason string       `json:"reason" doc:"Why, 3 to 2,000 characters." example:"the provider is back"`
	Params ActionParams `json:"params,omitempty" doc:"What the action takes."`
	DryRun bool         `json:"dry_run,omitempty" doc:"Only say what would happen."`
}

// ActionParams are the parameters of an action. Which of them count is the action's matter.
type ActionParams struct {
	As            string                   `json:"as,omitempty" doc:"retry, reassign: what is changed. plan is the default." enum:"plan,unchanged,edited" example:"plan"`
	Payload       json.RawMessage          `json:"payload,omitempty" doc:"With edited: in place of the payload; a text stands for itself."`
	Headers       map[string]string        `json:"headers,omitempty" doc:"With edited: beside the headers of the message; an empty value takes one away."`
	Modifications []dlqtriage.Modification `json:"modifications,omitempty" doc:"With edited: as in X-Modifications."`
	Model         string                   `json:"model,omitempty" doc:"retry, reassign: the model." example:"claude-sonnet-4-5"`
	DelayMS       *int64                   `json:"delay_ms,omitempty" doc:"retry, reassign: how long to wait; without it as the plan says." example:"30000"`
	Force         bool                     `json:"force,omitempty" doc:"retry, reassign: in spite of not_read_yet, permanent, retries_used_up, already_completed, effects_unknown and does_not_fit."`
	ForceReason   string                   `json:"force_reason,omitempty" doc:"Required with force."`
	Agent         string                   `json:"agent,omitempty" doc:"reassign: who takes it." example:"frontend"`
	Until         *string                  `json:"until,omitempty" doc:"defer: until when." example:"2026-11-21T08:00:00Z"`
	To            string                   `json:"to,omitempty" doc:"defer: human, for until a person decides." example:"human"`
	Because       string                   `json:"because,omitempty" doc:"discard: obsolete, duplicate or other." example:"obsolete"`
	Category      string                   `json:"category,omitempty" doc:"reclassify: the category." example:"transient"`
	Detail        string                   `json:"detail,omitempty" doc:"reclassify: the detail." example:"network_transient"`
}

// ActionPathInput names the dead letter and the revision of it that the caller saw.
type ActionPathInput struct {
	KeyInput
	ID      string `path:"id" doc:"The id of the entry."`
	IfMatch string `header:"If-Match" doc:"The entity tag of the entry as the caller saw it, or several of which one must be it; * for any. Weak tags count. Where something was decided since, the answer is 412."`
}

type actionReply struct {
	Status       int
	Location     string `header:"Location" doc:"Where the operation is."`
	CacheControl string `header:"Cache-Control"`
	Body         any
}

// PreviewReply is the answer to a dry run.
type PreviewReply struct {
	Preview ActionPreview `json:"preview"`
}

const (
	actionForm   = `{"action": "…", "reason": "…", "params": {…}, "dry_run": false}`
	actionDetail = "Takes an action on a dead letter, once however often the call is sent with its Idempotency-Key. At most one action is open on an entry. With dry_run nothing " +
		"is changed, and the answer (200) is what would happen; that needs scope triage:propose only, and leaves the key free. discard needs triage:discard, every other action triage:apply. " +
		"A retry publishes a new message that links back; the operation says what becomes of it."
)

func (a *API) describeActions() {
	register(a, call{
		id: "act-on-dead-letter", needs: access.TriagePropose, method: http.MethodPost, path: Base + "/dlq/{id}/actions", tag: "triage", summary: "Act on a dead letter",
		status: http.StatusAccepted, keys: keyRequired, detail: actionDetail, example: exampleOperation(), body: a.actionBody(), shape: a.shapeAction,
		failures: append(triageFailures(), httperr.EntryBusy, httperr.EntryChanged, httperr.NotEligible, httperr.NotFound),
	}, a.act)
}

// triageFailures lists what calls that decide about dead letters may answer.
func triageFailures() []httperr.Code {
	return []httperr.Code{
		httperr.InvalidBody, httperr.BodyTooLarge, httperr.IdempotencyKeyRequired, httperr.ReasonRequired, httperr.UnknownAction, httperr.UnknownAgent,
	}
}

func (a *API) actionBody() *huma.RequestBody {
	schemas := a.huma.OpenAPI().Components.Schemas
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema: schemas.Schema(reflect.TypeFor[ActionRequest](), true, ""), Example: ActionRequest{Action: "retry", Reason: "the provider is back"},
	}}}
}

func (a *API) shapeAction(op *huma.Operation) {
	schemas := a.huma.OpenAPI().Components.Schemas
	op.Responses["200"] = &huma.Response{Description: "What would happen (dry_run)", Content: map[string]*huma.MediaType{"application/json": {
		Schema: schemas.Schema(reflect.TypeFor[PreviewReply](), true, ""), Example: examplePreview(),
	}}}
}

func (a *API) act(ctx context.Context, in *ActionPathInput) (*actionReply, error) {
	if a.cfg.Actions == nil {
		return nil, httperr.New(httperr.Unavailable, nil).WithDetail("This server does not act on dead letters.")
	}
	body, err := readBody[ActionRequest](requestOf(ctx), actionForm)
	if err != nil {
		return nil, err
	}
	r, err := body.request()
	if err != nil {
		return nil, together(err, problemOf(a.cfg.Actions.Check(r)))
	}
	if err := a.mayAct(ctx, r.Action, body.DryRun); err != nil {
		return nil, err
	}
	key, err := dlqtriage.ParseEntryID(in.ID)
	if err != nil {
		return nil, httperr.New(httperr.NotFound, err)
	}
	r.Entry, r.Actor, r.Key = in.ID, actorOf(ctx), requestkey.ID(ctx)
	if r.Revision, err = a.seen(ctx, key, entryTags); err != nil {
		return nil, err
	}
	if body.DryRun {
		return a.preview(ctx, r)
	}
	done, err := a.cfg.Actions.Act(ctx, r)
	return a.acted(ctx, done, err)
}

// acted answers with the operation of an action, or says why there is none.
func (a *API) acted(ctx context.Context, done dlqtriage.Action, err error) (*actionReply, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	o, err := a.cfg.Operations.Get(ctx, done.ID)
	if err != nil {
		return nil, err
	}
	return accepted(o), nil
}

func (a *API) preview(ctx context.Context, r dlqtriage.Request) (*actionReply, error) {
	requestkey.ChangedNothing(ctx)
	v, err := a.cfg.Actions.Preview(ctx, r)
	if err != nil {
		return nil, problemOf(err)
	}
	return &actionReply{Status: http.StatusOK, CacheControl: "no-store", Body: PreviewReply{previewOf(v.Masked(a.cfg.Mask))}}, nil
}

func accepted(o dlqtriage.Operation) *actionReply {
	return &actionReply{Status: http.StatusAccepted, Location: operationPath(o.ID), CacheControl: "no-store", Body: operationOf(o)}
}

// mayAct asks for the scope of the action itself; the route asked for that of a proposal.
func (a *API) mayAct(ctx context.Context, action dlqtriage.ActionKind, dryRun bool) error {
	needs := access.TriageApply
	switch {
	case dryRun:
		needs = access.TriagePropose
	case action == dlqtriage.ActionDiscard:
		needs = access.TriageDiscard
	}
	err := a.cfg.Access.Authorize(access.From(ctx), needs)
	if err != nil && a.cfg.Denied != nil {
		a.cfg.Denied(requestOf(ctx), string(action), err)
	}
	return err
}

// actorOf is who asks, as the audit names it.
func actorOf(ctx context.Context) decision.Actor {
	who := access.From(ctx)
	return decision.Actor{
		Name: who.Name, Role: who.Role(), TokenID: who.TokenID(), Via: cmp.Or(access.Via(ctx), decision.ViaAPI), Request: requestkey.ID(ctx),
	}
}

// request reads the body. What it says of the action itself is checked where the action is known.
func (in ActionRequest) request() (dlqtriage.Request, error) {
	params, err := in.Params.read()
	return dlqtriage.Request{Action: dlqtriage.ActionKind(in.Action), Reason: in.Reason, Params: params}, err
}

func (p ActionParams) read() (dlqtriage.Params, error) {
	until, err := bodyInstant("params/until", p.Until)
	return dlqtriage.Params{
		As: dlqtriage.RetryAs(p.As), Payload: p.Payload, Headers: p.Headers, Modifications: p.Modifications, Model: p.Model, DelayMS: p.DelayMS,
		Force: p.Force, ForceReason: p.ForceReason, Agent: p.Agent, Until: until, To: p.To, Because: p.Because,
		Category: dlqtriage.Category(p.Category), Detail: p.Detail,
	}, err
}

// problemOf is the problem of a refusal; any other error stays as it is.
func problemOf(err error) error {
	var r *dlqtriage.Refusal
	if !errors.As(err, &r) {
		return err
	}
	p := httperr.New(httperr.Code(r.Code), err).WithDetail("%s", r.Why)
	for _, w := range r.Wrong {
		p = p.WithField("/body"+w.Pointer, w.Why)
	}
	for _, b := range r.Blocked {
		p = p.WithBlocked(string(b.Code), b.Why)
	}
	return p
}
