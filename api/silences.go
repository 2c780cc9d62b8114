package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/internal/httperr"
	"fleetglass/internal/requestkey"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// Silence keeps alerts from receivers until a time.
type Silence struct {
	ID        string            `json:"id" example:"sil-3kq5w7x2m4pz"`
	Matchers  []AlertMatcher    `json:"matchers" nullable:"false" doc:"All must hold."`
	CreatedAt Instant           `json:"created_at"`
	Until     Instant           `json:"until"`
	EndedAt   Instant           `json:"ended_at" doc:"When somebody took it back; null for never."`
	Comment   string            `json:"comment" example:"we deploy"`
	By        string            `json:"by" example:"ann"`
	Links     map[string]string `json:"links"`
}

// AlertMatcher compares one field of an alert.
type AlertMatcher struct {
	Name  string `json:"name" doc:"The field of an alert that is compared." enum:"rule,severity,agent,stream,consumer,category,task_id,id" example:"agent"`
	Op    string `json:"op" doc:"Patterns are RE2 and hold for the whole value." enum:"=,!=,=~,!~" example:"="`
	Value string `json:"value" example:"marketing"`
}

// SilenceRequest is the body of a call for a silence.
type SilenceRequest struct {
	Matchers []AlertMatcher `json:"matchers" doc:"1 to 20; all must hold."`
	Until    *string        `json:"until" doc:"RFC 3339, in the future." example:"2026-11-21T08:00:00Z"`
	Comment  string         `json:"comment" doc:"Why, 3 to 2,000 characters." example:"we deploy"`
	DryRun   bool           `json:"dry_run,omitempty" doc:"Only say what it would mute."`
}

// Silenced is the answer to a call for a silence.
type Silenced struct {
	ID      Text           `json:"id" doc:"The id of the silence; null for a dry run." example:"sil-3kq5w7x2m4pz"`
	Silence Maybe[Silence] `json:"silence" doc:"Null for a dry run."`
	Mutes   []Alert        `json:"mutes" nullable:"false" doc:"The alerts that it mutes, or would mute, now."`
}

// SilenceInput names a silence.
type SilenceInput struct {
	ID string `path:"id" doc:"The id of the silence."`
}

// EndSilenceInput names a silence that is ended.
type EndSilenceInput struct {
	KeyInput
	SilenceInput
}

type silenceReply struct {
	Status       int
	Location     string `header:"Location" doc:"Where the silence is."`
	CacheControl string `header:"Cache-Control"`
	Body         Silenced
}

const (
	silenceForm   = `{"matchers": [{"name": "…", "op": "=", "value": "…"}], "until": "…", "comment": "…", "dry_run": false}`
	silenceDetail = "Keeps every alert for which all matchers hold from receivers, until the time. They stay on the board. With dry_run nothing is changed, and the answer (200) lists what would be muted."
)

func (a *API) describeSilences() {
	register(a, call{
		id: "list-silences", needs: access.Read, path: Base + "/silences", tag: "alerts", summary: "Silences that mute", example: exampleList(exampleSilence()),
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listSilences)
	register(a, call{
		id: "get-silence", needs: access.Read, path: Base + "/silences/{id}", tag: "alerts", summary: "A silence that mutes", example: exampleSilence(),
		detail: "One that has ended is not found: it mutes nothing.", failures: []httperr.Code{httperr.NotFound},
	}, a.getSilence)
	register(a, call{
		id: "create-silence", does: routes.Deed{Action: "silence alerts"}, needs: access.TriageApply, method: http.MethodPost, path: Base + "/silences", tag: "alerts", summary: "Silence alerts", detail: silenceDetail,
		status: http.StatusCreated, example: exampleSilenced(), body: a.silenceBody(), shape: a.shapeSilence, failures: []httperr.Code{httperr.InvalidBody, httperr.BodyTooLarge, httperr.Conflict},
	}, a.createSilence)
	register(a, call{
		id: "end-silence", does: routes.Deed{Action: "end silence"}, needs: access.TriageApply, method: http.MethodDelete, path: Base + "/silences/{id}", tag: "alerts", summary: "End a silence", example: exampleSilence(),
		failures: []httperr.Code{httperr.NotFound, httperr.Conflict},
	}, a.endSilence)
}

func (a *API) silenceBody() *huma.RequestBody {
	until := "2026-11-21T08:00:00Z"
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema:  a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[SilenceRequest](), true, ""),
		Example: SilenceRequest{Matchers: []AlertMatcher{{Name: "agent", Op: "=", Value: "marketing"}}, Until: &until, Comment: "we deploy"},
	}}}
}

