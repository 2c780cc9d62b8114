// Package access decides who may do what. A [Principal] is who asks, a [Scope] is what an operation needs, and the [Authorizer] is the
// one place that compares both: HTTP, tools for agents and automatic triage all ask it. [Tokens] finds the principal behind a secret.
// The package knows nothing of HTTP.
package access
