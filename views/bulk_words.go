package views

import (
	"cmp"
	"fmt"
	"strings"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// paceWords say how fast an operation goes.
func paceWords(rate float64) string {
	if rate <= 0 {
		return "as fast as possible"
	}
	return fmt.Sprintf("at most %g a second", rate)
}

// sent says what happens to the messages on which the operation would act: what is sent, to whom, when and how fast.
func (p BulkPage) sent() string {
	typed := p.Form.Typed
	switch typed.Kind {
	case dlqtriage.ActionRetry, dlqtriage.ActionReassign:
		return "Each eligible message is sent once, " + sendWords(typed, p.Dry.Delays) + ", " + paceWords(p.Dry.Rate) + "."
	case dlqtriage.ActionDefer:
		return "Nothing is sent. Each eligible message waits " + waitWords(typed.Wait) + "."
	case dlqtriage.ActionDiscard:
		return "Nothing is sent. Each eligible message counts as done with. It can be opened again."
	case dlqtriage.ActionQuarantine:
		return "Nothing is sent. Each eligible message is kept apart until somebody opens it again."
	case dlqtriage.ActionReclassify:
		category, detail, _ := strings.Cut(typed.Class, "/")
		return "Nothing is sent. Each eligible message counts as " + spaced(cmp.Or(detail, category)) + "."
	}
	return "Nothing is sent. What was decided is taken back: each eligible message is open again, and a retry that waits is cancelled."
}

// delayWords say how long the delays of plans are.
func delayWords(d dlqtriage.Delays) string {
	switch {
	case !d.Known:
		return ""
	case d.Most == 0:
		return " (none)"
	case d.Least == d.Most:
		return " (" + lifecycle.Lasting(d.Least) + ")"
	case d.Least == 0:
		return " (0 s to " + lifecycle.Lasting(d.Most) + ")"
	}
	return " (" + lifecycle.Lasting(d.Least) + " to " + lifecycle.Lasting(d.Most) + ")"
}

// sendWords say how messages are sent, when, and to whom.
func sendWords(t ActionTyped, d dlqtriage.Delays) string {
	planned := t.As != dlqtriage.AsUnchanged
	switch {
	case t.Kind == dlqtriage.ActionReassign && planned:
		return "with the changes and the delay of its own plan" + delayWords(d) + ", to " + Cut(t.Agent, 60)
	case t.Kind == dlqtriage.ActionReassign:
		return "unchanged, without delay, to " + Cut(t.Agent, 60)
	case planned:
		return "with the agent, the changes and the delay of its own plan" + delayWords(d)
	}
	return "unchanged, to its own agent, without delay"
}

// waitWords say how long a message is deferred.
func waitWords(wait string) string {
	switch wait {
	case WaitHour:
		return "for an hour, then it is open again"
	case WaitDay:
		return "for a day, then it is open again"
	}
	return "until a person decides"
}
