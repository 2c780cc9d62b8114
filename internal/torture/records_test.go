//go:build linux

package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// A worker asks whether its task is done before it runs it. A node that is cut off from its cluster does not know what was recorded meanwhile:
// it must not answer that nothing was.
func TestACutOffNodeDoesNotDenyARecord(t *testing.T) {
	t.Parallel()
	c := startCluster(t, t.TempDir())
	js := dial(t, c.url())
	c.whole(js)
	leader, follower := c.led(js, "KV_"+fleet.BucketIdempotency)
	writer, err := fleet.NewKVRecords(t.Context(), dial(t, "nats://"+c.nodes[leader].order.Listen))
	if err != nil {
		t.Fatal(err)
	}
	worker, err := fleet.NewKVRecords(t.Context(), dial(t, "nats://"+c.nodes[follower].order.Listen))
	if err != nil {
		t.Fatal(err)
	}
	c.part(follower, true)
	testkit.Eventually(t, patience, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := writer.Complete(ctx, fleet.Record{TaskID: "done", AgentID: "cto", CompletedAt: lifecycle.MicrosOf(time.Now())})
		if errors.Is(err, fleet.ErrRecorded) {
			return nil
		}
		return err
	})
	for range 20 { // The question may go to any node that may answer it.
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		found, err := worker.Find(ctx, "done", "")
		cancel()
		if err == nil && found == nil {
			t.Fatal("the worker is told that nothing is recorded: it runs the task again")
		}
	}
	c.part(follower, false)
	testkit.Eventually(t, patience, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		found, err := worker.Find(ctx, "done", "")
		if err == nil && found == nil {
			t.Fatal("the worker is told that nothing is recorded after the cluster is whole")
		}
		return err
	})
}
