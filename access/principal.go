package access

import (
	"context"
	"slices"
	"strings"
)

// Principal is who asks for something. The zero Principal may do nothing.
type Principal struct {
	Name    string // Name of the token, or of the person; "local" without authentication.
	Token   string // Hash of the token that proved it; empty for those that need none.
	Scopes  []Scope
	Agents  []string // The only agents that it may report for; empty for any, in its own name.
	Session string   // The session that the request came with (package internal/sessions); empty for none.
}

// Local is everybody while no authentication is configured. It may do everything, which is why the program then listens on loopback
// only.
func Local() Principal { return Principal{Name: "local", Scopes: []Scope{Admin}} }

// Can reports whether the principal has the scope, or one that includes it.
func (p Principal) Can(s Scope) bool {
	return slices.ContainsFunc(p.Scopes, func(has Scope) bool { return has.includes(s) })
}

// Role names what the principal may do, for the audit: a role where one has exactly its scopes, and else the scopes.
func (p Principal) Role() string {
	names := make([]string, len(p.Scopes))
	for i, s := range p.Scopes {
		names[i] = string(s)
	}
	for _, r := range Roles() {
		if slices.Equal(r.Scopes(), p.Scopes) {
			return string(r)
		}
	}
	return strings.Join(names, " ")
}

// TokenID names the token in the audit: the beginning of its hash. It is empty for principals that need no token.
func (p Principal) TokenID() string { return p.Token[:min(len(p.Token), 12)] }

// Holder names who is held to a limit: a token, however many sessions began with it, else a person by name.
func (p Principal) Holder() string {
	if p.Token != "" {
		return "token " + p.Token
	}
	return "name " + p.Name
}

type principalKey struct{}

// With returns a context that carries who asks.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns who asks. Where nobody was put into the context it returns the zero Principal, which may do nothing.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
