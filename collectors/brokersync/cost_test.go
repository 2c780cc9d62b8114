//go:build unix

package brokersync_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors/brokersync"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// fill publishes n messages without waiting for each.
func (b *bench) fill(t testing.TB, n int) {
	t.Helper()
	for i := range n {
		if _, err := b.js.PublishMsgAsync(&nats.Msg{Subject: fmt.Sprintf("genbrain.agents.a.tasks.x%d", i/900)}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-b.js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		t.Fatal("publishes were not acknowledged")
	}
}

// BenchmarkDeletedDetails measures what the list of deleted sequences costs, so that Config.Details has a reason.
func BenchmarkDeletedDetails(b *testing.B) {
	bench := newBench(b)
	bench.fill(b, 102_000)
	stream, err := bench.js.Stream(b.Context(), "TASKS")
	if err != nil {
		b.Fatal(err)
	}
	deleted := 0
	for _, n := range []int{0, 1000, 10_000, 50_000, 100_000} {
		for ; deleted < n; deleted++ {
			if err := stream.DeleteMsg(b.Context(), uint64(deleted+2)); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				info, err := stream.Info(b.Context(), jetstream.WithDeletedDetails(true))
				if err != nil || len(info.State.Deleted) != n {
					b.Fatal(err, len(info.State.Deleted))
				}
			}
		})
	}
	b.Run("walk past 100000, each message", func(b *testing.B) {
		for b.Loop() {
			if _, err := stream.GetMsg(b.Context(), 2, jetstream.WithGetMsgSubject(">")); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPoll measures a poll at which nothing is new, for fleets of some agents with some messages waiting. A backlog that stands
// still for longer than a benchmark lasts is not read again (see sweep).
func BenchmarkPoll(b *testing.B) {
	for _, c := range []struct{ agents, backlog int }{{7, 0}, {7, 50}, {200, 0}, {200, 20_000}, {1000, 0}} {
		agents, backlog := c.agents, c.backlog
		b.Run(fmt.Sprintf("%d agents, %d waiting", agents, backlog), func(b *testing.B) {
			bench := newBench(b)
			for i := range agents {
				if _, err := bench.js.CreateConsumer(b.Context(), "TASKS", bench.cfg.Contract.Worker(fmt.Sprintf("a%d", i), fleet.DefaultTiming())); err != nil {
					b.Fatal(err)
				}
			}
			bench.agent(b, "a").works(nats.ConsumerConfig{})
			bench.fill(b, backlog)
			bench.startLines()
			c, err := brokersync.New(bench.cfg)
			if err != nil {
				b.Fatal(err)
			}
			testkit.Eventually(b, time.Minute, func() error {
				open, err := bench.store.OpenMessages(b.Context(), bench.cfg.Contract.StreamID("TASKS"), uint64(backlog), 1)
				if err == nil && backlog > 0 && len(open) == 0 {
					err = fmt.Errorf("the backlog is not stored yet")
				}
				return err
			})
			for more := true; more; {
				if more, err = c.Poll(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			began := processorTime(b)
			for b.Loop() {
				if _, err := c.Poll(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is how long this process, with its broker, has used a processor: what a busy machine does not change.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
