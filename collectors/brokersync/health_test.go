package brokersync_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors/brokersync"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// lingering is a store for whose answers an hour passes.
type lingering struct {
	lifecycle.Appender
	now *atomic.Int64
}

func (l lingering) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	l.now.Add(int64(time.Hour))
	return l.Appender.Append(ctx, b)
}

// What a consumer was changed to while the poll lasted was not seen: whoever judges by the consumers that are stored goes by when the poll began.
func TestTheLastLookIsAsOldAsTheBeginningOfItsPoll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.js.CreateConsumer(t.Context(), "TASKS", jetstream.ConsumerConfig{Durable: "cto-task-worker", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := new(atomic.Int64)
	now.Store(began.UnixNano())
	b.cfg.Now = func() time.Time { return time.Unix(0, now.Load()).UTC() }
	b.cfg.Appender, b.cfg.Interval = lingering{b.cfg.Appender, now}, 24*time.Hour
	c, err := brokersync.New(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if at := c.Health()[0].Read(); !at.IsZero() {
		t.Errorf("it has not looked, and says that it has looked up to %s", at)
	}
	b.run(c)
	testkit.Eventually(t, patience, func() error {
		if at := c.Health()[0].Read(); !at.Equal(began) {
			return fmt.Errorf("looked up to %s, want %s", at, began)
		}
		return nil
	})
	if b.cfg.Now().Equal(began) {
		t.Error("nothing was stored: the test shows nothing")
	}
}
