package routes

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
)

// route is a method and the pattern of a path, as the router found them.
type route struct{ method, pattern string }

// guard asks the authorizer before a handler sees the request.
type guard struct {
	Config
	needs    map[route]access.Scope
	attempts *attempts
}

// check lets a request pass to its route, with its principal in the context, or answers it: 401 without a valid token, 429 after too many
// that are not valid, 403 without the scope, in read-only mode, and where the route names no scope. The context of what passes ends with
// the token.
func (g *guard) check(c *gin.Context) {
	needs := g.needs[route{c.Request.Method, c.FullPath()}]
	if needs == access.Open {
		return
	}
	who, err := g.identify(c.Request)
	if known := c.FullPath() != ""; known && err == nil {
		err = g.Authorizer.Authorize(who, needs)
	}
	if err != nil {
		if who.Name != "" && needs.Changes() && c.FullPath() != "" {
			g.Denied(Denial{c.Request, c.FullPath(), who, err})
		}
		g.refuse(c, err)
		return
	}
	ctx, release := g.Tokens.Hold(access.With(c.Request.Context(), who), who)
	defer release()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// identify finds who asks. A secret that is not valid is a sign-in that failed; no secret at all is not one.
func (g *guard) identify(r *http.Request) (access.Principal, error) {
	text := secret(r)
	who, err := g.Tokens.Identify(text)
	if err == nil || text == "" {
		return who, err
	}
	return who, g.failed(r, err)
}

func (g *guard) refuse(c *gin.Context, err error) {
	h := c.Writer.Header()
	h.Del("Allow") // The router says there which methods a path has, before anybody is known.
	switch problem := httperr.From(err); problem.Code {
	case httperr.Unauthenticated:
		h.Add("WWW-Authenticate", `Bearer realm="fleetglass"`)
		h.Add("WWW-Authenticate", `Basic realm="fleetglass: any name, the token as password", charset="UTF-8"`)
	case httperr.ScopeMissing, httperr.ReadOnly, httperr.Forbidden:
		g.Log.WarnContext(c.Request.Context(), "request denied", "method", c.Request.Method, "route", c.FullPath(), "error", err)
	}
	httperr.Write(c.Writer, c.Request, g.Log, err)
	c.Abort()
}

// secret is the bearer token, or the password of basic authentication; empty when there is none.
func secret(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(text)
}
