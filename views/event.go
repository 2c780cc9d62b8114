package views

import (
	"fmt"
	"strings"

	"fleetglass/lifecycle"
)

// kindLook gives an event kind its mark, colour and word.
func kindLook(k lifecycle.Kind) look {
	row := k.Row()
	return look{row.Icon, row.Tone, row.Name}
}

// EventText says what happened in one line, from what the event carries. It contains untrusted text.
func EventText(e lifecycle.Event) string {
	d := e.Detail
	var parts []string
	say := func(format, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	switch e.Kind {
	case lifecycle.Published, lifecycle.Repaired, lifecycle.PublishAttempted:
		say("%s", d.Subject)
		if e.Kind != lifecycle.PublishAttempted && d.Generation > 0 {
			say("generation %s", fmt.Sprint(d.Generation))
		}
		say("retry of %s", d.RetryOf)
		if d.BestEffort {
			parts = append(parts, "captured best effort")
		}
	case lifecycle.Delivered, lifecycle.AttemptUnanswered:
		say("to %s", e.Consumer)
		if !d.Exact {
			parts = append(parts, "no later than this")
		}
	case lifecycle.LeaseExpired, lifecycle.PresumedDead:
		say("%s after the last sign", Duration(d.Deadline.Sub(d.Basis)))
	case lifecycle.DeadLettered:
		say("%s", d.Category)
		say("entry %s", d.Entry)
	case lifecycle.Decided, lifecycle.Triaged, lifecycle.Reopened:
		say("%s", string(d.Outcome))
		say("asked for: %s", d.Action)
		say("by %s", d.Actor)
	default:
		say("%s", d.Tool)
		say("class %s", d.StepClass)
		say("from %s", wireConsumer(e))
		say("owner %s", d.LeaseOwner)
		say("result %s", d.ResultRef)
		say("model %s", d.Model)
	}
	if d.Delay > 0 {
		say("asked for %s", Duration(d.Delay))
	}
	if d.AckTime > 0 {
		say("after %s", Duration(d.AckTime))
	}
	say("%s", d.Reason)
	return Printable(strings.Join(parts, ", "))
}

func wireConsumer(e lifecycle.Event) string {
	switch e.Kind {
	case lifecycle.Acked, lifecycle.Nacked, lifecycle.Terminated, lifecycle.Heartbeat:
		return e.Consumer
	}
	return ""
}
