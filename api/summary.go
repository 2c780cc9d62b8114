package api

import (
	"fmt"
	"strings"

	"fleetglass/lifecycle"
)

// summaryOf says in a sentence or two what an event tells. It holds no text of the fleet, which is untrusted; that is in the data.
func summaryOf(e lifecycle.Event) string {
	text := e.Meaning()
	if e.Kind == lifecycle.Nacked && e.Detail.Delay > 0 {
		text = fmt.Sprintf("The worker handed the message back, to be delivered again after %s.", e.Detail.Delay)
	}
	if e.Attempt == 0 {
		return text
	}
	return fmt.Sprintf("Attempt %d: %s%s", e.Attempt, strings.ToLower(text[:1]), text[1:])
}
