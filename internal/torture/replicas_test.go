//go:build linux

package torture

import (
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// Two replicas share the durables and a Postgres, while one or the other is killed, or frozen and comes back with what it had in hand.
func TestNothingIsLostOrDoubledBetweenReplicas(t *testing.T) {
	t.Parallel()
	betweenReplicas(t, 1)
}

// The same where the capture streams are cut into shards, which the replicas prefer differently and take over from each other.
func TestNothingIsLostOrDoubledBetweenReplicasThatReadShards(t *testing.T) {
	t.Parallel()
	betweenReplicas(t, 4)
}

func betweenReplicas(t *testing.T, shards int) {
	t.Helper()
	r := newRun(t)
	database := testkit.Postgres(t)
	b := startShardedBroker(t, r.dir, shards)
	replicas := make([]*glass, 2)
	for i := range replicas {
		replicas[i] = newGlass(t, r.dir, "--nats-url", b.url(), "--data-dir", filepath.Join(r.dir, "data"), "--database-url", database, "--capture-shards", strconv.Itoa(shards))
		replicas[i].again()
		replicas[i].api()
	}
	fleet, path := r.startFleet(b.url(), form(100, 600), 12)
	r.replicaFaults(replicas, form(5, 30))
	lines := awaitFleet(t, fleet, path, form(2*patience, 10*patience))
	js := dial(t, b.url())
	quiet(t, js)
	truth := tell(lines)
	r.describe(truth)
	for _, g := range replicas {
		c := g.ready()
		verdict(t, c, truth, compare)
		counts(t, c, truth, nil)
	}
	replicas[1].stop(t)
	r.settle(replicas[0], fleet, path, b.url(), postgresAt(database))
}

func (r *run) replicaFaults(replicas []*glass, times int) {
	kills, freezes := 0, spans{}
	for i := range times {
		r.wait(2 * time.Second)
		g := replicas[r.rand.IntN(len(replicas))]
		if i > 0 && r.rand.IntN(2) == 0 {
			kills++
			g.kill()
			r.wait(time.Second)
			g.again()
			continue
		}
		g.signal(syscall.SIGSTOP)
		began := time.Now()
		// Beyond ten seconds the broker hands what it holds to the other one.
		r.wait(form(3*time.Second, []time.Duration{2 * time.Second, 15 * time.Second}[r.rand.IntN(2)]))
		freezes = append(freezes, time.Since(began))
		g.signal(syscall.SIGCONT)
	}
	r.note("replicas killed with SIGKILL", "%d times", kills)
	r.note("replicas frozen with SIGSTOP", "%s", freezes)
}