func (a *API) shapeSilence(op *huma.Operation) {
	op.Responses["200"] = &huma.Response{Description: "What it would mute (dry_run)", Content: map[string]*huma.MediaType{"application/json": {
		Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Silenced](), true, ""), Example: Silenced{Mutes: []Alert{exampleAlert()}},
	}}}
}

func silenceOf(s alerts.Silence) Silence {
	out := Silence{
		ID: s.ID, Matchers: []AlertMatcher{}, CreatedAt: Instant(s.CreatedAt), Until: Instant(s.Until), EndedAt: Instant(s.EndedAt), Comment: s.Comment, By: s.By,
		Links: map[string]string{"self": silencePath(s.ID)},
	}
	for _, m := range s.Matchers {
		out.Matchers = append(out.Matchers, AlertMatcher{m.Name, string(m.Op), m.Value})
	}
	return out
}

func (a *API) listSilences(ctx context.Context, in *PageQuery) (*reply[List[Silence]], error) {
	service, err := a.board()
	if err != nil {
		return nil, err
	}
	l, err := a.listRequest(ctx, *in)
	if err != nil {
		return nil, err
	}
	_, active, err := service.List(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]Silence, len(active))
	for i, s := range active {
		rows[i] = silenceOf(s)
	}
	rows, page := window(l, rows, func(s Silence) query.Cursor { return query.Cursor{At: lifecycle.Micros(s.CreatedAt), Key: s.ID} })
	return listReply(ctx, l, rows, page, []GapRef{}), nil
}

func (a *API) getSilence(ctx context.Context, in *SilenceInput) (*reply[Silence], error) {
	service, err := a.board()
	if err != nil {
		return nil, err
	}
	_, active, err := service.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range active {
		if s.ID == in.ID {
			return uncached(silenceOf(s)), nil
		}
	}
	return nil, httperr.New(httperr.NotFound, nil)
}

func (a *API) createSilence(ctx context.Context, _ *KeyInput) (*silenceReply, error) {
	service, err := a.board()
	if err != nil {
		return nil, err
	}
	body, err := readBody[SilenceRequest](requestOf(ctx), silenceForm)
	if err != nil {
		return nil, err
	}
	if body.DryRun {
		requestkey.ChangedNothing(ctx)
	}
	want := alerts.Silence{Comment: body.Comment}
	var wrongUntil error
	want.Until, wrongUntil = bodyInstant("until", body.Until)
	for _, m := range body.Matchers {
		want.Matchers = append(want.Matchers, alerts.Matcher{Name: m.Name, Op: alerts.Op(m.Op), Value: m.Value})
	}
	if wrongUntil != nil {
		return nil, together(wrongUntil, boardProblem(service.Check(want)))
	}
	made, muted, err := service.Silence(ctx, want, body.DryRun, actorOf(ctx))
	if err != nil {
		return nil, boardProblem(err)
	}
	return silencedReply(made, muted, body.DryRun), nil
}

func silencedReply(made alerts.Silence, muted []alerts.Standing, dry bool) *silenceReply {
	out := &silenceReply{Status: http.StatusOK, CacheControl: "no-store", Body: Silenced{Mutes: []Alert{}}}
	for _, m := range muted {
		out.Body.Mutes = append(out.Body.Mutes, alertOf(m, nil))
	}
	if !dry {
		silence := silenceOf(made)
		out.Status, out.Location = http.StatusCreated, silencePath(made.ID)
		out.Body.ID, out.Body.Silence.Value = Text(made.ID), &silence
	}
	return out
}

func (a *API) endSilence(ctx context.Context, in *EndSilenceInput) (*reply[Silence], error) {
	service, err := a.board()
	if err != nil {
		return nil, err
	}
	ended, err := service.EndSilence(ctx, in.ID, actorOf(ctx))
	if err != nil {
		return nil, boardProblem(err)
	}
	return uncached(silenceOf(ended)), nil
}
