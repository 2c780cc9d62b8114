package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/internal/requestkey"
	"fleetglass/reconcile"
)

const (
	listReconciliationsDetail = "The newest come first. A reconciliation compares what was published in a span of time with what became of it: published = " +
		"completed + in_flight + in_dlq + terminated + expired + exhausted + unexplained. The lists of discrepancies are in the report " +
		"of each."
	createReconciliationDetail = "Queues a reconciliation and answers at once. It is done within seconds to minutes; one runs at a time. Without a body the " +
		"last seven days are compared. The same Idempotency-Key gives the same reconciliation; with another period it is refused."
	getReconciliationDetail = "The balance by stream and agent, the discrepancies, and what limits the report. The answer is JSON, or one table with Accept: " +
		"text/csv. With format it is a download. The table has a row for each line of the balance and each discrepancy; the first " +
		"column says which. Cells that a spreadsheet would take for a formula begin with an apostrophe. Until the reconciliation is " +
		"done the table is refused with 409."
)

// ReconciliationPathInput names a reconciliation and the form in which it is wanted.
type ReconciliationPathInput struct {
	ID     string `path:"id" doc:"The id of the reconciliation."`
	Format string `query:"format" doc:"json or csv, as a download."`
	Accept string `header:"Accept" hidden:"true"`
}

// ReconcileInput declares the headers of the call that asks for a reconciliation. Its body is read in the handler.
type ReconcileInput struct{ KeyInput }

type reconcileReply struct {
	Status       int
	Location     string `header:"Location" doc:"Where its report will be."`
	CacheControl string `header:"Cache-Control"`
	Body         Reconciliation
}

func (a *API) describeReconciliations() {
	register(a, call{
		id: "list-reconciliations", needs: access.Read, path: Base + "/reconciliations", tag: "reconciliations", summary: "Reconciliations",
		detail: listReconciliationsDetail, example: exampleReconciliations(), failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listReconciliations)
	register(a, call{
		id: "create-reconciliation", needs: access.Admin, method: http.MethodPost, path: Base + "/reconciliations", tag: "reconciliations", summary: "Reconcile now",
		status: http.StatusAccepted, detail: createReconciliationDetail, example: exampleQueued(), body: reconcileBody(a.huma.OpenAPI().Components.Schemas),
		failures: []httperr.Code{httperr.InvalidBody, httperr.BodyTooLarge, httperr.RateLimited},
	}, a.createReconciliation)
	register(a, call{
		id: "get-reconciliation", needs: access.Read, path: Base + "/reconciliations/{id}", tag: "reconciliations", summary: "The report of a reconciliation",
		detail: getReconciliationDetail, example: exampleReconciliation(), shape: shapeReconciliation, failures: []httperr.Code{httperr.NotFound, httperr.Conflict},
	}, a.getReconciliation)
	enumerate(a, "/reconciliations/{id}", "format", reportFormats())
}

// reconcileBody documents the body, which may be left out.
func reconcileBody(schemas huma.Registry) *huma.RequestBody {
	return &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {
		Schema: schemas.Schema(reflect.TypeFor[ReconcileRequest](), true, ""), Example: exampleReconcileRequest(),
	}}}
}

func shapeReconciliation(op *huma.Operation) {
	op.Responses["200"].Content[csvType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}, Example: exampleReconciliationCSV()}
}

// reconciler is the service, or the reason why there is none.
func (a *API) reconciler() (reconcile.Service, error) {
	if a.cfg.Reconcile == nil {
		return nil, httperr.New(httperr.Unavailable, nil).WithDetail("This server does not reconcile.")
	}
	return a.cfg.Reconcile, nil
}

func (a *API) createReconciliation(ctx context.Context, _ *ReconcileInput) (*reconcileReply, error) {
	service, err := a.reconciler()
	if err != nil {
		return nil, err
	}
	period, err := readReconcileRequest(requestOf(ctx))
	if err != nil {
		return nil, err
	}
	key, err := requestkey.Of(requestOf(ctx))
	if err != nil {
		return nil, err
	}
	made, _, err := service.Create(ctx, reconcile.Request{Period: period, Key: key, Actor: access.From(ctx).Name})
	switch {
	case errors.Is(err, reconcile.ErrKeyReused):
		return nil, httperr.New(httperr.IdempotencyKeyReused, err).WithField("/header/Idempotency-Key", "was used with another period")
	case errors.Is(err, reconcile.ErrPeriod):
		return nil, httperr.New(httperr.InvalidBody, err).WithDetail("The period is empty or lies in the future: from must be before to.").WithField("/body", "from must be before to, and not in the future")
	case errors.Is(err, reconcile.ErrBusy):
		return nil, httperr.New(httperr.RateLimited, err).WithDetail("Too many reconciliations wait. Try again in a minute.").WithHeader("Retry-After", retryBusy)
	case err != nil:
		return nil, err
	}
	body := reconciliationOf(made)
	return &reconcileReply{Status: http.StatusAccepted, Location: body.Links.Self, CacheControl: "no-store", Body: body}, nil
}

// retryBusy is how long to wait when too many wait, in seconds.
const retryBusy = "60"
