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
)

// BulkRequest is the body of the call that acts on many dead letters.
type BulkRequest struct {
	Action   string        `json:"action" doc:"What to do." example:"retry"`
	Reason   string        `json:"reason" doc:"Why, 3 to 2,000 characters." example:"the provider is back"`
	Params   ActionParams  `json:"params,omitempty"`
	Selector EntrySelector `json:"selector" doc:"On what: ids, or a filter."`
	DryRun   bool          `json:"dry_run,omitempty" doc:"Only say which entries are eligible, and what blocks the others."`
	RatePerS float64       `json:"rate_per_s,omitempty" doc:"Entries in a second at most." example:"20"`
}

// EntrySelector names dead letters.
type EntrySelector struct {
	IDs    []string     `json:"ids,omitempty" doc:"At most 10,000 ids of entries."`
	Filter *EntryChoice `json:"filter,omitempty" doc:"Values of one field are alternatives, different fields must all hold. What dies later is not selected."`
}

// EntryChoice selects dead letters by what they have. Its fields are the parameters of the list.
type EntryChoice struct {
	Status   []string `json:"status,omitempty" example:"[\"open\"]"`
	Category []string `json:"category,omitempty" example:"[\"transient\"]"`
	Detail   []string `json:"detail,omitempty"`
	Kind     []string `json:"kind,omitempty"`
	Path     []string `json:"path,omitempty"`
	Agent    []string `json:"agent,omitempty"`
	Type     []string `json:"type,omitempty"`
	From     *string  `json:"from,omitempty" doc:"Those that died at this time or later."`
	To       *string  `json:"to,omitempty" doc:"Those that died before this time."`
}

// CancelRequest is the body of the call that cancels an operation; it may be left out.
type CancelRequest struct {
	Reason string `json:"reason,omitempty" example:"wrong filter"`
}

// BulkInput declares the headers of the call.
type BulkInput struct{ KeyInput }

// OperationInput names an operation.
type OperationInput struct {
	ID string `path:"id" doc:"The id of the operation."`
}

// CancelInput names an operation that is cancelled.
type CancelInput struct {
	KeyInput
	OperationInput
}

const (
	bulkForm   = `{"action": "…", "reason": "…", "params": {…}, "selector": {"ids": […]} or {"filter": {…}}, "dry_run": false, "rate_per_s": 20}`
	bulkDetail = "Takes one action on many dead letters, in the background. Every entry is examined on its own and acted on once, also when the server is restarted. A dry run is done " +
		"when the call is answered: it counts what is eligible and blocked by status and class. What only an entry's task says is found out when it is acted on. Progress comes on the stream as operation events."
	cancelDetail = "Ends an operation on many dead letters: entries that were not begun are left alone. What was done stays done. The body may name a reason."
)

func (a *API) describeOperations() {
	register(a, call{
		id: "start-operation", needs: access.TriagePropose, method: http.MethodPost, path: Base + "/operations", tag: "triage", summary: "Act on many dead letters",
		status: http.StatusAccepted, keys: keyRequired, detail: bulkDetail, example: exampleOperation(), body: a.bulkBody(), failures: triageFailures(),
	}, a.startOperation)
	register(a, call{
		id: "list-operations", needs: access.Read, path: Base + "/operations", tag: "triage", summary: "Operations, the newest first",
		example: exampleOperations(), failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listOperations)
	register(a, call{
		id: "get-operation", needs: access.Read, path: Base + "/operations/{id}", tag: "triage", summary: "An operation and how far it is",
		example: exampleOperation(), failures: []httperr.Code{httperr.NotFound},
	}, a.getOperation)
	register(a, call{
		id: "cancel-operation", needs: access.TriageApply, method: http.MethodPost, path: Base + "/operations/{id}/cancel", tag: "triage", summary: "Cancel an operation",
		status: http.StatusAccepted, keys: keyRequired, detail: cancelDetail, example: exampleOperation(), body: a.cancelBody(),
		failures: []httperr.Code{httperr.InvalidBody, httperr.NotFound, httperr.NotEligible, httperr.IdempotencyKeyRequired},
	}, a.cancelOperation)
}

func (a *API) bulkBody() *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema:  a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[BulkRequest](), true, ""),
		Example: BulkRequest{Action: "retry", Reason: "the provider is back", Selector: EntrySelector{IDs: []string{"TASKS:1042"}}},
	}}}
}

