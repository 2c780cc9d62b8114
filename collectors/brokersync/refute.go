package brokersync

import (
	"time"

	"fleetglass/lifecycle"
)

// refuted says that an answer which would have ended the message did not: the message is in the stream, at least so long after it.
func refuted(v view, c *Consumer, m lifecycle.MessageFacts, after time.Duration) []lifecycle.Event {
	if v.Kept {
		return nil // There a message stays after its answer.
	}
	var answered lifecycle.Micros
	for _, a := range m.Attempts {
		answered = max(answered, a.LastAckAt, a.ConfirmedAt, a.TermAt)
	}
	for _, claim := range m.Claims {
		if claim.Ends() {
			answered = max(answered, claim.At)
		}
	}
	at := answered.Add(after)
	if !answered.Known() || answered <= m.RefutedAt || v.At < at {
		return nil
	}
	if e, ok := v.succeeded(c, m, at); ok {
		return []lifecycle.Event{e}
	}
	return []lifecycle.Event{newEvent(lifecycle.AckRefuted, m, c, at, uint64(answered))}
}
