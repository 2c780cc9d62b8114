package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"fleetglass/internal/routes"
)

// calls collects the calls that huma describes, until they are mounted. It implements huma.Adapter.
type calls struct{ list []route }

type route struct {
	op     *huma.Operation
	handle func(huma.Context)
}

// Handle implements huma.Adapter.
func (r *calls) Handle(op *huma.Operation, handler func(huma.Context)) {
	r.list = append(r.list, route{op, handler})
}

// ServeHTTP implements huma.Adapter. Nothing is served before the calls are mounted.
func (r *calls) ServeHTTP(w http.ResponseWriter, req *http.Request) { http.NotFound(w, req) }

// mount registers the call with the scope that it needs, and HEAD beside GET.
func (r route) mount(g *routes.Router) {
	path := strings.NewReplacer("{", ":", "}", "").Replace(r.op.Path)
	handler := func(c *gin.Context) {
		unescapeParams(c, path)
		c.Request = c.Request.WithContext(withRequest(c.Request.Context(), c.Request))
		r.handle(humagin.NewContext(r.op, c))
	}
	if r.op.Method == http.MethodGet {
		g.Get(path, scopeOf(r.op), handler)
		return
	}
	g.Change(r.op.Method, path, scopeOf(r.op), deedOf(r.op), handler)
}

// unescapeParams reads path parameters from the path as it was sent. The router's own reading depends on its settings, and takes a
// plus sign for a space.
func unescapeParams(c *gin.Context, pattern string) {
	names, segments := strings.Split(pattern, "/"), strings.Split(c.Request.URL.EscapedPath(), "/")
	for i, name := range names {
		key, isParam := strings.CutPrefix(name, ":")
		if !isParam || i >= len(segments) {
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil {
			continue // EscapedPath is always valid.
		}
		for p := range c.Params {
			if c.Params[p].Key == key {
				c.Params[p].Value = value
			}
		}
	}
}

type requestKey struct{}

func withRequest(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf is the request that a handler answers.
func requestOf(ctx context.Context) *http.Request {
	return ctx.Value(requestKey{}).(*http.Request)
}
