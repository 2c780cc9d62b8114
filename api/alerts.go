package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/internal/httperr"
	"fleetglass/internal/routes"
	"fleetglass/query"
)

// AlertsQuery selects alerts.
type AlertsQuery struct {
	PageQuery
	State    []string `query:"state,explode" doc:"Only alerts in one of these states."`
	Rule     []string `query:"rule,explode" doc:"Only alerts of one of these rules."`
	Severity []string `query:"severity,explode" doc:"Only alerts of one of these severities."`
	Agent    []string `query:"agent,explode" doc:"Only alerts about one of these agents."`
}

// AlertInput names an alert.
type AlertInput struct {
	ID string `path:"id" doc:"The id of the alert."`
}

// AlertActInput names an alert that somebody acts on.
type AlertActInput struct {
	KeyInput
	AlertInput
	IfMatch string `header:"If-Match" doc:"The entity tag of the alert as the caller saw it, or several of which one must be it; * for any. Weak tags count. Where it began to fire anew, was resolved or somebody else acknowledged it since, the answer is 412."`
}

// alertTag is the entity tag of an alert: its version, then what else the answer holds. If-Match compares the version alone.
func alertTag(s alerts.Standing, body Alert) string {
	return `W/"` + s.Version() + "-" + strings.Trim(entityTag(body), `W/"`) + `"`
}

// alertsSeen are the versions that If-Match names; nil where it asks for none.
func alertsSeen(ctx context.Context) alerts.Seen {
	var seen alerts.Seen
	for _, tag := range tagsOf(requestOf(ctx).Header) {
		version, _, _ := strings.Cut(tag, "-")
		seen = append(seen, version)
	}
	return seen
}

// AckRequest is the body of an acknowledgement; it may be left out.
type AckRequest struct {
	Note string `json:"note,omitempty" doc:"What you do about it, at most 2,000 characters." example:"I restart the worker"`
}

const (
	alertsDetail = "The board: what fires, what somebody acknowledged, what is silenced, and what was resolved in the last 24 hours; in this order, and in order of harm within each state. " +
		"An alert is one rule about one thing: when it comes back it is the same one, with a higher recurrence."
	ackDetail   = "Says that you look after the alert. It stays so until the alert is resolved or the acknowledgement is taken back. Receivers still hear of the alert: to stop that, silence it."
	unackDetail = "Takes an acknowledgement back."
)

func (a *API) describeAlerts() {
	register(a, call{
		id: "list-alerts", needs: access.Read, path: Base + "/alerts", tag: "alerts", summary: "Alerts", detail: alertsDetail, example: exampleList(exampleAlert()),
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listAlerts)
	enumerate(a, "/alerts", "state", alerts.States())
	enumerate(a, "/alerts", "severity", alerts.Severities())
	register(a, call{
		id: "get-alert", needs: access.Read, path: Base + "/alerts/{id}", tag: "alerts", summary: "An alert", example: exampleAlert(), failures: []httperr.Code{httperr.NotFound},
	}, a.getAlert)
	register(a, call{
		id: "acknowledge-alert", does: routes.Deed{Action: "acknowledge alert"}, needs: access.TriageApply, method: http.MethodPost, path: Base + "/alerts/{id}/ack", tag: "alerts", summary: "Acknowledge an alert",
		detail: ackDetail, example: exampleAlert(), body: optionalBody[AckRequest](a, AckRequest{Note: "I restart the worker"}), failures: alertFailures(),
	}, a.acknowledge)
	register(a, call{
		id: "unacknowledge-alert", does: routes.Deed{Action: "unacknowledge alert"}, needs: access.TriageApply, method: http.MethodPost, path: Base + "/alerts/{id}/unack", tag: "alerts", summary: "Take an acknowledgement back",
		detail: unackDetail, example: exampleAlert(), failures: alertFailures(),
	}, a.unacknowledge)
	register(a, call{
		id: "list-alert-rules", needs: access.Read, path: Base + "/alert-rules", tag: "alerts", summary: "The rules in force", example: exampleList(alertRuleOf(alerts.Defaults()[0])),
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listAlertRules)
	a.describeSilences()
}

func alertFailures() []httperr.Code {
	return []httperr.Code{httperr.InvalidBody, httperr.BodyTooLarge, httperr.NotFound, httperr.Conflict, httperr.EntryChanged}
}

// optionalBody describes a body that may be left out.
func optionalBody[T any](a *API, example T) *huma.RequestBody {
	return &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {
		Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, ""), Example: example,
	}}}
}

