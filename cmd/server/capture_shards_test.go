package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// sharded is a broker and a store, whose captures are cut into any number of shards.
type sharded struct {
	t      *testing.T
	js     jetstream.JetStream
	store  *sqlite.Store
	number int // Tasks published so far.
}

func newSharded(t *testing.T) *sharded {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleet.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &sharded{t: t, js: testkit.JetStream(t, testkit.BareBroker(t)), store: store}
}

// provision is `fleetglass provision --apply --capture-shards n`.
func (s *sharded) provision(n int) *fleet.Plan {
	s.t.Helper()
	plan := s.apply(n)
	again, err := fleet.NewPlan(s.t.Context(), s.js, fleet.Streams{Contract: fleet.NewContract(""), Readers: true, Shards: n})
	if err != nil || !again.Empty() {
		s.t.Fatalf("a second plan is not empty: %v\n%s", err, again)
	}
	return plan
}

// apply is provision while somebody may make durables anew meanwhile.
func (s *sharded) apply(n int) *fleet.Plan {
	s.t.Helper()
	plan, err := fleet.Provision(s.t.Context(), s.js, fleet.Streams{Contract: fleet.NewContract(""), Readers: true, Shards: n})
	if err != nil {
		s.t.Fatal(err)
	}
	return plan
}