func (a *API) cancelBody() *huma.RequestBody {
	return &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {
		Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[CancelRequest](), true, ""), Example: CancelRequest{Reason: "wrong filter"},
	}}}
}

// operator is the service, or the reason why there is none.
func (a *API) operator() (*dlqtriage.Operations, error) {
	if a.cfg.Operations == nil {
		return nil, httperr.New(httperr.Unavailable, nil).WithDetail("This server does not act on dead letters.")
	}
	return a.cfg.Operations, nil
}

func (a *API) startOperation(ctx context.Context, _ *BulkInput) (*actionReply, error) {
	service, err := a.operator()
	if err != nil {
		return nil, err
	}
	body, err := readBody[BulkRequest](requestOf(ctx), bulkForm)
	if err != nil {
		return nil, err
	}
	r, err := body.request()
	if err != nil {
		return nil, err
	}
	if err := a.mayAct(ctx, r.Action, r.DryRun); err != nil {
		return nil, err
	}
	r.Actor, r.Key = actorOf(ctx), requestkey.ID(ctx)
	o, err := service.Start(ctx, r)
	if err != nil {
		return nil, problemOf(err)
	}
	return accepted(o), nil
}

func (in BulkRequest) request() (out dlqtriage.BulkRequest, err error) {
	out = dlqtriage.BulkRequest{
		Action: dlqtriage.ActionKind(in.Action), Reason: in.Reason, DryRun: in.DryRun, Rate: in.RatePerS, Selector: dlqtriage.Selector{IDs: in.Selector.IDs},
	}
	if out.Params, err = in.Params.read(); err != nil {
		return out, err
	}
	if in.Selector.Filter != nil {
		out.Selector.Filter, err = in.Selector.Filter.read()
	}
	return out, err
}

func (c EntryChoice) read() (*dlqtriage.EntryFilter, error) {
	f := &dlqtriage.EntryFilter{Details: c.Detail, Agents: c.Agent, Types: c.Type}
	f.Statuses, f.Categories = wordsOf[dlqtriage.Status](c.Status), wordsOf[dlqtriage.Category](c.Category)
	f.Kinds, f.Paths = wordsOf[dlqtriage.Kind](c.Kind), wordsOf[dlqtriage.Path](c.Path)
	var err error
	if f.From, err = bodyInstant("selector/filter/from", c.From); err != nil {
		return f, err
	}
	f.To, err = bodyInstant("selector/filter/to", c.To)
	return f, err
}

func wordsOf[T ~string](texts []string) (out []T) {
	for _, t := range texts {
		out = append(out, T(t))
	}
	return out
}

func (a *API) getOperation(ctx context.Context, in *OperationInput) (*reply[Operation], error) {
	service, err := a.operator()
	if err != nil {
		return nil, err
	}
	o, err := service.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return uncached(operationOf(o)), nil
}

func (a *API) cancelOperation(ctx context.Context, in *CancelInput) (*actionReply, error) {
	service, err := a.operator()
	if err != nil {
		return nil, err
	}
	var body CancelRequest
	if requestOf(ctx).ContentLength != 0 {
		if body, err = readBody[CancelRequest](requestOf(ctx), `{"reason": "…"}`); err != nil {
			return nil, err
		}
	}
	o, err := service.Cancel(ctx, in.ID, actorOf(ctx), body.Reason)
	if err != nil {
		return nil, problemOf(err)
	}
	return accepted(o), nil
}

func (a *API) listOperations(ctx context.Context, in *PageQuery) (*reply[List[Operation]], error) {
	service, err := a.operator()
	if err != nil {
		return nil, err
	}
	l, err := a.listRequest(ctx, *in)
	if err != nil {
		return nil, err
	}
	found, page, err := operationPage(ctx, service, l)
	if err != nil {
		return nil, err
	}
	rows := make([]Operation, len(found))
	for i, o := range found {
		rows[i] = operationOf(o)
	}
	return listReply(ctx, l, rows, page, []GapRef{}), nil
}
