//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// manyAgents is how many agents the tasks of the shards' recording are for: enough for each shard to get some.
const manyAgents = 64

// cutShards is into how many shards the second recording is cut.
const cutShards = 4

// measureShards asks what two replicas take of the same lines, with shards and without, against one replica. Replicas are two sets of collectors over
// two stores of one database, as two processes would have them; broker, database and replicas share the machine.
func measureShards(b *bench) {
	shareMemory(b)
	tasks := b.form.tasks
	whole := recordMany(b, b.shared.dir(b, "whole"), 1, tasks)
	cut := recordMany(b, b.shared.dir(b, "cut"), cutShards, tasks)
	pg := b.shared.cluster()
	var one, two, oneCut, twoCut []float64
	for range b.form.runs {
		one = append(one, readBy(b, pg, whole, 1, 1))
		two = append(two, readBy(b, pg, whole, 2, 1))
		oneCut = append(oneCut, readBy(b, pg, cut, 1, cutShards))
		twoCut = append(twoCut, readBy(b, pg, cut, 2, cutShards))
	}
	note := fmt.Sprintf("%d lines of %d tasks of %d agents", whole.total, tasks, manyAgents)
	b.add(
		Ratio("shards/two replicas", "two replicas, whole streams, Postgres, against one", "lines/s", two, one, nil).With(note),
		Ratio("shards/one replica, 4 shards", "one replica, four shards, against one and whole streams", "lines/s", oneCut, one, nil),
		Ratio("shards/two replicas, 4 shards", "two replicas, four shards, against one and whole streams", "lines/s", twoCut, one, nil),
		Ratio("shards/4 shards against none", "two replicas, four shards, against two and whole streams", "lines/s", twoCut, two, nil),
	)
}

// recordMany lets many agents publish tasks to themselves, take and acknowledge them, while nobody reads the captures.
func recordMany(t testing.TB, dir string, shards, tasks int) *recording {
	t.Helper()
	srv, js := openBroker(t, dir)
	defer closeBroker(t, srv)
	if _, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: contract, Shards: shards}); err != nil {
		t.Fatal(err)
	}
	agents, ctx := errgroup.WithContext(t.Context())
	for a := range manyAgents {
		agents.Go(func() error { return workAlone(ctx, js, "agent-"+strconv.Itoa(a), a, tasks) })
	}
	if err := agents.Wait(); err != nil {
		t.Fatal(err)
	}
	r := &recording{dir: dir, tasks: tasks, events: 4*tasks + manyAgents + 1} // The creation of each consumer, and of TASKS, too.
	r.count(t, js)
	return r
}

// workAlone does every task of an agent.
func workAlone(ctx context.Context, js jetstream.JetStream, agent string, first, tasks int) error {
	cfg := contract.Worker(agent, fleet.DefaultTiming())
	cfg.SampleFrequency = "100"
	worker, err := js.CreateConsumer(ctx, fleet.StreamTasks, cfg)
	if err != nil {
		return err
	}
	for i := first; i < tasks; i += manyAgents {
		msg := nats.NewMsg(contract.TaskSubject(agent, "review"))
		msg.Header.Set(fleet.HeaderTaskID, fmt.Sprintf("many-%06d", i))
		msg.Header.Set(nats.MsgIdHdr, fmt.Sprintf("many-%06d", i))
		if _, err := js.PublishMsg(ctx, msg); err != nil {
			return err
		}
		taken, err := worker.Fetch(1)
		if err != nil {
			return err
		}
		for m := range taken.Messages() {
			err = m.DoubleAck(ctx)
		}
		if err := errors.Join(err, taken.Error()); err != nil {
			return err
		}
	}
	return nil
}

// readBy lets replicas read a recording into an empty database, and returns lines a second. It checks that the store has every task then.
func readBy(t testing.TB, pg *testkit.Cluster, r *recording, replicas, shards int) float64 {
	t.Helper()
	srv, js := openBroker(t, r.dir)
	defer closeBroker(t, srv)
	db := newPostgres(t, pg)
	running := make([]*ingester, replicas)
	for i := range running {
		store, err := postgres.Open(t.Context(), postgres.Config{URL: db.url, History: retained + 15*24*time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close() //nolint:errcheck // Nothing is written after the run.
		running[i] = newReplica(t, js, store, shards, i)
	}
	runtime.GC()
	rate := runTogether(t, js, running, r)
	counts, _, err := db.store.CountTasks(t.Context(), lifecycle.Filter{})
	if err != nil || counts[lifecycle.StateCompleted] != int64(r.tasks) {
		t.Fatalf("tasks by state %v (%v), want %d completed", counts, err, r.tasks)
	}
	db.close(t)
	return rate
}

// runTogether runs the replicas until every line is committed and acknowledged, and returns lines a second.
func runTogether(t testing.TB, js jetstream.JetStream, replicas []*ingester, r *recording) float64 {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began := time.Now()
	running, collecting := errgroup.WithContext(ctx)
	for _, in := range replicas {
		for _, l := range in.lines {
			running.Go(func() error { return l.Run(collecting) })
		}
		running.Go(func() error { return in.synchronizer.Run(collecting) })
	}
	testkit.Eventually(t, time.Hour, func() error {
		lines := uint64(0)
		for _, in := range replicas {
			lines += in.stats().Lines
		}
		if lines < uint64(r.total) {
			return fmt.Errorf("%d lines of %d handled", lines, r.total)
		}
		return eachDurable(t, js, func(stream string, info *jetstream.ConsumerInfo) error {
			if info.NumPending > 0 || info.NumAckPending > 0 {
				return fmt.Errorf("%s is not read", stream)
			}
			return nil
		})
	})
	spent := time.Since(began)
	t.Logf("%d replicas read %d lines in %s", len(replicas), r.total, spent.Round(time.Millisecond))
	stop()
	if err := running.Wait(); err != nil {
		t.Fatal(err)
	}
	err := eachDurable(t, js, func(stream string, info *jetstream.ConsumerInfo) error {
		return js.DeleteConsumer(t.Context(), stream, info.Name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return float64(r.total) / spent.Seconds()
}

// eachDurable visits the durables through which the replicas read, of all shards.
func eachDurable(t testing.TB, js jetstream.JetStream, visit func(stream string, info *jetstream.ConsumerInfo) error) (err error) {
	t.Helper()
	for name, durable := range durables {
		stream, errFind := js.Stream(t.Context(), name)
		if errFind != nil {
			return errFind
		}
		all := stream.ListConsumers(t.Context())
		for info := range all.Info() {
			if strings.HasPrefix(info.Name, durable) {
				err = errors.Join(err, visit(name, info))
			}
		}
		err = errors.Join(err, all.Err())
	}
	return err
}
