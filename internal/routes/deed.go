package routes

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
)

// Deed says how the audit names what a route does, so that a refusal by the guard reads as the record of what was allowed.
type Deed struct {
	Action string // The name that the record of an allowed one has; the name of the call where only its body says which action is wanted.
	Kind   string // Optional; the word before the id in the target, such as token.
}

// Change adds a route that changes something, and says how the audit names that.
func (r *Router) Change(method, path string, needs access.Scope, does Deed, h gin.HandlerFunc) {
	r.guard.deeds[route{method, path}] = does
	r.Handle(method, path, needs, h)
}

// deed is what the route of a request does; one that does not say so is named by method and pattern.
func (g *guard) deed(c *gin.Context) Deed {
	if d := g.deeds[route{c.Request.Method, c.FullPath()}]; d.Action != "" {
		return d
	}
	return Deed{Action: c.Request.Method + " " + c.FullPath()}
}

// target is what the request is about: the ids in its path, as records of what was allowed have them; the path where it has none.
func (d Deed) target(c *gin.Context) string {
	var ids []string
	for _, p := range c.Params {
		ids = append(ids, strings.TrimPrefix(p.Value, "/"))
	}
	if len(ids) == 0 {
		return c.Request.URL.Path
	}
	return strings.TrimSpace(d.Kind + " " + strings.Join(ids, ":"))
}

type targetKey struct{}

func withTarget(ctx context.Context, target string) context.Context {
	return context.WithValue(ctx, targetKey{}, target)
}

// TargetOf is what a request that the guard let pass is about, as the audit names it: the ids in its path, or its path.
func TargetOf(r *http.Request) string {
	target, _ := r.Context().Value(targetKey{}).(string)
	return target
}
