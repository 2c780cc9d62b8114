package access

import (
	"context"
	"slices"
)

// Principal is who asks for something. The zero Principal may do nothing.
type Principal struct {
	Name   string // Name of the token; "local" without authentication.
	Token  string // Hash of the token that proved it; empty for those that need none.
	Scopes []Scope
}

// Local is everybody while no authentication is configured. It may do everything, which is why the program then listens on loopback
// only.
func Local() Principal { return Principal{Name: "local", Scopes: []Scope{Admin}} }

// Can reports whether the principal has the scope. [Admin] includes all.
func (p Principal) Can(s Scope) bool {
	return slices.Contains(p.Scopes, s) || slices.Contains(p.Scopes, Admin)
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
