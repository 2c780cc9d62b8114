package deadletters_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// holds waits until the collector says so of an entry: "there", "left", or "not looked at".
func (w *world) holds(entry, want string) {
	w.t.Helper()
	k, err := lifecycle.ParseMessageKey(entry)
	if err != nil {
		w.t.Fatal(err)
	}
	testkit.Eventually(w.t, patience, func() error {
		there, looked := w.read.Holds(k)
		got := map[bool]string{true: "there", false: "left"}[there]
		if !looked {
			got = "not looked at"
		}
		if got != want {
			return fmt.Errorf("%s is %s, want %s", entry, got, want)
		}
		return nil
	})
}

// An entry may leave the queue without any decision about it: it is deleted or purged, dropped by a limit, or its stream is.
func TestWhatLeftTheQueueIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.JetStream(t, testkit.Broker(t)))
	entries := func() {
		for i := range 5 {
			w.publish("genbrain.dlq.cto.transient", `{}`, "X-DLQ-Stream", "TASKS", "X-DLQ-Seq", fmt.Sprint(i+1), "X-DLQ-Path", "terminated")
		}
	}
	entries()
	queue, err := w.js.Stream(t.Context(), fleet.StreamDLQ)
	if err != nil {
		t.Fatal(err)
	}
	for seq := 1; seq <= 5; seq++ {
		w.holds(fmt.Sprint("DLQ:", seq), "there")
	}
	w.holds("DLQ:99", "not looked at") // What it says is older than such an entry.
	w.holds("OTHER:1", "not looked at")
	if err := queue.DeleteMsg(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	w.holds("DLQ:3", "left")
	if err := queue.Purge(t.Context(), jetstream.WithPurgeSequence(2)); err != nil {
		t.Fatal(err)
	}
	w.holds("DLQ:1", "left")
	w.holds("DLQ:3", "left")
	for _, seq := range []int{2, 4, 5} {
		w.holds(fmt.Sprint("DLQ:", seq), "there")
	}
	config := queue.CachedInfo().Config
	if err := w.js.DeleteStream(t.Context(), fleet.StreamDLQ); err != nil {
		t.Fatal(err)
	}
	w.holds("DLQ:4", "not looked at") // No stream takes entries.
	if _, err := w.js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	entries()
	w.holds("DLQ:4", "left") // The fourth of the new stream is another one.
}
