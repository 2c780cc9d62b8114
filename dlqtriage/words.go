package dlqtriage

// Path is how a message came to be dead (SPEC 2).
type Path string

// The paths. The empty one means that nothing seen tells.
const (
	PathMaxDeliveries   Path = "max_deliveries"   // Its attempts were used up.
	PathTerminated      Path = "terminated"       // Its worker gave it up for good.
	PathContextOverflow Path = "context_overflow" // Its worker gave it up because it is larger than the model's context.
	PathFilterRejected  Path = "filter_rejected"  // No consumer takes its subject.
)

// Paths lists all paths.
func Paths() []Path {
	return []Path{PathMaxDeliveries, PathTerminated, PathContextOverflow, PathFilterRejected}
}

// Category says what may help (SPEC 5).
type Category string

// The categories.
const (
	Transient                Category = "transient"                 // Trying again helps.
	ConditionallyRecoverable Category = "conditionally_recoverable" // Trying again helps when something is changed.
	Permanent                Category = "permanent"                 // Trying again never helps.
	Unclassified             Category = "unclassified"              // Nobody knows: it is shown as such.
)

// Categories lists all categories.
func Categories() []Category {
	return []Category{Transient, ConditionallyRecoverable, Permanent, Unclassified}
}

// Kind is what kind of cause it is.
type Kind string

// The kinds of cause.
const (
	KindTransient Kind = "transient" // It passes by itself.
	KindResource  Kind = "resource"  // Something was used up, or is not there.
	KindLogic     Kind = "logic"     // The work itself is wrong, or was done wrong.
	KindAuthority Kind = "authority" // The agent may not do it.
)

// Kinds lists all kinds of cause.
func Kinds() []Kind { return []Kind{KindTransient, KindResource, KindLogic, KindAuthority} }

// Status is what was decided about an entry.
type Status string

// The statuses of an entry.
const (
	StatusOpen        Status = "open"        // Nobody decided, or the decision was taken back.
	StatusActing      Status = "acting"      // Somebody decided; what comes of it is not known yet.
	StatusDeferred    Status = "deferred"    // It waits for a time, or for a person.
	StatusRetried     Status = "retried"     // It was published again.
	StatusReassigned  Status = "reassigned"  // It was published again for another agent.
	StatusDiscarded   Status = "discarded"   // Nothing is to be done about it.
	StatusQuarantined Status = "quarantined" // It is kept apart.
)

// Statuses lists all statuses.
func Statuses() []Status {
	return []Status{StatusOpen, StatusActing, StatusDeferred, StatusRetried, StatusReassigned, StatusDiscarded, StatusQuarantined}
}

// Unsettled lists the statuses of entries that wait for somebody to decide, or for what was decided to be done. Retention keeps them.
func Unsettled() []Status { return []Status{StatusOpen, StatusActing, StatusDeferred} }

// Outcome is what became of the message that followed an entry.
type Outcome string

// The outcomes. The empty one means that no message followed.
const (
	OutcomeWaiting   Outcome = "waiting"    // It was published; no worker has it.
	OutcomePickedUp  Outcome = "picked_up"  // A worker has it, or had it.
	OutcomeResolved  Outcome = "resolved"   // It completed.
	OutcomeDiedAgain Outcome = "died_again" // It died too.
)
