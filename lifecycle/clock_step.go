package lifecycle

import (
	"slices"
	"time"
)

// ClockStep is a jump of the clock by which a stream is kept: it read From, and To a moment later. Between them it left times out, or has them twice.
type ClockStep struct{ From, To Micros }

// By is by how much it jumped: negative where it was set back.
func (s ClockStep) By() time.Duration { return s.To.Sub(s.From) }

// repeats reports whether a time comes twice by the clock, so that nobody can tell what came before it.
func (s ClockStep) repeats(at Micros) bool { return s.To < at && at <= s.From }

// Until is when a time that is counted from a basis is over by the clock of the consumer, surely. The broker compares what its clock reads, and looks when
// a timer fires that no jump moves: of a wait that was under way when the clock jumped ahead, the rest had still to pass. What the clock was set back by passes too.
func (c ConsumerState) Until(basis Micros, wait time.Duration) Micros {
	end := basis.Add(wait)
	for _, s := range c.Steps {
		if s.From < s.To && basis <= s.From && s.From < end {
			end = end.Add(s.By())
		}
	}
	return end
}

// Began is when the consumer was created; zero where its clock was set back to before that, so that what it did may have an earlier time.
func (c ConsumerState) Began() Micros {
	if slices.ContainsFunc(c.Steps, func(s ClockStep) bool { return s.repeats(c.CreatedAt) }) {
		return 0
	}
	return c.CreatedAt
}
