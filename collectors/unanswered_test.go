package collectors

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// keeper is a store that takes everything, and counts what was given up.
type keeper struct{ quarantined int }

func (k *keeper) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	k.quarantined += len(b.Quarantined)
	return lifecycle.Appended{New: len(b.Events)}, nil
}

func (*keeper) Watermark(context.Context, string) (string, error) { return "", nil }

// While a cluster has no leader the broker answers no question for many seconds. Lines wait for that; neither they nor the store are to blame.
func TestALineIsNotGivenUpBecauseTheBrokerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	store, contract := &keeper{}, fleet.NewContract("")
	inc, err := NewIncarnationResolver(IncarnationResolverConfig{JetStream: js, Appender: store, Watermarks: store, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{JetStream: js, Appender: store, Watermarks: store, Incarnations: inc, Contract: contract, Retry: time.Millisecond}, Source{
		Name: "acks", Stream: fleet.CaptureAck, Resolves: true, Decode: func(Line, Streams, *lifecycle.Batch) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	js.Conn().Close()
	for _, lines := range [][]Line{{{Seq: 1}}, {{Seq: 1}, {Seq: 2}}} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		_, before := c.status.snapshot()
		go func() { ended <- c.commitWithRetry(ctx, &lineBatch{lines: lines}) }()
		testkit.Eventually(t, time.Minute, func() error {
			if _, stats := c.status.snapshot(); stats.Failures <= before.Failures+suspectOneAfter && len(ended) == 0 {
				return fmt.Errorf("failed %d times, which proves nothing", stats.Failures-before.Failures)
			}
			return nil
		})
		cancel()
		err := <-ended
		if err == nil || store.quarantined > 0 {
			t.Errorf("%d lines: committed with %v, %d given up; want an error and none", len(lines), err, store.quarantined)
		}
	}
}
