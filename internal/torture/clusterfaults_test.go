//go:build linux

package torture

import (
	"path/filepath"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

// Two replicas on one Postgres observe a cluster of three servers, whose leaders change and whose nodes are killed, frozen and cut off. What the
// cluster did not capture may be unknown, never wrong, and both replicas must say the same.
func TestNothingIsInventedWhenAClusterFails(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	database := testkit.Postgres(t)
	c := startCluster(t, r.dir)
	replicas := make([]*glass, 2)
	for i := range replicas {
		replicas[i] = newGlass(t, r.dir, "--nats-url", c.url(), "--data-dir", filepath.Join(r.dir, "data"), "--database-url", database)
		replicas[i].again()
	}
	for _, g := range replicas {
		g.ready()
	}
	fleet, path := r.startFleet(c.url(), form(60, 900), form(12.0, 4.0))
	js := dial(t, c.url())
	r.clusterFaults(c, js, form(1, 8))
	c.whole(js)
	r.agree(replicas, js, fleet, path)
	replicas[1].stop(t)
	r.aftermath(replicas[0], fleet, path, c.url(), postgresAt(database))
}

// clusterFaults does each of the faults, in an order of its own each time.
func (r *run) clusterFaults(c *cluster, js jetstream.JetStream, times int) {
	r.t.Helper()
	changes, kills, freezes, partitions := 0, 0, spans{}, spans{}
	faults := []func(n int){
		func(int) { changes += r.changeLeaders(js) },
		func(n int) {
			kills++
			c.nodes[n].kill()
			r.wait(form(time.Second, 12*time.Second))
			c.nodes[n].again()
		},
		func(n int) { freezes = append(freezes, c.nodes[n].freeze(r, form(2*time.Second, 15*time.Second))) },
		func(n int) {
			c.part(n, true)
			began := time.Now()
			r.wait(form(2*time.Second, 20*time.Second))
			c.part(n, false)
			partitions = append(partitions, time.Since(began))
		},
	}
	for range times {
		for _, i := range r.rand.Perm(len(faults)) {
			r.wait(form(500*time.Millisecond, 3*time.Second))
			faults[i](r.rand.IntN(nodes))
		}
	}
	r.note("leaders changed", "%d", changes)
	r.note("node killed with SIGKILL", "%d times", kills)
	r.note("node frozen with SIGSTOP", "%s", freezes)
	r.note("node cut off", "%s", partitions)
}

// changeLeaders makes the leaders of some streams, and of some of their consumers, step down, and returns how many.
func (r *run) changeLeaders(js jetstream.JetStream) (changes int) {
	r.t.Helper()
	streams := []string{fleet.StreamTasks, fleet.CapturePub, fleet.CaptureRaw, fleet.CaptureAck, fleet.CaptureEvt}
	r.rand.Shuffle(len(streams), func(i, j int) { streams[i], streams[j] = streams[j], streams[i] })
	for _, name := range streams[:form(3, 5)] {
		consumers := []string{""}
		if s, err := js.Stream(r.t.Context(), name); err == nil {
			for consumer := range s.ConsumerNames(r.t.Context()).Name() {
				consumers = append(consumers, consumer)
			}
		}
		for _, consumer := range consumers {
			if consumer != "" && r.rand.IntN(2) == 0 {
				continue
			}
			if err := stepDown(js, name, consumer); err != nil {
				r.t.Fatal(err)
			}
			changes++
		}
	}
	return changes
}

// agree compares what both replicas say with what happened.
func (r *run) agree(replicas []*glass, js jetstream.JetStream, fleet *process, path string) {
	r.t.Helper()
	awaitFleet(r.t, fleet, path, form(2*patience, 10*patience))
	quiet(r.t, js)
	lines, err := readJournal(path)
	if err != nil {
		r.t.Fatal(err)
	}
	truth := tell(lines)
	for _, g := range replicas {
		c := g.ready()
		verdict(r.t, c, truth, r.losses(js, c, lines, truth).compare)
	}
}
