// Package routes is the router of pages and API, in which every route names the scope that it needs. A request is judged by the
// route that the router found for it, never by the spelling of its path. A route that names no scope is refused to everybody, and an
// address that nobody has is told to principals only.
package routes

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
)

// Config says who may use the routes.
type Config struct {
	Tokens     *access.Tokens    // Required.
	Sessions   Sessions          // Optional; sessions of people who signed in.
	SignIn     string            // Optional; the page to which people are sent who must sign in first. Without it browsers ask for a password.
	Authorizer access.Authorizer // Optional; its zero value lets principals change what their scopes allow.
	Failed     func(why Failure) // Optional; counts sign-ins that failed.
	PerSecond  float64           // Optional; how often each principal may ask, lastingly. Zero for no limit.
	Streams    StreamLimits      // Optional; see there.
	Limited    func()            // Optional; counts requests beyond that.
	Denied     func(Denial)      // Optional; hears of everybody known who was refused what changes something.
	Now        func() time.Time  // Optional; default time.Now.
	Log        *slog.Logger      // Optional; default discards.
}

// Denial is the refusal of a request whose principal is known.
type Denial struct {
	Request *http.Request
	Action  string // What was wanted, by the name that the route declares, or by the action where the body said which; see [Deed].
	Target  string // What it was wanted of.
	Who     access.Principal
	Why     error
}

// Sessions finds who signed in with a browser (package sessions).
type Sessions interface {
	// Owner returns who has the session of a request; ok is false where there is none.
	Owner(r *http.Request) (who access.Principal, ok bool)
	// Hold returns a context that ends when the principal's session ends.
	Hold(ctx context.Context, who access.Principal) (held context.Context, release context.CancelFunc)
}

// Router adds routes to an engine together with the scopes that they need.
type Router struct {
	engine     *gin.Engine
	group      gin.IRoutes
	guard      *guard
	middleware []gin.HandlerFunc // Of the group.
}

// New guards an engine, which must not have any route yet. Routes are added by the Router only; whatever is added to the engine itself
// names no scope and is refused. The engine does not redirect to similar addresses: it would do so before anybody is known.
func New(engine *gin.Engine, cfg Config) *Router {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Failed == nil {
		cfg.Failed = func(Failure) {}
	}
	if cfg.Denied == nil {
		cfg.Denied = func(Denial) {}
	}
	if cfg.Limited == nil {
		cfg.Limited = func() {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	g := &guard{Config: cfg, needs: map[route]access.Scope{}, deeds: map[route]Deed{}, attempts: newAttempts(), asked: asked{perSecond: cfg.PerSecond}}
	g.seats = &seats{limits: cfg.Streams.withDefaults(), by: map[string]int{}}
	engine.RedirectTrailingSlash, engine.RedirectFixedPath = false, false
	engine.Use(g.check)
	return &Router{engine: engine, group: engine, guard: g}
}

// With returns a Router that adds its routes to the same engine, with middleware before their handlers, behind that of this Router.
func (r *Router) With(middleware ...gin.HandlerFunc) *Router {
	all := slices.Concat(r.middleware, middleware)
	return &Router{engine: r.engine, group: r.engine.Group("", all...), guard: r.guard, middleware: all}
}

// Handle adds a route and says which scope it needs.
func (r *Router) Handle(method, path string, needs access.Scope, h gin.HandlerFunc) {
	r.guard.needs[route{method, path}] = needs
	r.group.Handle(method, path, h)
}

// Get adds a route for GET and HEAD.
func (r *Router) Get(path string, needs access.Scope, h gin.HandlerFunc) {
	r.Handle(http.MethodGet, path, needs, h)
	r.Handle(http.MethodHead, path, needs, h)
}

// Identify finds the principal behind a token that somebody typed. A token that is not valid is a sign-in that failed: it is logged,
// counted and limited like those of other requests.
func (r *Router) Identify(request *http.Request, token string) (access.Principal, error) {
	return r.guard.identifyToken(request, token)
}

// Route is one route of the engine with the scope that it needs, which is empty when the route names none.
type Route struct {
	Method, Path string
	Needs        access.Scope
}

// Routes lists every route of the engine, also those that were added beside the Router.
func (r *Router) Routes() []Route {
	var out []Route
	for _, info := range r.engine.Routes() {
		out = append(out, Route{info.Method, info.Path, r.guard.needs[route{info.Method, info.Path}]})
	}
	return out
}
