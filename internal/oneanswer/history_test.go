package oneanswer

import (
	"testing"

	"fleetglass/api"
	"fleetglass/lifecycle"
)

// The last depth of the queue is what the lists say now: every task here has one message.
func TestTheQueueNowIsTheTasksThatHaveNotEnded(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	counts := answer[api.TaskCounts](b, "/tasks/counts")
	var open int64
	for state, n := range counts.Counts {
		if lifecycle.State(state).Open() {
			open += n
		}
	}
	for _, span := range []string{"range=1h", "range=24h", "range=7d", "range=30d", "from=90m", "from=8h"} {
		h := answer[api.History](b, "/stats/history?"+span)
		last := h.Steps[len(h.Steps)-1].QueueDepth
		if last == nil || *last != open || open == 0 {
			t.Errorf("%s: depth %v, want %d", span, last, open)
		}
	}
}
