//go:build linux

package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// run is one experiment: what was done, and what came of it.
type run struct {
	t     *testing.T
	rand  *rand.Rand
	seed  uint64
	dir   string
	facts []fact
}

type fact struct{ name, value string }

func newRun(t *testing.T) *run {
	t.Helper()
	seed := seedOf(t)
	r := &run{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 0)), dir: workDir(t)}
	t.Cleanup(r.print)
	return r
}

// note keeps a figure for the table.
func (r *run) note(name, format string, args ...any) {
	r.facts = append(r.facts, fact{name, fmt.Sprintf(format, args...)})
}

// print writes the table of what was injected and found.
func (r *run) print() {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range r.facts {
		_, _ = fmt.Fprintf(w, "  %s\t%s\n", f.name, f.value) // A strings.Builder never errors.
	}
	_ = w.Flush()
	r.t.Logf("%s, seed %d:\n%s", r.t.Name(), r.seed, b.String())
}

// wait lets a random time pass, of at most the given length.
func (r *run) wait(longest time.Duration) {
	time.Sleep(time.Duration(r.rand.Int64N(int64(longest))))
}

// spans are durations of one kind.
type spans []time.Duration

// String is their number, median and maximum.
func (s spans) String() string {
	if len(s) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(s))
	return fmt.Sprintf("%d, median %s, longest %s", len(s), sorted[len(s)/2].Round(time.Millisecond), sorted[len(s)-1].Round(time.Millisecond))
}

// killings kills Fleetglass at random moments and starts it again at once or after a while: while it starts, while it catches up, and
// while it works.
func (r *run) killings(g *glass, times int, life, death time.Duration) {
	served := 0
	for range times {
		r.wait(life)
		g.kill()
		if servingLine.MatchString(g.output()) {
			served++
		}
		if r.rand.IntN(2) == 0 {
			r.wait(death)
		}
		g.again()
	}
	r.note("Fleetglass killed with SIGKILL", "%d times, %d of them while it served", times, served)
}

// startFleet lets the fleet work.
func (r *run) startFleet(url string, tasks int, rate float64) (*process, string) {
	r.t.Helper()
	path := r.dir + "/fleet.journal"
	o := fleetOrder{URL: url, Journal: path, Seed: r.seed, Tasks: tasks, Rate: rate, Scale: 0.25}
	return startRole(r.t, r.dir, "fleet", o), path
}
