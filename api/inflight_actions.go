package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/internal/requestkey"
	"fleetglass/lifecycle"
)

// HeldActionRequest is the body of the call that acts on a message in flight.
type HeldActionRequest struct {
	Action string           `json:"action" doc:"What to do." enum:"release,quarantine,reconcile" example:"release"`
	Reason string           `json:"reason" doc:"Why, 3 to 2,000 characters; of reconcile it is the note." example:"its pod is gone"`
	Params HeldActionParams `json:"params,omitempty" doc:"What the action takes."`
	DryRun bool             `json:"dry_run,omitempty" doc:"Only say what would happen."`
}

// HeldActionParams are the parameters of an action on a message in flight.
type HeldActionParams struct {
	Force       bool   `json:"force,omitempty" doc:"In spite of effects_unknown, worker_may_be_at_work and already_completed."`
	ForceReason string `json:"force_reason,omitempty" doc:"Required with force."`
}

// HeldActionPath names a message in flight and the revision of it that the caller saw.
type HeldActionPath struct {
	KeyInput
	Stream  string `path:"stream" doc:"The stream, as the list has it; a slash is %2F."`
	Seq     string `path:"seq" doc:"The sequence."`
	IfMatch string `header:"If-Match" doc:"The revision of the lease as the caller saw it, in quotes; \"0\" where nothing had been decided. Of several one must be it. Where something was decided since, the answer is 412."`
}

// HeldPreviewReply is the answer to a dry run.
type HeldPreviewReply struct {
	Preview HeldPreview `json:"preview"`
}

// HeldPreview is what an action on a message in flight would do.
type HeldPreview struct {
	Eligible         bool                  `json:"eligible"`
	Blocked          []Obstacle            `json:"blocked" nullable:"false"`
	Effects          []string              `json:"effects" nullable:"false" doc:"What would happen, in sentences."`
	DuplicateWarning Text                  `json:"duplicate_warning"`
	Lease            Lease                 `json:"lease" doc:"As it is now."`
	Recommendation   Maybe[Recommendation] `json:"recommendation" doc:"What recovery decides."`
}

const (
	heldForm   = `{"action": "release", "reason": "…", "params": {"force": false}, "dry_run": false}`
	heldDetail = "release hands the message back to the broker now; quarantine copies it to the dead-letter queue and deletes it from its stream; reconcile marks the attempt as resolved, with the " +
		"reason as a note, and is no completion. Each acts once however often the call is sent with its Idempotency-Key. Effects that nobody confirmed block a release unless it is forced " +
		"with a reason. With dry_run nothing is changed, and the answer (200) is what would happen; that leaves the key free and needs scope triage:propose only, the action itself triage:apply."
)

func (a *API) describeHeldActions() {
	schemas := a.huma.OpenAPI().Components.Schemas
	register(a, call{
		id: "act-on-message-in-flight", needs: access.TriagePropose, method: http.MethodPost, path: Base + "/in-flight/{stream}/{seq}/actions", tag: "fleet",
		summary: "Act on a message in flight", status: http.StatusAccepted, keys: keyRequired, detail: heldDetail, example: exampleOperation(),
		body: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
			Schema: schemas.Schema(reflect.TypeFor[HeldActionRequest](), true, ""), Example: HeldActionRequest{Action: "release", Reason: "its pod is gone"},
		}}},
		shape: func(op *huma.Operation) {
			op.Responses["200"] = &huma.Response{Description: "What would happen (dry_run)", Content: map[string]*huma.MediaType{"application/json": {
				Schema: schemas.Schema(reflect.TypeFor[HeldPreviewReply](), true, ""), Example: exampleHeldPreview(),
			}}}
		},
		failures: append(triageFailures(), httperr.EntryBusy, httperr.EntryChanged, httperr.NotEligible, httperr.NotFound),
	}, a.actOnHeld)
}

func (a *API) actOnHeld(ctx context.Context, in *HeldActionPath) (*actionReply, error) {
	if a.cfg.Actions == nil {
		return nil, httperr.New(httperr.Unavailable, nil).WithDetail("This server does not act on messages in flight.")
	}
	body, err := readBody[HeldActionRequest](requestOf(ctx), heldForm)
	if err != nil {
		return nil, err
	}
	key, err := dlqtriage.ParseEntryID(in.Stream + ":" + in.Seq)
	if err != nil {
		return nil, httperr.New(httperr.NotFound, err)
	}
	r := dlqtriage.HeldRequest{
		Message: key, Action: dlqtriage.ActionKind(body.Action), Reason: body.Reason, Force: body.Params.Force, ForceReason: body.Params.ForceReason,
		Actor: actorOf(ctx), Key: requestkey.ID(ctx),
	}
	if err := a.mayAct(ctx, r.Action, body.DryRun); err != nil {
		return nil, err
	}
	if r.Revision, err = a.seen(ctx, key, leaseTags); err != nil {
		return nil, err
	}
	if body.DryRun {
		return a.previewHeld(ctx, r)
	}
	done, err := a.cfg.Actions.ActHeld(ctx, r)
	return a.acted(ctx, done, err)
}

func (a *API) previewHeld(ctx context.Context, r dlqtriage.HeldRequest) (*actionReply, error) {
	requestkey.ChangedNothing(ctx)
	v, err := a.cfg.Actions.PreviewHeld(ctx, r)
	if err != nil {
		return nil, problemOf(err)
	}
	typical, err := a.cfg.Query.Typical(ctx)
	if err != nil {
		return nil, err
	}
	body := HeldPreview{
		Eligible: v.Eligible, Blocked: obstaclesOf(v.Blocked), Effects: v.Effects, DuplicateWarning: Text(v.Warning),
		Lease: leaseOf(v.Lease, typical, lifecycle.MicrosOf(a.cfg.Now())), Recommendation: recommendationOf(&v.Recovery, v.Task.ID),
	}
	return &actionReply{Status: http.StatusOK, CacheControl: "no-store", Body: HeldPreviewReply{body}}, nil
}

func exampleHeldPreview() HeldPreviewReply {
	t := exampleStory()
	r := dlqtriage.Recovery{Remedy: dlqtriage.RemedyQuarantine, Rule: "open_intent", Confidence: dlqtriage.ConfidenceMedium, Reasons: []string{"An effect was announced and not confirmed."},
		Changes: []string{"A receipt or an entry of the side-effect log."}, Unknown: true}
	return HeldPreviewReply{HeldPreview{
		Blocked: []Obstacle{{Code: "effects_unknown", Why: "Effects of it may have happened of which nothing is known."}}, Effects: []string{"As the following attempt, it goes to the next free worker."},
		Lease: leaseOf(*t.Lease, t.Typical, t.AsOf), Recommendation: recommendationOf(&r, t.Summary.TaskID),
	}}
}
