package brokersync

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// A consumer whose later step was shortened while Fleetglass was down is judged by the former step until that is over, as if somebody had watched.
func TestWaitsThatWereChangedWhileNobodyLookedAreRememberedByTheStore(t *testing.T) {
	t.Parallel()
	before := lifecycle.ConsumerState{Name: "a-task-worker", CreatedAt: 1, AckWait: time.Second, Backoff: []time.Duration{time.Second, 10 * time.Minute}}
	now := before
	now.Backoff = []time.Duration{time.Second, 3 * time.Second}
	looked := lifecycle.Micros(1_000_000_000)
	o := Observation{ConsumersAt: looked, Consumers: []Consumer{{ConsumerState: now}}}
	if got, want := NewState([]lifecycle.ConsumerState{before}).withChanges(o)[0].WaitsSince, looked.Add(10*time.Minute); got != want {
		t.Errorf("the broker goes by the new waits from %s after the look, want 10m", got.Sub(looked))
	}
	if got := NewState(nil).withChanges(o)[0].WaitsSince; got.Known() {
		t.Errorf("nobody knows of former waits, and they end %s after the look", got.Sub(looked))
	}
}
