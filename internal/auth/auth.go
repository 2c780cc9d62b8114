// Package auth decides who may ask for what: bearer tokens with scopes for programs, the same tokens as the password of HTTP basic
// authentication for browsers. Without any token configured everybody who reaches the server may do everything, which is why the
// program then listens on loopback only.
package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"fleetglass/internal/httperr"
)

// Principal is who makes a request.
type Principal struct {
	Name   string // Name of the token; "local" without authentication.
	Scopes []Scope
}

// Can reports whether the principal has the scope. [Admin] includes all.
func (p Principal) Can(s Scope) bool {
	return slices.Contains(p.Scopes, s) || slices.Contains(p.Scopes, Admin)
}

// local is everybody while no authentication is configured.
var local = Principal{Name: "local", Scopes: []Scope{Admin}}

// Config says which tokens are valid.
type Config struct {
	Token  string           // Optional; a token in clear text with scope admin.
	Tokens []Token          // Optional; hashed tokens.
	Now    func() time.Time // Required. For expiry.
	Log    *slog.Logger     // Required.
}

// Auth checks requests. It is safe for concurrent use.
type Auth struct {
	byHash map[string]Token
	now    func() time.Time
	log    *slog.Logger
}

// New returns an Auth. Without tokens it lets everybody pass.
func New(cfg Config) (*Auth, error) {
	a := &Auth{byHash: map[string]Token{}, now: cfg.Now, log: cfg.Log}
	if cfg.Token != "" {
		a.byHash[Hash(cfg.Token)] = Token{Name: "token", Scopes: []Scope{Admin}}
	}
	for _, t := range cfg.Tokens {
		key := strings.ToLower(t.SHA256)
		if _, twice := a.byHash[key]; twice {
			return nil, fmt.Errorf("token %s is configured twice", t.Name)
		}
		a.byHash[key] = t
	}
	return a, nil
}

// Configured reports whether requests need a token.
func (a *Auth) Configured() bool { return len(a.byHash) > 0 }

// Middleware lets requests pass that may, with their principal in the context, and answers the others: 401 without a valid token,
// 403 without the scope that [Required] names.
func (a *Auth) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		anyOf := Required(r)
		if len(anyOf) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		p, ok := a.identify(r)
		if !ok {
			w.Header().Add("WWW-Authenticate", `Bearer realm="fleetglass"`)
			w.Header().Add("WWW-Authenticate", `Basic realm="fleetglass: any name, the token as password", charset="UTF-8"`)
			httperr.Write(w, r, a.log, httperr.New(httperr.Unauthenticated, nil))
			return
		}
		if !slices.ContainsFunc(anyOf, p.Can) {
			a.log.WarnContext(r.Context(), "request denied", "actor", p.Name, "method", r.Method, "path", r.URL.EscapedPath(), "needs", anyOf)
			httperr.Write(w, r, a.log, httperr.New(httperr.Forbidden, nil).WithDetail("This call needs a token with scope %s.", words(anyOf)))
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, p)))
	})
}

func words(scopes []Scope) string {
	text := make([]string, len(scopes))
	for i, s := range scopes {
		text[i] = string(s)
	}
	return strings.Join(text, " or ")
}

// identify finds who makes the request: the bearer token, or the password of basic authentication.
func (a *Auth) identify(r *http.Request) (Principal, bool) {
	if !a.Configured() {
		return local, true
	}
	secret, ok := credentials(r)
	if !ok {
		return Principal{}, false
	}
	t, ok := a.byHash[Hash(secret)]
	if !ok || (!t.Expires.IsZero() && !a.now().Before(t.Expires)) {
		return Principal{}, false
	}
	return Principal{Name: t.Name, Scopes: t.Scopes}, true
}

func credentials(r *http.Request) (secret string, ok bool) {
	if _, password, ok := r.BasicAuth(); ok {
		return password, true
	}
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), ok && strings.EqualFold(scheme, "Bearer")
}

type principalKey struct{}

// From returns who makes the request of this context; ok is false where [Auth.Middleware] did not run.
func From(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(principalKey{}).(Principal)
	return p, ok
}
