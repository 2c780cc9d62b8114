package decision

import "fleetglass/lifecycle"

// The outcomes of an audit record.
const (
	Allowed = "allowed"
	Denied  = "denied"
)

// AuditRecord says who did or wanted what. Records are only ever added.
type AuditRecord struct {
	ID        string           // Required. A record that is given again changes nothing.
	At        lifecycle.Micros // Required.
	Actor     string           // Who: a person, a program, the policy.
	Role      string           //
	TokenID   string           // Which token was shown; empty for none.
	Via       string           // How the actor came in; see [Actor].
	Action    string           // What: such as retry, sign-in.
	Target    string           // On what.
	Outcome   string           // Required. Allowed or Denied.
	Reason    string           // Why the actor wanted it, or why it was refused.
	Before    []byte           // JSON of what was there before; empty where that says nothing.
	After     []byte           // JSON of what is there now.
	RequestID string           //
}

// AuditFilter selects audit records. The zero value selects all.
type AuditFilter struct {
	Actor, Action, Outcome string           // Exactly this; empty for any.
	From, To               lifecycle.Micros // From ≤ at < to; zero for no bound.
}

// AuditCursor is the place of a record in the list.
type AuditCursor struct {
	At lifecycle.Micros
	ID string
}