// board is the service of alerts, or the reason why there is none.
func (a *API) board() (*alerts.Service, error) {
	if a.cfg.Alerts == nil {
		return nil, httperr.New(httperr.Unavailable, nil).WithDetail("This server keeps no alerts.")
	}
	return a.cfg.Alerts, nil
}

func (a *API) listAlerts(ctx context.Context, in *AlertsQuery) (*reply[List[Alert]], error) {
	if _, err := a.board(); err != nil {
		return nil, err
	}
	l, wrongPage := a.listRequest(ctx, in.PageQuery)
	f, wrongFilter := in.filter(a.cfg.Alerts.Rules())
	if err := together(wrongFilter, wrongPage); err != nil {
		return nil, err
	}
	found, err := a.cfg.Query.Alerts(ctx)
	if err != nil {
		return nil, err
	}
	rows, page := window(l, rowsOf(found.Only(f)), alertPlace)
	return listReply(ctx, l, rows, page, []GapRef{}), nil
}

// alertPlace is the place of an alert in the order of the board.
func alertPlace(a Alert) query.Cursor {
	return query.Cursor{Key: fmt.Sprintf("%d %s", slices.Index(alerts.States(), alerts.State(a.State)), a.place)}
}

// filter is what the parameters select. The error is that of [alerts.ParseFilter].
func (q *AlertsQuery) filter(rules alerts.Rules) (alerts.Filter, error) {
	return alerts.ParseFilter(url.Values{"state": q.State, "rule": q.Rule, "severity": q.Severity, "agent": q.Agent}, rules)
}

func (a *API) getAlert(ctx context.Context, in *AlertInput) (*reply[Alert], error) {
	service, err := a.board()
	if err != nil {
		return nil, err
	}
	found, err := service.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := a.alertReply(ctx, found)
	if err != nil {
		return nil, err
	}
	return withTag(ctx, out.Body, out.ETag), nil
}

// alertReply is an alert as it is now, with its tag.
func (a *API) alertReply(ctx context.Context, s alerts.Standing) (*reply[Alert], error) {
	delivered, err := a.cfg.Alerts.Deliveries(ctx, s.ID, defaultLimit)
	if err != nil {
		return nil, err
	}
	out := uncached(alertOf(s, delivered))
	out.ETag = alertTag(s, out.Body)
	return out, nil
}

func (a *API) acknowledge(ctx context.Context, in *AlertActInput) (*reply[Alert], error) {
	service, err := a.board()
	if err != nil {
		return nil, err
	}
	body, err := readOptionalBody[AckRequest](requestOf(ctx), `{"note": "…"}`)
	if err != nil {
		return nil, err
	}
	found, err := service.Acknowledge(ctx, in.ID, body.Note, alertsSeen(ctx), actorOf(ctx))
	if err != nil {
		return nil, boardProblem(err)
	}
	return a.alertReply(ctx, found)
}

func (a *API) unacknowledge(ctx context.Context, in *AlertActInput) (*reply[Alert], error) {
	service, err := a.board()
	if err != nil {
		return nil, err
	}
	found, err := service.Unacknowledge(ctx, in.ID, alertsSeen(ctx), actorOf(ctx))
	if err != nil {
		return nil, boardProblem(err)
	}
	return a.alertReply(ctx, found)
}

// boardProblem is the problem of a refusal; any other error stays as it is.
func boardProblem(err error) error {
	var r *alerts.Refusal
	switch {
	case errors.Is(err, alerts.ErrConflict):
		return httperr.New(httperr.Conflict, err)
	case !errors.As(err, &r):
		return err
	case r.Changed:
		return httperr.New(httperr.EntryChanged, err).WithDetail("%s", r.Why)
	case len(r.Wrong) == 0:
		return httperr.New(httperr.Conflict, err).WithDetail("%s", r.Why)
	}
	p := httperr.New(httperr.InvalidBody, err).WithDetail("%s", r.Why)
	for _, w := range r.Wrong {
		p = p.WithField("/body"+w.Pointer, w.Why)
	}
	return p
}

func (a *API) listAlertRules(ctx context.Context, in *PageQuery) (*reply[List[AlertRule]], error) {
	service, err := a.board()
	if err != nil {
		return nil, err
	}
	l, err := a.listRequest(ctx, *in)
	if err != nil {
		return nil, err
	}
	var rows []AlertRule
	for _, r := range service.Rules() {
		rows = append(rows, alertRuleOf(r))
	}
	rows, page := window(l, rows, func(r AlertRule) query.Cursor { return query.Cursor{Key: r.ID} })
	return listReply(ctx, l, rows, page, []GapRef{}), nil
}
