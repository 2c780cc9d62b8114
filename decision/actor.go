package decision

import "fleetglass/lifecycle"

// Actor is who decides or asks, as audit records name it.
type Actor struct {
	Name    string // A person, a program, the policy.
	Role    string // What it may do.
	TokenID string // Which token was shown; empty for none.
	Via     string // One of the ways below.
	Request string // Names the call that the actor makes among its repetitions; empty for a call without a key.
}

// The ways in which actors come in.
const (
	ViaPage = "page"
	ViaAPI  = "api"
	ViaMCP  = "mcp"
	ViaAuto = "auto" // The policy, without anybody asking.
)

// Record is an audit record of the actor. What it was about is the caller's to fill in.
func (a Actor) Record(id string, at lifecycle.Micros, action, outcome string) AuditRecord {
	return AuditRecord{
		ID: id, At: at, Actor: a.Name, Role: a.Role, TokenID: a.TokenID, Via: a.Via, Action: action, Outcome: outcome, RequestID: a.Request,
	}
}