// work lets the agents publish tasks to each other, take and acknowledge them.
func (s *sharded) work(tasks int, agents ...string) {
	s.t.Helper()
	for i := range tasks {
		s.number++
		agent := agents[i%len(agents)]
		msg := nats.NewMsg(fleet.NewContract("").TaskSubject(agent, "review"))
		msg.Header.Set(fleet.HeaderTaskID, fmt.Sprintf("task-%05d", s.number))
		if _, err := s.js.PublishMsg(s.t.Context(), msg); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, agent := range agents {
		s.answer(agent, tasks)
	}
}

func (s *sharded) answer(agent string, most int) {
	s.t.Helper()
	worker, err := s.js.CreateOrUpdateConsumer(s.t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
		Durable: fleet.WorkerName(agent), FilterSubject: fleet.NewContract("").TaskSubject(agent, ">"), AckPolicy: jetstream.AckExplicitPolicy,
		SampleFrequency: "100",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	batch, err := worker.FetchNoWait(most)
	if err != nil {
		s.t.Fatal(err)
	}
	for msg := range batch.Messages() {
		if err := msg.DoubleAck(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// read starts replicas that read n shards, and returns what stops them.
func (s *sharded) read(n int) (all []collector, stop func()) {
	s.t.Helper()
	contract := fleet.NewContract("")
	incarnations, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: s.js, Appender: s.store, Watermarks: s.store, Contract: contract})
	if err != nil {
		s.t.Fatal(err)
	}
	all, _, errs := captures(s.t.Context(), n, collectors.Config{
		JetStream: s.js, Appender: s.store, Watermarks: s.store, Incarnations: incarnations, Contract: contract, Watch: 100 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(s.t.Output(), nil)),
	})
	for _, err := range errs {
		if err != nil {
			s.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, len(all))
	for _, c := range all {
		go func() { done <- c.Run(ctx) }()
	}
	return all, func() {
		cancel()
		for range all {
			<-done
		}
	}
}

// caughtUp waits until nothing waits in any durable of n shards.
func (s *sharded) caughtUp(n int) {
	s.t.Helper()
	testkit.Eventually(s.t, 30*time.Second, func() error {
		for _, name := range []string{fleet.CapturePub, fleet.CaptureAck, fleet.CaptureEvt, fleet.CaptureRaw, fleet.CaptureReport} {
			stream, err := s.js.Stream(s.t.Context(), name)
			if err != nil {
				return err
			}
			found := 0
			list := stream.ListConsumers(s.t.Context())
			for info := range list.Info() {
				found++
				if info.NumPending > 0 || info.NumAckPending > 0 {
					return fmt.Errorf("%s has %d to read and %d in hand", info.Name, info.NumPending, info.NumAckPending)
				}
			}
			if found != n {
				return fmt.Errorf("%s has %d durables, want %d", name, found, n)
			}
		}
		return nil
	})
}

// knows fails unless exactly the tasks that were published are completed, each with the events of one attempt, once.
func (s *sharded) knows() {
	s.t.Helper()
	testkit.Eventually(s.t, time.Minute, func() error {
		counts, _, err := s.store.CountTasks(s.t.Context(), lifecycle.Filter{})
		if err != nil {
			return err
		}
		if got := counts[lifecycle.StateCompleted]; got != int64(s.number) || len(counts) != 1 {
			return fmt.Errorf("tasks by state: %v, want %d completed", counts, s.number)
		}
		return nil
	})
	for i := 1; i <= s.number; i++ {
		id := fmt.Sprintf("task-%05d", i)
		testkit.Eventually(s.t, time.Minute, func() error { // A task is completed before every line about it is read.
			events, err := s.store.Events(s.t.Context(), id, lifecycle.EventPosition{}, 100)
			if err != nil {
				return err
			}
			kinds := map[lifecycle.Kind]int{}
			for _, e := range events {
				kinds[e.Kind]++
			}
			if kinds[lifecycle.Published] != 1 || kinds[lifecycle.Acked] != 1 || kinds[lifecycle.AckConfirmed] != 1 || kinds[lifecycle.PublishAttempted] != 1 {
				return fmt.Errorf("%s has the events %v", id, kinds)
			}
			return nil
		})
	}
}

func (s *sharded) gaps() []lifecycle.Gap {
	s.t.Helper()
	gaps, err := s.store.Gaps(s.t.Context(), 0, lifecycle.MicrosOf(time.Now().Add(time.Hour)), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	return gaps
}

var manyAgents = []string{"cto", "cso", "ceo", "x", "marketing", "legal", "sales", "ops", "design", "a", "b", "c"}

// Whatever number of shards follows which, with lines that nobody has read, no line is left and none counts twice.
func TestAChangeOfTheNumberOfShardsLeavesNoLine(t *testing.T) {
	t.Parallel()
	s := newSharded(t)
	s.provision(1)
	for _, n := range []int{4, 8, 1, 2, 1} {
		s.work(60, manyAgents...) // Nobody reads: what follows is provisioned with these unread.
		plan := s.provision(n)
		if len(plan.Surplus) == 0 || !strings.Contains(plan.String(), "- delete durable fleetglass-acks") {
			t.Errorf("no durable is deleted when %d shards are provisioned:\n%s", n, plan)
		}
		s.work(60, manyAgents...)
		_, stop := s.read(n)
		s.caughtUp(n)
		s.knows()
		stop()
	}
	if gaps := s.gaps(); len(gaps) > 0 {
		t.Errorf("gaps although nothing was lost: %+v", gaps)
	}
}

// bound lets a capture stream keep a number of lines at most.
func (s *sharded) bound(name string, lines int64) {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgs = lines
	if _, err := s.js.UpdateStream(s.t.Context(), cfg); err != nil {
		s.t.Fatal(err)
	}
}

// end is the last line of a capture stream.
func (s *sharded) end(name string) uint64 {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	return stream.CachedInfo().State.LastSeq
}

// looked waits until every one of n shards of OBS_ACK is known to be read to its end, but for a few lines, which are not worth saving.
func (s *sharded) looked(n int) {
	s.t.Helper()
	end := s.end(fleet.CaptureAck)
	testkit.Eventually(s.t, time.Minute, func() error {
		for _, shard := range fleet.Shards(n) {
			text, err := s.store.Watermark(s.t.Context(), "capture:"+fleet.CaptureAck+shard.Suffix()+":read")
			var read struct{ Seq uint64 }
			if err == nil && text != "" {
				err = json.Unmarshal([]byte(text), &read)
			}
			if err != nil || read.Seq+6 < end {
				return fmt.Errorf("shard %d is known to be read to %d of %d: %w", shard.Index, read.Seq, end, err)
			}
		}
		return nil
	})
}

// lossy is a fleet whose OBS_ACK, in four shards, keeps 40 lines, all of which were read; one shard was quiet for long.
func lossy(t *testing.T) *sharded {
	t.Helper()
	s := newSharded(t)
	s.provision(4)
	s.bound(fleet.CaptureAck, 40)
	_, stop := s.read(4)
	defer stop()
	s.work(20, manyAgents...)
	for range 3 {
		s.caughtUp(4)
		s.looked(4)
		s.work(30, "cto")
	}
	s.caughtUp(4)
	s.looked(4)
	return s
}

// What a capture stream discards after it was read is no gap, however long ago the last line of a shard was, and after a restart neither.
func TestWhatIsDiscardedAfterItWasReadIsNoGapInShardsEither(t *testing.T) {
	t.Parallel()
	s := lossy(t)
	_, stop := s.read(4)
	s.work(30, "cto")
	s.caughtUp(4)
	s.looked(4)
	stop()
	if gaps := s.gaps(); len(gaps) > 0 {
		t.Fatalf("gaps although all was read: %+v", gaps)
	}
}

// Lines that a capture stream discards before they are read are a gap, also where it is cut into shards, and whether the number of shards changed
// meanwhile or not.
func TestALineThatIsDiscardedUnreadIsAGapInShardsToo(t *testing.T) {
	t.Parallel()
	for _, next := range []int{4, 8, 1} {
		t.Run(fmt.Sprintf("4 to %d", next), func(t *testing.T) {
			t.Parallel()
			s := lossy(t)
			read := s.end(fleet.CaptureAck)
			s.work(100, manyAgents...) // Of their acknowledgements 60 are gone.
			if next != 4 {
				s.provision(next)
			}
			_, stop := s.read(next)
			defer stop()
			s.caughtUp(next)
			testkit.Eventually(t, time.Minute, func() error {
				gone := s.end(fleet.CaptureAck) - 40
				for _, g := range s.gaps() {
					if g.Source != fleet.CaptureAck || g.Repaired || g.FromSeq > read+1 || g.FromSeq+6 < read || g.ToSeq != gone {
						t.Fatalf("gap %+v, want those of %s from %d, or a few lines earlier, to %d", g, fleet.CaptureAck, read+1, gone)
					}
				}
				if len(s.gaps()) == 0 {
					return errors.New("no gap although 60 acknowledgements were discarded unread")
				}
				return nil
			})
		})
	}
}

// Replicas that start one after the other prefer different shards, each as many.
func TestReplicasPreferDifferentShards(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4, 8, 64} {
		mine := 0
		for _, shard := range fleet.Shards(n) {
			switch a, b := rank(shard, 6), rank(shard, 7); {
			case a == b:
				t.Errorf("of %d shards both want shard %d alike", n, shard.Index)
			case a < b:
				mine++
			}
			if r := rank(shard, 3); r > 9 {
				t.Errorf("rank %d is beyond what the broker takes", r)
			}
		}
		if mine != n/2 {
			t.Errorf("of %d shards one replica of two prefers %d", n, mine)
		}
	}
}

// A replica that still reads another number of shards, and may make its durables anew, reads what the others read too: nothing counts twice for that.
func TestReplicasOfTwoNumbersOfShardsReadTheSameOnce(t *testing.T) {
	t.Parallel()
	s := newSharded(t)
	s.provision(4)
	_, stopOld := s.read(4)
	s.work(40, manyAgents...)
	s.apply(8)
	_, stopNew := s.read(8)
	s.work(80, manyAgents...)
	s.knows()
	stopOld()
	s.work(40, manyAgents...)
	s.provision(8) // What the old replica made anew is surplus.
	s.caughtUp(8)
	s.knows()
	stopNew()
	if gaps := s.gaps(); len(gaps) > 0 {
		t.Errorf("gaps although nothing was lost: %+v", gaps)
	}
}
