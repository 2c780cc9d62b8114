package api

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/internal/routes"
)

// call describes one call of the API.
type call struct {
	id       string
	needs    access.Scope // Required.
	method   string       // Default GET.
	path     string
	tag      string
	summary  string
	detail   string
	status   int            // Of success; default 200.
	example  any            // Of the answer; its type is the schema where the handler's own does not say.
	failures []httperr.Code // Beside those that every call has.
	shape    func(op *huma.Operation)
	does     routes.Deed       // Of a call that changes something: how the audit names it; by default its id.
	keys     keyUse            // What a call that changes something does with the caller's key.
	body     *huma.RequestBody // Documented only: the handler reads the body itself, because it has several forms.
}

// commonFailures lists what any call with that scope may answer, and what is answered in its place where the request goes beyond the bounds of the server,
// comes from another site, or has a method that the address does not take.
func commonFailures(needs access.Scope) []httperr.Code {
	codes := []httperr.Code{
		httperr.BadRequest, httperr.UnknownParameter, httperr.InvalidParameter, httperr.Forbidden, httperr.MethodNotAllowed, httperr.URITooLong, httperr.HeaderTooLarge,
		httperr.Internal, httperr.Unavailable, httperr.Timeout,
	}
	if needs != access.Open {
		codes = append(codes, httperr.Unauthenticated, httperr.ScopeMissing, httperr.RateLimited)
	}
	if needs.Changes() {
		codes = append(codes, httperr.ReadOnly, httperr.IdempotencyKeyReused, httperr.IdempotencyInProgress)
	}
	return codes
}

// mayFail lists what the call may answer in place of success.
func (c call) mayFail() []httperr.Code {
	codes := append(commonFailures(c.needs), c.failures...)
	if c.body != nil {
		codes = append(codes, httperr.InvalidBody, httperr.BodyTooLarge, httperr.UnsupportedMediaType, httperr.RequestTimeout)
	}
	return codes
}

// register adds a call: its handler returns errors, which become problems here and nowhere else.
func register[I, O any](a *API, c call, handler func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		OperationID: c.id, Method: c.method, Path: c.path, Summary: c.summary, Description: c.detail, Tags: []string{c.tag},
		DefaultStatus: c.status, SkipValidateParams: true, SkipValidateBody: true, Responses: a.problemResponses(c.mayFail()),
		Metadata: map[string]any{scopeKey: c.needs, keyUseKey: c.keys, deedKey: routes.Deed{Action: cmp.Or(c.does.Action, c.id), Kind: c.does.Kind}}, Security: securityOf(c.needs),
	}
	if op.Method == "" {
		op.Method = http.MethodGet
	}
	if op.DefaultStatus == 0 {
		op.DefaultStatus = http.StatusOK
	}
	if c.example != nil {
		op.Responses[strconv.Itoa(op.DefaultStatus)] = &huma.Response{
			Description: http.StatusText(op.DefaultStatus),
			Content: map[string]*huma.MediaType{"application/json": {
				Example: c.example, Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(c.example), true, ""),
			}},
		}
	}
	if c.shape != nil {
		c.shape(&op)
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err == nil {
			return out, nil
		}
		p := httperr.From(err)
		httperr.Log(requestOf(ctx), a.cfg.Log, p)
		return nil, p
	})
	if c.body != nil {
		a.huma.OpenAPI().Paths[c.path].Post.RequestBody = c.body
	}
}

// problemResponses describes failures per status.
func (a *API) problemResponses(codes []httperr.Code) map[string]*huma.Response {
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[httperr.Problem](), true, "")
	out := map[string]*huma.Response{}
	for _, e := range httperr.Table() {
		if !slices.Contains(codes, e.Code) {
			continue
		}
		status := strconv.Itoa(e.Status)
		if out[status] == nil {
			out[status] = &huma.Response{
				Description: http.StatusText(e.Status), Headers: failureHeaders(e.Status),
				Content: map[string]*huma.MediaType{httperr.ContentType: {Schema: schema, Examples: map[string]*huma.Example{}}},
			}
		}
		out[status].Content[httperr.ContentType].Examples[string(e.Code)] = &huma.Example{Summary: e.Title, Value: httperr.New(e.Code, nil)}
	}
	return out
}

// failureHeaders describes the headers that say more of a failure.
func failureHeaders(status int) map[string]*huma.Param {
	header := func(name, detail string, example any, typ string) map[string]*huma.Param {
		return map[string]*huma.Param{name: {Description: detail, Example: example, Schema: &huma.Schema{Type: typ}}}
	}
	switch status {
	case http.StatusUnauthorized:
		return header("WWW-Authenticate", "How to say who asks.", `Bearer realm="fleetglass"`, huma.TypeString)
	case http.StatusMethodNotAllowed:
		return header("Allow", "The methods that the address takes.", "HEAD, GET", huma.TypeString)
	case http.StatusTooManyRequests:
		return header("Retry-After", "How many seconds to wait.", 2, huma.TypeInteger)
	}
	return nil
}

// refuseUnknown answers requests with parameters that the call does not have, or that stand more than once where one is meant.
func (a *API) refuseUnknown(ctx huma.Context, next func(huma.Context)) {
	u := ctx.URL()
	if err := checkQuery(ctx.Operation(), u.RawQuery); err != nil {
		c := humagin.Unwrap(ctx)
		httperr.Write(c.Writer, c.Request, a.cfg.Log, err)
		return
	}
	next(ctx)
}

func checkQuery(op *huma.Operation, raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return httperr.New(httperr.BadRequest, err).WithDetail("The query string is not well-formed.")
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(query)) {
		param := queryParameter(op, name)
		switch {
		case param == nil:
			const detail = "this call has no such parameter"
			wrong = append(wrong, httperr.New(httperr.UnknownParameter, nil).WithDetail("%s: %s", name, detail).WithField(httperr.QueryPointer(name), detail))
		case len(query[name]) > 1 && param.Schema.Type != huma.TypeArray:
			wrong = append(wrong, httperr.Parameter(name, "is given more than once; give it once"))
		}
	}
	return together(wrong...)
}

func queryParameter(op *huma.Operation, name string) *huma.Param {
	for _, p := range op.Parameters {
		if p.In == "query" && p.Name == name {
			return p
		}
	}
	return nil
}

// enumerate documents the values that a query parameter of a GET call takes. The values are checked where they are read.
func enumerate[T ~string](a *API, path, name string, values []T) {
	schema := queryParameter(a.huma.OpenAPI().Paths[Base+path].Get, name).Schema
	if schema.Type == huma.TypeArray {
		schema = schema.Items
	}
	for _, v := range values {
		schema.Enum = append(schema.Enum, string(v))
	}
}
