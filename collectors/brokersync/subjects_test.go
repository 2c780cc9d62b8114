package brokersync

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// Nodes of a cluster answer with clocks of their own. A consumer that was seen until just now is not gone for long because another node's answer is older.
func TestAConsumerThatWasSeenUntilJustNowLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	const second = lifecycle.Micros(1_000_000)
	m := lifecycle.MessageFacts{Stored: &lifecycle.StoredFacts{At: second, Subject: "genbrain.agents.a.review"}}
	gone := lifecycle.ConsumerState{Name: "a-task-worker", Filters: []string{"genbrain.agents.a.>"}, ObservedAt: 200 * second, Gone: true}
	for at, orphan := range map[lifecycle.Micros]bool{199 * second: false, 204 * second: false, 205 * second: true} {
		v := view{Observation: Observation{ConsumersAt: at}, Gone: []lifecycle.ConsumerState{gone}}
		j := &judgement{view: v, waits: Waits{Orphan: 5 * time.Second}}
		got := j.served(nil, m)
		if (len(got) > 0) != orphan {
			t.Errorf("observed at %d s: %v", at/second, got)
		}
		if orphan && got[0].At != 205*second {
			t.Errorf("orphaned since %v, want five seconds after its consumer was seen last", got[0].At)
		}
	}
}
