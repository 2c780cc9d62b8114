package dlqtriage

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

// Looks reports whether somebody looks at what dies just now: applies the rules of classification to it within seconds. Nil says that nobody does.
type Looks func() bool

// Awaits reports whether an entry is going to be looked at. Until then nothing is known of why its message died, so nothing is to be done about it.
func (l Looks) Awaits(e Entry) bool { return l != nil && !e.LookedAt() && l() }

// LookedAt reports whether it was looked at why the message died: a person or the rules said something, also that no rule matches, or the entry in
// the broker's queue was read.
func (e Entry) LookedAt() bool { return e.Copied() || e.Classification.By != "" }

// notReadYet is why an entry that nobody looked at is not retried.
const notReadYet = "The dead letter monitor has not read this message yet; it will be classified within seconds."

// NotReadYet stands in the place of a classification until somebody has looked at the entry.
func NotReadYet() Classification {
	return Classification{Rule: string(BlockedNotRead), Evidence: []lifecycle.Evidence{{Source: "dead letter monitor", Text: notReadYet}}}
}

// How long a request to publish waits for somebody to look at what has just died, and how often it asks.
const (
	lookPatience = 3 * time.Second
	lookAgain    = 50 * time.Millisecond
)

// lookedAt is what is known of the entry that a request is about. A request that would publish waits a moment where nobody has looked at the entry yet: a
// program that acts as soon as it hears of a death gets the plan that fits. Where nobody looks meanwhile, the entry stays blocked.
func (s *Actions) lookedAt(ctx context.Context, r Request) (Known, error) {
	k, err := s.examiner.Examine(ctx, r.Entry)
	if !r.Action.Sends() || r.Params.Force {
		return k, err
	}
	over := time.After(lookPatience)
	for err == nil && k.Case.Unread {
		select {
		case <-ctx.Done():
			return k, ctx.Err()
		case <-over:
			return k, nil
		case <-time.After(lookAgain):
			k, err = s.examiner.Examine(ctx, r.Entry)
		}
	}
	return k, err
}
