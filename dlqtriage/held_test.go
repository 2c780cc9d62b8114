package dlqtriage_test

import (
	"slices"
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

// Where the record of a completion is gone, the next worker finds none.
func TestAMessageWhoseRecordIsGoneMayBeQuarantinedAndIsNotReleased(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		h := newHistory()
		h.record()
		if gone {
			h.erased()
		}
		held := dlqtriage.Held{InHand: true, Lease: lifecycle.Lease{Stale: lifecycle.StaleLease}, Recovery: decide(recoveryPolicy(t, ""), h.events)}
		done := func(a dlqtriage.ActionKind) bool {
			return slices.ContainsFunc(held.Obstacles(a), func(o dlqtriage.Obstacle) bool { return o.Code == dlqtriage.BlockedCompleted })
		}
		if got := done(dlqtriage.ActionQuarantine); got == gone {
			t.Errorf("the record is gone: %t, and a quarantine is blocked as done: %t", gone, got)
		}
		if got := done(dlqtriage.ActionRelease); got != gone {
			t.Errorf("the record is gone: %t, and a release is blocked as done: %t", gone, got)
		}
	}
}
