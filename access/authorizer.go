package access

import (
	"errors"
	"fmt"
)

// Why an operation is refused. Each refusal is a [*Denied] that wraps one of them.
var (
	ErrUnauthenticated = errors.New("not signed in") // No token, or one that is not valid.
	ErrExpired         = fmt.Errorf("%w: the token has expired", ErrUnauthenticated)
	ErrScopeMissing    = errors.New("scope missing")                // The principal does not have the scope.
	ErrReadOnly        = errors.New("read-only mode")               // The operation changes something.
	ErrUndeclared      = errors.New("the operation names no scope") // A mistake in the program: the operation is refused to everybody.
)

// Denied is a refusal: who asked for what, and why it was refused.
type Denied struct {
	Actor string // Name of the principal; empty for nobody.
	Needs Scope  // What the operation needs.
	Why   error  // One of the sentinels of this package.
}

// Error implements error, for logs.
func (d *Denied) Error() string {
	switch {
	case d.Needs == "" && d.Actor == "":
		return d.Why.Error()
	case d.Needs == "":
		return fmt.Sprintf("%q: %v", d.Actor, d.Why)
	}
	return fmt.Sprintf("%q is refused what needs scope %q: %v", d.Actor, d.Needs, d.Why)
}

// Unwrap returns the reason.
func (d *Denied) Unwrap() error { return d.Why }

// Authorizer decides whether a principal may do something. Everything that acts for somebody asks it before it acts.
type Authorizer struct {
	ReadOnly bool // Optional; refuses every operation that changes something, whoever asks.
}

// Authorize returns nil when the principal may use an operation that needs the scope, else a [*Denied]. An operation that names no
// scope, or one that does not exist, is refused to everybody.
func (a Authorizer) Authorize(who Principal, needs Scope) error {
	deny := func(why error) error { return &Denied{Actor: who.Name, Needs: needs, Why: why} }
	switch {
	case !needs.declared():
		return deny(ErrUndeclared)
	case needs == Open:
		return nil
	case len(who.Scopes) == 0:
		return deny(ErrUnauthenticated)
	case !who.Can(needs):
		return deny(ErrScopeMissing)
	case a.ReadOnly && needs.Changes():
		return deny(ErrReadOnly)
	}
	return nil
}
