package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/internal/requestkey"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
)

// BulkRequest is the body of the call that acts on many dead letters.
type BulkRequest struct {
	Action   string        `json:"action" doc:"What to do." example:"retry"`
	Reason   string        `json:"reason" doc:"Why, 3 to 2,000 characters." example:"the provider is back"`
	Params   ActionParams  `json:"params,omitempty"`
	Selector EntrySelector `json:"selector" doc:"On what: ids, a filter, or an operation."`
	DryRun   bool          `json:"dry_run,omitempty" doc:"Only say which entries are eligible, and what blocks the others."`
	RatePerS float64       `json:"rate_per_s,omitempty" doc:"Entries in a second at most." example:"20"`
}

// EntrySelector names dead letters.
type EntrySelector struct {
	IDs       []string `json:"ids,omitempty" doc:"At most 10,000 ids of entries; one that is named again counts once."`
	Operation string   `json:"operation,omitempty" doc:"The id of an operation that has ended: the entries that it acted on, where nothing was decided since. With reopen this undoes it: what it decided is open again, and of its retries those that wait are cancelled."`

	Filter *EntryChoice `json:"filter,omitempty" doc:"A field takes one value or a list. Values of one field are alternatives, different fields must all hold. What dies later is not selected."`
}

// EntryChoice selects dead letters by what they have. Its fields are the parameters of the list.
type EntryChoice struct {
	Status   OneOrMore `json:"status,omitempty" example:"[\"open\"]"`
	Category OneOrMore `json:"category,omitempty" example:"[\"transient\"]"`
	Detail   OneOrMore `json:"detail,omitempty"`
	Kind     OneOrMore `json:"kind,omitempty"`
	Path     OneOrMore `json:"path,omitempty"`
	Agent    OneOrMore `json:"agent,omitempty"`
	Type     OneOrMore `json:"type,omitempty"`

	Fingerprint OneOrMore `json:"fingerprint,omitempty" doc:"Fingerprints of reasons, as groups have them."`
	ID          OneOrMore `json:"id,omitempty" doc:"Ids of entries, tasks or messages."`
	Q           string    `json:"q,omitempty" doc:"The search box: field:value pairs and words, which match ids, titles and reasons." example:"agent:marketing timeout"`

	From *string `json:"from,omitempty" doc:"Those that died at this time or later."`
	To   *string `json:"to,omitempty" doc:"Those that died before this time."`
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
	bulkForm   = `{"action": "…", "reason": "…", "params": {…}, "selector": {"ids": […]}, {"filter": {…}} or {"operation": "…"}, "dry_run": false, "rate_per_s": 20}`
	bulkDetail = "Takes one action on many dead letters, in the background. Every entry is examined on its own and acted on once, also when the server is restarted. A dry run is done " +
		"when the call is answered: it counts what is eligible and blocked by status and class. What only an entry's task says is found out when it is acted on. Progress comes on the stream as operation events."
	cancelDetail = "Ends an operation on many dead letters: entries that were not begun are left alone, and what was done stays done. Or gives up the retry of one dead letter that " +
		"waits, until two seconds before it is due. The body may name a reason."
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
	a.describeOperationItems()
	register(a, call{
		id: "cancel-operation", does: routes.Deed{Action: "cancel"}, needs: access.TriageApply, method: http.MethodPost, path: Base + "/operations/{id}/cancel", tag: "triage", summary: "Cancel an operation",
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
	r, err := body.request(a.now().Time())
	if err != nil {
		return nil, together(err, problemOf(service.Check(r)))
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

func (in BulkRequest) request(now time.Time) (out dlqtriage.BulkRequest, err error) {
	out = dlqtriage.BulkRequest{
		Action: dlqtriage.ActionKind(in.Action), Reason: in.Reason, DryRun: in.DryRun, Rate: in.RatePerS, Selector: dlqtriage.Selector{IDs: in.Selector.IDs, Operation: in.Selector.Operation},
	}
	var wrongParams, wrongFilter error
	out.Params, wrongParams = in.Params.read()
	if in.Selector.Filter != nil {
		out.Selector.Filter, wrongFilter = in.Selector.Filter.read(now)
	}
	return out, together(wrongParams, wrongFilter)
}

// read reads the filter with the parser of the list, so that both select the same.
func (c EntryChoice) read(now time.Time) (*dlqtriage.EntryFilter, error) {
	v := url.Values{
		"status": c.Status, "category": c.Category, "detail": c.Detail, "kind": c.Kind, "path": c.Path, "agent": c.Agent, "type": c.Type,
		"fingerprint": c.Fingerprint, "id": c.ID, "q": {c.Q},
	}
	f, err := dlqtriage.ParseEntryFilter(v, now)
	return &f, together(wrongSelection(err), c.readTimes(&f))
}

// readTimes reads the bounds, which in a body are absolute. Those of q stay where the body names none.
func (c EntryChoice) readTimes(f *dlqtriage.EntryFilter) error {
	from, wrongFrom := bodyInstant("selector/filter/from", c.From)
	to, wrongTo := bodyInstant("selector/filter/to", c.To)
	if err := together(wrongFrom, wrongTo); err != nil {
		return err
	}
	f.From, f.To = cmp.Or(from, f.From), cmp.Or(to, f.To)
	return wrongSelection(lifecycle.CheckSpan(f.From, f.To))
}

// wrongSelection is the problem of a filter in a body; any other error stays as it is.
func wrongSelection(err error) error {
	var wrong []error
	for _, w := range lifecycle.FilterErrors(err) {
		wrong = append(wrong, httperr.New(httperr.InvalidBody, w).WithDetail("%s", w.Error()).WithField("/body/selector/filter/"+httperr.Token(w.Parameter), w.Detail))
	}
	return cmp.Or(together(wrong...), err)
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
	body, err := readOptionalBody[CancelRequest](requestOf(ctx), `{"reason": "…"}`)
	if err != nil {
		return nil, err
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
