//go:build linux

package torture

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
)

// Fleetglass owns the broker, so that both die together.
func TestNothingIsInventedWhenFleetglassDiesWithItsBroker(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	address := testkit.FreeAddress(t)
	data := filepath.Join(r.dir, "data")
	g := newGlass(t, r.dir, "--nats-listen", address, "--data-dir", data)
	g.again()
	g.api()
	fleet, path := r.startFleet("nats://"+address, form(100, 600), 12)
	r.killings(g, form(4, 25), 4*time.Second, time.Second)
	r.aftermath(g, fleet, path, "nats://"+address, sqliteIn(data))
}

// aftermath waits for the end of everything and compares what can be compared when lines were lost.
func (r *run) aftermath(g *glass, fleet *process, path, url string, open func(*testing.T) lifecycle.Store) {
	r.t.Helper()
	awaitFleet(r.t, fleet, path, form(2*patience, 10*patience))
	js := dial(r.t, url)
	g.kill()
	g.again()
	c := g.ready()
	r.note("ready after a kill in", "%s", time.Since(g.began).Round(time.Millisecond))
	r.note("caught up after a kill in", "%s", g.recover(js).Round(time.Millisecond))
	quiet(r.t, js)
	lines, err := readJournal(path)
	if err != nil {
		r.t.Fatal(err)
	}
	truth := tell(lines)
	r.describe(truth)
	a := r.losses(js, c, lines, truth)
	verdict(r.t, c, truth, a.compare)
	counts(r.t, c, truth, a)
	r.balancesHonestly(c, js, truth, a)
	r.note("still shown in flight", "%v", held(r.t, c))
	r.note("still in the stream", "%v", slices.Sorted(maps.Keys(a.left)))
	g.stop(r.t)
	rebuild(r.t, g, open, truth)
}

// losses reads what was captured and says in the table what was not.
func (r *run) losses(js jetstream.JetStream, c client, lines []line, truth map[string]*told) *aftermath {
	r.t.Helper()
	read := func() []seenGap {
		gaps, err := list[seenGap](r.t.Context(), c, "/api/v1/gaps")
		if err != nil {
			r.t.Fatal(err)
		}
		return gaps
	}
	gaps := read()
	made := func(seq uint64) *seen {
		s, err := c.task(r.t.Context(), fmt.Sprintf("TASKS:%d", seq))
		if err != nil {
			return nil
		}
		return s
	}
	a := &aftermath{made: made, wires: readWires(r.t, js, refusedAdvisories(r.t, c)), left: left(r.t, js), gaps: gaps, again: read}
	a.handed.all = readHandovers(lines)
	a.handed.forgetful = forgetful(r.t, js, truth, a.handed.all)
	r.note("forgot deliveries", "%v", slices.Sorted(maps.Keys(a.handed.forgetful)))
	lost := map[string]int{}
	tasks := 0
	for _, t := range truth {
		l := losses(t, a.wires.of(t))
		tasks += min(1, len(l))
		for _, kind := range l {
			lost[kind]++
		}
	}
	r.note("lines lost by the broker", "%v, of %d tasks", lost, tasks)
	r.note("gaps", "%d", len(gaps))
	for _, g := range gaps {
		r.note("gap", "%s", fmt.Sprintf("%s %s-%s %s to %s: %s", g.Source, g.FromSeq, g.ToSeq, g.From, g.To, g.Reason))
	}
	return a
}
