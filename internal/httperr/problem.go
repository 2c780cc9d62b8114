// Package httperr is how failures look to clients: one table of codes and texts, RFC 9457 problem documents, and the mapping from the
// errors of the domain. Users see text from the table; operators see the cause in the log.
package httperr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fleetglass/access"
	"fleetglass/lifecycle"
	"fleetglass/reveal"
)

// ContentType is the media type of problem documents (RFC 9457).
const ContentType = "application/problem+json"

// TypeBase is followed by the code in the type of a problem: the place in the human documentation that explains it.
const TypeBase = "/api/docs#problem-"

// Problem is a failure as clients see it, with its cause for the log. It implements error.
type Problem struct {
	Type      string       `json:"type" doc:"Where the kind of problem is explained." example:"/api/docs#problem-invalid_parameter"`
	Title     string       `json:"title" doc:"The kind of problem in a few words." example:"Invalid parameter"`
	Status    int          `json:"status" doc:"The HTTP status." example:"400"`
	Detail    string       `json:"detail" doc:"What is wrong with this request." example:"state: \"lost\" is not a state"`
	Code      Code         `json:"code" doc:"The kind of problem, for programs." example:"invalid_parameter"`
	Errors    []FieldError `json:"errors" doc:"The parts of the request that are wrong; may be empty."`
	Retryable bool         `json:"retryable" doc:"Whether the same request may succeed later." example:"false"`
	Blocked   []Blocked    `json:"blocked,omitempty" doc:"With not_eligible: everything that stands against the action."`

	cause  error
	header http.Header
}

// FieldError says which part of a request is wrong.
type FieldError struct {
	Pointer string `json:"pointer" doc:"A JSON pointer into the request: /query/<name>, /header/<name> or /body/…" example:"/query/state"`
	Detail  string `json:"detail" doc:"What is wrong with it." example:"\"lost\" is not a state"`
}

// Blocked is one thing that stands against an action.
type Blocked struct {
	Code string `json:"code" doc:"What it is, for programs." example:"completion_known"`
	Why  string `json:"why" doc:"What it is, for people." example:"A record says that the task is completed."`
}

// New returns a problem with the texts of the table. cause is for the log only and may be nil.
func New(code Code, cause error) *Problem {
	e := lookup(code)
	return &Problem{
		Type: TypeBase + string(e.Code), Title: e.Title, Status: e.Status, Detail: e.Detail, Code: e.Code,
		Errors: []FieldError{}, Retryable: e.Retryable, cause: cause,
	}
}

// WithDetail replaces the detail. The text is shown to users: it must not carry a cause from below.
func (p *Problem) WithDetail(format string, args ...any) *Problem {
	p.Detail = clean(fmt.Sprintf(format, args...))
	return p
}

// WithField adds a part of the request that is wrong.
func (p *Problem) WithField(pointer, detail string) *Problem {
	p.Errors = append(p.Errors, FieldError{Pointer: clean(pointer), Detail: clean(detail)})
	return p
}

// And adds the parts of the request that another problem names, and what that says of them. The code stays.
func (p *Problem) And(other *Problem) *Problem {
	before := len(p.Errors)
	for _, e := range other.Errors {
		if !slices.ContainsFunc(p.Errors, func(named FieldError) bool { return named.Pointer == e.Pointer }) {
			p.Errors = append(p.Errors, e)
		}
	}
	if len(p.Errors) > before {
		p.Detail = strings.TrimSuffix(p.Detail, ".") + ". " + other.Detail
	}
	return p
}

// WithBlocked adds something that stands against an action.
func (p *Problem) WithBlocked(code, why string) *Problem {
	p.Blocked = append(p.Blocked, Blocked{Code: code, Why: clean(why)})
	return p
}

// WithHeader adds a response header, such as Retry-After.
func (p *Problem) WithHeader(name, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

// Parameter is the problem of a query parameter with a value that cannot be used.
func Parameter(name, detail string) *Problem {
	return New(InvalidParameter, nil).WithDetail("%s: %s", name, detail).WithField(QueryPointer(name), detail)
}

// QueryPointer is the JSON pointer of a query parameter.
func QueryPointer(name string) string { return "/query/" + Token(name) }

// Token writes a name as a token of a JSON pointer (RFC 6901).
func Token(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// clean keeps text valid: what a client sent may come back in it.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Error implements error, for logs.
func (p *Problem) Error() string {
	if p.cause != nil {
		return string(p.Code) + ": " + p.cause.Error()
	}
	return string(p.Code) + ": " + p.Detail
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus is the HTTP status, in the form that huma asks for.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders are the extra response headers, in the form that huma asks for.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType is the media type of the document, in the form that huma asks for.
func (p *Problem) ContentType(string) string { return ContentType }

// From maps any error to a problem. A problem in its chain is that problem; what is not known is internal.
func From(err error) *Problem {
	var problem *Problem
	var filter *lifecycle.FilterError
	var tooLarge *http.MaxBytesError
	var denied *access.Denied
	var unrevealed *reveal.Refusal
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &filter):
		return fromFilter(err)
	case errors.As(err, &tooLarge):
		return New(BodyTooLarge, err).WithDetail("The body is larger than the %d bytes that are accepted.", tooLarge.Limit)
	case errors.As(err, &denied):
		return fromDenied(denied)
	case errors.As(err, &unrevealed) && unrevealed.Allowed:
		return New(ReasonRequired, err).WithDetail("%s", unrevealed.Why).WithField("/body/reason", "is needed")
	case errors.As(err, &unrevealed):
		return New(ScopeMissing, err).WithDetail("%s", unrevealed.Why)
	case errors.Is(err, lifecycle.ErrNotFound):
		return New(NotFound, err)
	case errors.Is(err, lifecycle.ErrCrowded):
		return New(RateLimited, err).WithDetail("Too many searches wait. Try again in a few seconds, or narrow the search.").WithHeader("Retry-After", "2")
	case errors.Is(err, lifecycle.ErrClosed), errors.Is(err, lifecycle.ErrUnable):
		return New(Unavailable, err)
	case errors.Is(err, context.DeadlineExceeded):
		return New(Timeout, err)
	case errors.Is(err, context.Canceled):
		return New(ClientClosed, err)
	}
	return New(Internal, err)
}

// fromFilter is the problem of all parameters that an error says to be wrong.
func fromFilter(err error) *Problem {
	p := New(InvalidParameter, err)
	var details []string
	for _, wrong := range lifecycle.FilterErrors(err) {
		p.WithField(QueryPointer(wrong.Parameter), wrong.Detail)
		details = append(details, wrong.Error())
	}
	return p.WithDetail("%s", strings.Join(details, ". "))
}

// fromDenied is the problem of a refusal of the authorizer.
func fromDenied(d *access.Denied) *Problem {
	switch {
	case errors.Is(d, access.ErrExpired):
		return New(Unauthenticated, d).WithDetail("The token has expired. Ask an administrator for a new one.")
	case errors.Is(d, access.ErrUnauthenticated):
		return New(Unauthenticated, d)
	case errors.Is(d, access.ErrScopeMissing):
		return New(ScopeMissing, d).WithDetail("This call needs the scope %s, which your token or role does not have.", d.Needs.Carried())
	case errors.Is(d, access.ErrReadOnly):
		return New(ReadOnly, d)
	}
	return New(Forbidden, d).WithDetail("This address does not say which scope it needs, so nobody may use it.")
}
