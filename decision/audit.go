package decision

import (
	"math"
	"slices"

	"fleetglass/lifecycle"
)

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
	RequestID string           // Names the call among its repetitions; empty for a call without a key.
}

// AuditFilter selects audit records. The zero value selects all.
type AuditFilter struct {
	Actor, Action, Outcome string           // Exactly this; empty for any.
	From, To               lifecycle.Micros // From ≤ at < to; zero for no bound.
}

// Reading is where a list of the records that f selects is read from, and the bound in time where it ends: at or after that time, or before it where it is
// read towards newer records. A nil place is the beginning of the list.
func (f AuditFilter) Reading(from *AuditCursor) (begin AuditCursor, end lifecycle.Micros) {
	to := f.To
	if !to.Known() {
		to = math.MaxInt64
	}
	switch {
	case from == nil || (!from.Newer && from.At >= to):
		return AuditCursor{At: to}, f.From
	case from.Newer:
		return *from, to
	}
	return *from, f.From
}

// AuditCursor is a place in the list, from which it is read on.
type AuditCursor struct {
	At    lifecycle.Micros
	ID    string
	Newer bool // The list is read towards newer records. They still come newest first.
}

// Page makes a page of what was read from c, in the order of reading: at most limit records, the newest first, and the place where reading goes on; nil where
// nothing more was found.
func (c AuditCursor) Page(found []AuditRecord, limit int) (page []AuditRecord, next *AuditCursor) {
	if len(found) > limit {
		found = found[:limit]
		last := found[limit-1]
		next = &AuditCursor{At: last.At, ID: last.ID, Newer: c.Newer}
	}
	if c.Newer {
		slices.Reverse(found)
	}
	return found, next
}
