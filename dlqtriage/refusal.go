package dlqtriage

import "errors"

// Refusal says why an action was not taken. It is shown to whoever asked; nothing was changed.
type Refusal struct {
	Code    RefusalCode
	Why     string  // For people, a sentence or several.
	Wrong   []Wrong // The parts of the request that are wrong; the code is that of the first.
	Blocked []Obstacle
}

// Wrong is a part of a request that is wrong.
type Wrong struct {
	Pointer string // A JSON pointer into the body, such as /params/agent.
	Why     string // A sentence for people.
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

func refusePart(code RefusalCode, pointer, why string) error {
	return &Refusal{Code: code, Why: why, Wrong: []Wrong{{pointer, why}}}
}

func refuseParameter(name, why string) error {
	return refusePart(RefusedParameter, "/params/"+name, name+": "+why+".")
}

// refuseIf refuses a parameter where it is wrong.
func refuseIf(wrong bool, name, why string) error {
	if !wrong {
		return nil
	}
	return refuseParameter(name, why)
}

// together is one refusal of all that is wrong with a request; nil where nothing is.
func together(refusals ...error) error {
	var all *Refusal
	for _, err := range refusals {
		var r *Refusal
		switch {
		case !errors.As(err, &r):
		case all == nil:
			all = r
		default:
			all.Why, all.Wrong = all.Why+" "+r.Why, append(all.Wrong, r.Wrong...)
		}
	}
	if all == nil {
		return nil
	}
	return all
}
