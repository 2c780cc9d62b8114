package api

import (
	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/internal/routes"
)

// scopeKey is where an operation carries its scope among its metadata, which the document does not show.
const scopeKey = "scope"

// scopeOf is the scope that an operation needs; empty when it names none.
func scopeOf(op *huma.Operation) access.Scope {
	s, _ := op.Metadata[scopeKey].(access.Scope)
	return s
}

// deedKey is where an operation carries how the audit names it.
const deedKey = "deed"

func deedOf(op *huma.Operation) routes.Deed {
	d, _ := op.Metadata[deedKey].(routes.Deed)
	return d
}

// tokenScheme names the way in which programs say who they are.
const tokenScheme = "token"

// securitySchemes describes that way.
func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{tokenScheme: {
		Type: "http", Scheme: "bearer", Description: "A bearer token with the scope that the call names, or with admin, which includes all. Not needed where authentication is off.",
	}}
}

// securityOf says in the document which scope an operation needs.
func securityOf(needs access.Scope) []map[string][]string {
	if needs == access.Open {
		return nil
	}
	return []map[string][]string{{tokenScheme: {string(needs.Carried())}}}
}
