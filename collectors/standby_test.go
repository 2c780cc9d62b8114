package collectors_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// bringsTheNext is a store during whose every commit another line comes, so that one always waits.
type bringsTheNext struct {
	*recorder
	publish func()
}

func (s bringsTheNext) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	if len(b.Events) > 0 {
		s.publish()
	}
	return s.recorder.Append(ctx, b)
}

// A replica that stands by a shard reads none of its lines. That one waits at each look does not make it late while another reads them as they come.
func TestWhoStandsByAShardIsNotBehindWhileAnotherReadsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: fleet.CapturePub, Subjects: []string{"obs.shard.>"}}); err != nil {
		t.Fatal(err)
	}
	publish := func() {
		if _, err := b.js.Publish(context.WithoutCancel(t.Context()), "obs.shard.2.0.obs.pub.x", []byte("line")); err != nil {
			t.Error(err)
		}
	}
	b.src.Stream, b.cfg.Shard = fleet.CapturePub, fleet.Shard{Of: 2}
	var over atomic.Bool
	b.cfg.Appender = bringsTheNext{b.rec, func() {
		if !over.Load() {
			publish()
		}
	}}
	_, stopReading := b.start()
	b.cfg.Rank, b.cfg.Appender = 9, b.rec
	standby, stop := b.start()
	part := func() health.Part { return standby.Health()[0] }
	testkit.Eventually(t, patience, func() error {
		if p := part(); p.State != health.OK || p.LastAt.IsZero() {
			return fmt.Errorf("who stands by is %+v", p)
		}
		return nil
	})
	publish()
	for began := time.Now(); time.Since(began) < 7*time.Second; {
		if p := part(); p.State != health.OK || time.Since(p.LastAt.Add(-p.Lag)) > 5*time.Second {
			t.Fatalf("after %s who stands by is %+v", time.Since(began), p)
		}
	}
	over.Store(true)
	stopReading()
	if n := standby.Stats().Lines; n > 0 {
		t.Logf("who stands by read %d lines", n)
	}
	publish()
	testkit.Eventually(t, patience, func() error {
		if standby.Stats().Lines == 0 {
			return errors.New("who stands by reads nothing although it is alone")
		}
		return nil
	})
	stop()
}

var _ collectors.Watermarks = bringsTheNext{}
