package fleet_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// A stream forgets message ids by a timer that does not fire twice within 50 ms, so that it swallows a publish after its window of duplicates.
func TestAStreamSwallowsAPublishAfterItsWindow(t *testing.T) {
	t.Parallel()
	const window = 200 * time.Millisecond
	js := testkit.JetStream(t, testkit.BareBroker(t))
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"tasks"}, Duplicates: window}); err != nil {
		t.Fatal(err)
	}
	swallowed := func(id string) bool {
		ack, err := js.Publish(t.Context(), "tasks", nil, jetstream.WithMsgID(id))
		if err != nil {
			t.Fatal(err)
		}
		return ack.Duplicate
	}
	for deadline, n := time.Now().Add(30*time.Second), 0; time.Now().Before(deadline); n++ { // A busy machine may miss the moment.
		for before, first := time.Now(), "before "+strconv.Itoa(n); time.Since(before) < 20*time.Millisecond; { // The timer fires for this one, and late for the next.
			swallowed(first)
		}
		id := strconv.Itoa(n)
		swallowed(id)
		for stored := time.Now(); ; {
			after := time.Since(stored)
			if !swallowed(id) {
				break
			}
			if after > window {
				return
			}
		}
	}
	t.Error("no publish was swallowed after the window")
}
