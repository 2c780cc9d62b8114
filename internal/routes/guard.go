package routes

import (
	"context"
	"net/http"
	"net/url"
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
	deeds    map[route]Deed
	attempts *attempts
	asked    asked
	seats    *seats
}

// check lets a request pass to its route, with its principal in the context, or answers it: 401 without a valid token, 429 after too many
// that are not valid and after too many requests, 403 without the scope, in read-only mode, and where the route names no scope. The
// context of what passes ends with the token.
func (g *guard) check(c *gin.Context) {
	needs := g.needs[route{c.Request.Method, c.FullPath()}]
	if needs == access.Open {
		return
	}
	who, err := g.admit(c, needs)
	if err != nil {
		g.refuse(c, err)
		return
	}
	ctx, release := g.hold(withTarget(access.With(c.Request.Context(), who), g.deed(c).target(c)), who)
	defer release()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// admit finds who asks, and errors where that principal may not use the route, or not now.
func (g *guard) admit(c *gin.Context, needs access.Scope) (access.Principal, error) {
	who, err := g.identify(c.Request)
	if err != nil {
		return who, err
	}
	if err := g.count(c.Request, who); err != nil {
		g.Limited()
		return who, err
	}
	if c.FullPath() == "" {
		return who, nil // What answers for addresses that nobody has.
	}
	if err = g.Authorizer.Authorize(who, needs); err != nil && who.Name != "" && needs.Changes() {
		deed := g.deed(c)
		g.Denied(Denial{Request: c.Request, Action: deed.Action, Target: deed.target(c), Who: who, Why: err})
	}
	return who, err
}

// hold returns a context that ends with the principal's token and session.
func (g *guard) hold(ctx context.Context, who access.Principal) (context.Context, context.CancelFunc) {
	ctx, release := g.Tokens.Hold(ctx, who)
	if g.Sessions == nil {
		return ctx, release
	}
	ctx, end := g.Sessions.Hold(ctx, who)
	return ctx, func() { end(); release() }
}

// count holds a principal to its limit. What a tool asks of the API was counted at the tools' own door.
func (g *guard) count(r *http.Request, who access.Principal) error {
	if access.Via(r.Context()) != "" {
		return nil
	}
	return g.asked.pass(who, g.Now())
}

// identify finds who asks: by the token of the request, else by its session.
func (g *guard) identify(r *http.Request) (access.Principal, error) {
	token := secret(r)
	if token == "" && g.Sessions != nil {
		if who, ok := g.Sessions.Owner(r); ok {
			who.Agents = g.Tokens.AgentsOf(who.Token)
			return who, nil
		}
	}
	return g.identifyToken(r, token)
}

// identifyToken finds who has a token. One that is not valid is a sign-in that failed; none at all is not one.
func (g *guard) identifyToken(r *http.Request, token string) (access.Principal, error) {
	who, err := g.Tokens.Identify(token)
	if err == nil || token == "" {
		return who, err
	}
	return who, g.failed(r, err)
}

func (g *guard) refuse(c *gin.Context, err error) {
	h := c.Writer.Header()
	h.Del("Allow") // The router says there which methods a path has, before anybody is known.
	switch problem := httperr.From(err); problem.Code {
	case httperr.Unauthenticated:
		if g.SignIn != "" && opensPage(c.Request) {
			c.Redirect(http.StatusSeeOther, g.SignIn+"?next="+url.QueryEscape(c.Request.URL.RequestURI()))
			c.Abort()
			return
		}
		h.Add("WWW-Authenticate", `Bearer realm="fleetglass"`)
		h.Add("WWW-Authenticate", `Basic realm="fleetglass: any name, the token as password", charset="UTF-8"`)
	case httperr.ScopeMissing, httperr.ReadOnly, httperr.Forbidden:
		g.Log.WarnContext(c.Request.Context(), "request denied", "method", c.Request.Method, "route", c.FullPath(), "error", err)
	}
	httperr.Write(c.Writer, c.Request, g.Log, err)
	c.Abort()
}

// opensPage reports whether a person opens a page in a browser, without a token.
func opensPage(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	return reads && r.Header.Get("Authorization") == "" && strings.Contains(r.Header.Get("Accept"), "text/html")
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
