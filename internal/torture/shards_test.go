//go:build linux

package torture

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	manyAgents  = 32
	manyPerTask = 4 // Events: attempt, publish, acknowledgement, its confirmation.
)

// manyTasks is how many tasks there are: in the short form so many that a replica can be killed in the middle of them.
func manyTasks() int64 {
	if long() {
		return 10_000
	}
	return 2_000
}

// The lines of many tasks lie in four shards when two replicas begin to read them, and one is killed in the middle of it: the other one takes
// over, every task has each of its events once, and the reconciliation balances.
func TestShardsOfAReplicaThatIsKilledAreTakenOver(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	database := testkit.Postgres(t)
	b := startShardedBroker(t, r.dir, 4)
	js := dial(t, b.url())
	workMany(t, js)
	replicas := make([]*glass, 2)
	for i := range replicas {
		replicas[i] = newGlass(t, r.dir, "--nats-url", b.url(), "--data-dir", filepath.Join(r.dir, "data"), "--database-url", database, "--capture-shards", "4", "--nice", "0")
		replicas[i].again()
	}
	for _, g := range replicas {
		g.api()
	}
	store := postgresAt(database)(t)
	t.Cleanup(func() { _ = store.Close() })
	testkit.Eventually(t, patience, func() error {
		n, err := known(t, store)
		if err == nil && n < manyTasks()/10 {
			err = fmt.Errorf("%d tasks are known", n)
		}
		return err
	})
	replicas[0].kill()
	n, err := known(t, store)
	if err != nil || n >= manyTasks() {
		t.Errorf("the replica was killed when %d tasks were known, not in the middle: %v", n, err)
	}
	r.note("tasks known when a replica was killed", "%d", n)
	c := replicas[1].ready()
	quiet(t, js)
	balancesMany(t, c, store)
}

// workMany publishes the tasks of many agents, which take and acknowledge them at once.
func workMany(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	contract := fleet.NewContract("")
	var agents errgroup.Group
	for a := range manyAgents {
		agents.Go(func() error {
			agent := "agent-" + strconv.Itoa(a)
			worker, err := js.CreateConsumer(t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
				Durable: fleet.WorkerName(agent), FilterSubject: contract.TaskSubject(agent, ">"), AckPolicy: jetstream.AckExplicitPolicy, SampleFrequency: "100",
			})
			if err != nil {
				return err
			}
			for i := a; i < int(manyTasks()); i += manyAgents {
				msg := nats.NewMsg(contract.TaskSubject(agent, "review"))
				msg.Header.Set(fleet.HeaderTaskID, fmt.Sprintf("many-%05d", i))
				msg.Header.Set(nats.MsgIdHdr, fmt.Sprintf("many-%05d", i))
				if _, err := js.PublishMsg(t.Context(), msg); err != nil {
					return err
				}
				taken, err := worker.Fetch(1)
				if err != nil {
					return err
				}
				for m := range taken.Messages() {
					err = m.DoubleAck(t.Context())
				}
				if err := errors.Join(err, taken.Error()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := agents.Wait(); err != nil {
		t.Fatal(err)
	}
}

// known is how many tasks the store has.
func known(t *testing.T, store lifecycle.Store) (n int64, err error) {
	t.Helper()
	counts, _, err := store.CountTasks(t.Context(), lifecycle.Filter{})
	for _, c := range counts {
		n += c
	}
	return n, err
}

// balancesMany fails unless every task is completed with each of its events once, no gap is open, and the reconciliation accounts for all.
func balancesMany(t *testing.T, c client, store lifecycle.Store) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		counts, _, err := store.CountTasks(t.Context(), lifecycle.Filter{})
		if err == nil && (counts[lifecycle.StateCompleted] != manyTasks() || len(counts) != 1) {
			err = fmt.Errorf("tasks by state: %v", counts)
		}
		return err
	})
	for i := range manyTasks() {
		events, err := store.Events(t.Context(), fmt.Sprintf("many-%05d", i), lifecycle.EventPosition{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[lifecycle.Kind]int{}
		for _, e := range events {
			kinds[e.Kind]++
		}
		if len(events) < manyPerTask || kinds[lifecycle.Published] != 1 || kinds[lifecycle.Acked] != 1 || kinds[lifecycle.AckConfirmed] != 1 || kinds[lifecycle.PublishAttempted] != 1 {
			t.Fatalf("task %d has the events %v", i, kinds)
		}
	}
	gaps, err := store.Gaps(t.Context(), 0, lifecycle.MicrosOf(time.Now().Add(time.Hour)), 10)
	if err != nil || len(gaps) > 0 {
		t.Errorf("gaps %+v although nothing was lost: %v", gaps, err)
	}
	balance := c.reconcile(t)
	if got := balance.term("completed"); got != manyTasks() {
		t.Errorf("the reconciliation accounts for %d completed tasks, want %d", got, manyTasks())
	}
	if got := balance.term("unexplained"); got != 0 {
		t.Errorf("the reconciliation leaves %d messages unexplained", got)
	}
}
