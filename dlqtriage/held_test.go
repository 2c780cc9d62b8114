package dlqtriage_test

import (
	"strings"
	"testing"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

func TestNoFreeWorkerIsNamedWhereTheBrokerCanGiveTheMessageToNone(t *testing.T) {
	t.Parallel()
	for awaits, want := range map[string]string{
		"": "it goes to the next free worker anyway", "a worker subscribes": "the broker gives it out anyway once a worker subscribes",
	} {
		h := dlqtriage.Held{InHand: true, Lease: lifecycle.Lease{Stale: lifecycle.StaleLease, Awaits: awaits}, Recovery: dlqtriage.Recovery{Reasons: []string{"A step began."}}}
		var why []string
		for _, o := range h.Obstacles(dlqtriage.ActionRelease) {
			why = append(why, o.Why)
		}
		if got := strings.Join(why, " "); !strings.Contains(got, want) {
			t.Errorf("where the broker waits until %q it reads %q, want %q", awaits, got, want)
		}
	}
}
