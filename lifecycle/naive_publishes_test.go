package lifecycle

import (
	"math"
	"slices"
	"time"
)

// duplicates are the publishes that were captured after the message was stored, less its own: that is the only one of the 50 ms before, else the one captured
// nearest to it.
func (n naive) duplicates() int {
	stored := n.all(is(Published))
	if len(stored) == 0 {
		return 0
	}
	later, nearest, own, just := []Event{}, time.Duration(math.MaxInt64), 0, 0
	for _, e := range n.attemptsMade() {
		after, window := e.At.Sub(stored[0].At), stored[0].Detail.Window
		if after < -2*time.Second || (window > 0 && after > window) {
			continue
		}
		mine := 0
		switch {
		case after > 0:
			later, mine = append(later, e), 1
		case after >= -50*time.Millisecond:
			just++
		}
		if d := after.Abs(); (after <= 0 && d <= nearest) || d < nearest {
			nearest, own = d, mine
		}
	}
	heard := n.all(func(e Event) bool { return is(PublishAttempted)(e) && e.Detail.BestEffort })
	switch all := n.all(is(PublishAttempted)); {
	case len(heard) > 0 && len(heard) < len(all): // Some were recorded late.
		own = min(1, len(later))
	case just == 1:
		own = 0
	}
	for _, h := range heard { // It may be one of those that were recorded later.
		if h.At <= stored[0].At && n.any(func(e Event) bool {
			return is(PublishAttempted)(e) && !e.Detail.BestEffort && e.At > stored[0].At && e.At.Sub(h.At) <= 2*time.Minute
		}) {
			own++
		}
	}
	return max(0, len(later)-own)
}

// attemptsMade are the publish attempts without those that were heard and may be one that was recorded.
func (n naive) attemptsMade() []Event {
	attempts := n.all(is(PublishAttempted))
	return slices.DeleteFunc(slices.Clone(attempts), func(heard Event) bool {
		return heard.Detail.BestEffort && slices.ContainsFunc(attempts, func(recorded Event) bool {
			late := recorded.At.Sub(heard.At)
			return !recorded.Detail.BestEffort && late >= -2*time.Second && late <= 2*time.Minute
		})
	})
}
