package dlqtriage

// Refusal says why an action was not taken. It is shown to whoever asked; nothing was changed.
type Refusal struct {
	Code    RefusalCode
	Pointer string // Which part of the request is wrong, as a JSON pointer into its body; empty where none is.
	Why     string // A sentence for people.
	Blocked []Obstacle
}

// RefusalCode names a refusal, for programs.
type RefusalCode string

// The refusals.
const (
	RefusedAction     RefusalCode = "unknown_action"
	RefusedReason     RefusalCode = "reason_required"
	RefusedAgent      RefusalCode = "unknown_agent"
	RefusedParameter  RefusalCode = "invalid_body"
	RefusedIneligible RefusalCode = "not_eligible"
	RefusedBusy       RefusalCode = "entry_busy"
	RefusedChanged    RefusalCode = "entry_changed"
)

// Error implements error.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Why }

func refuseParameter(name, why string) error {
	return &Refusal{Code: RefusedParameter, Pointer: "/params/" + name, Why: name + ": " + why + "."}
}
