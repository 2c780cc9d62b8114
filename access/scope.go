package access

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is what an operation needs and what a token carries.
type Scope string

// The scopes (SPEC 9).
const (
	Read          Scope = "read"           // See everything: pages, API, metrics.
	Metrics       Scope = "metrics"        // See /metrics and nothing else; read includes it.
	Report        Scope = "report"         // Hand in agent reports.
	TriagePropose Scope = "triage:propose" // Propose what to do with a dead letter.
	TriageApply   Scope = "triage:apply"   // Retry, reassign, defer, release.
	TriageDiscard Scope = "triage:discard" // Discard.
	Admin         Scope = "admin"          // Everything.
)

// Open is what an operation names that anybody may use, without a token. No token carries it.
const Open Scope = "open"

// Oversee is what an operation names that only administrators may use and that changes nothing, so that read-only mode allows it. No token
// carries it.
const Oversee Scope = "oversee"

// Scopes lists the scopes that a token may carry.
func Scopes() []Scope {
	return []Scope{Read, Metrics, Report, TriagePropose, TriageApply, TriageDiscard, Admin}
}

// Changes reports whether operations with this scope change something. In read-only mode they are refused.
func (s Scope) Changes() bool { return s != Read && s != Metrics && s != Oversee && s != Open }

// includes reports whether who has the scope may use what needs the other: [Admin] includes all, and who may carry something out or discard may
// propose it, and who sees everything sees the metrics.
func (s Scope) includes(o Scope) bool {
	return s == o || s == Admin || (o == TriagePropose && (s == TriageApply || s == TriageDiscard)) || (o == Metrics && s == Read)
}

// Carried is the scope that a token must carry for what an operation names.
func (s Scope) Carried() Scope {
	if s == Oversee {
		return Admin
	}
	return s
}

// declared reports whether the scope is one that an operation may name.
func (s Scope) declared() bool { return s == Open || s == Oversee || slices.Contains(Scopes(), s) }

// Role is a named set of scopes, for people.
type Role string

// The roles (SPEC 9).
const (
	Viewer        Role = "viewer"  // Sees everything and changes nothing.
	Triager       Role = "triager" // Sees everything and decides about dead letters.
	Administrator Role = "admin"   // Does everything.
)

// Roles lists the roles, the least first.
func Roles() []Role { return []Role{Viewer, Triager, Administrator} }

// Scopes lists what a role may do. A role that does not exist may do nothing.
func (r Role) Scopes() []Scope {
	switch r {
	case Viewer:
		return []Scope{Read}
	case Triager:
		return []Scope{Read, TriagePropose, TriageApply, TriageDiscard}
	case Administrator:
		return []Scope{Admin}
	}
	return nil
}

func notAScope(s Scope) string { return notOneOf("scope", s, Scopes()) }

func notARole(r Role) string { return notOneOf("role", r, Roles()) }

// notOneOf says that a text is none of the choices, and names them.
func notOneOf[T ~string](what string, text T, choices []T) string {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = string(c)
	}
	return fmt.Sprintf("%q is not a %s: choose from %s", text, what, strings.Join(names, ", "))
}
