//go:build linux

package randomfleets

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	fleetsWanted = flag.Int("fleets", 0, "how many random fleets are played; default 5, and 200 where FLEETGLASS_TORTURE=long")
	seedWanted   = flag.Uint64("seed", 0, "of the dice; default the time")
)

// atOnce is how many fleets share a broker.
const atOnce = 5

// lasting is how long a fleet works.
const lasting = 4 * time.Second

// TestTheBoardEqualsTheWorkersTruth holds the in-flight board to what the workers of random fleets know, at every sampled instant.
func TestTheBoardEqualsTheWorkersTruth(t *testing.T) {
	t.Parallel()
	n, seed := *fleetsWanted, *seedWanted
	if n == 0 {
		n = atOnce
		if os.Getenv("FLEETGLASS_TORTURE") == "long" {
			n = 200
		}
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	var all tally
	var again []redelivery
	for from := 0; from < n; from += atOnce {
		t.Run(fmt.Sprintf("fleets %d to %d", from, min(from+atOnce, n)-1), func(t *testing.T) {
			l, sum := play(t, seed, from, min(from+atOnce, n))
			again = append(again, l.again...)
			all.add(sum)
			for _, wrong := range sum.wrong[:min(len(sum.wrong), 5)] {
				t.Error(wrong)
			}
		})
	}
	slices.Sort(all.since)
	t.Logf("%d fleets, %d instants, at most %s to look again: %d holds compared, %d with the same attempt, %d with an earlier one (the later one began before: %s), %d wrong",
		n, all.samples, all.span.Round(time.Millisecond), all.held, all.attempts, all.behind, spread(all.since), len(all.wrong))
	punctual(t, again)
}

func (t *tally) add(o tally) {
	t.samples, t.held, t.attempts, t.behind = t.samples+o.samples, t.held+o.held, t.attempts+o.attempts, t.behind+o.behind
	t.since = append(t.since, o.since...)
	t.wrong, t.span = append(t.wrong, o.wrong...), max(t.span, o.span)
}

// play lets fleets work on one broker, and looks at the board meanwhile.
func play(t *testing.T, seed uint64, from, to int) (*ledger, tally) {
	g, l := newGlass(t), newLedger()
	ctx, stop := context.WithTimeout(t.Context(), lasting)
	defer stop()
	var living sync.WaitGroup
	for f := from; f < to; f++ {
		dice := rand.New(rand.NewPCG(seed, uint64(f)))
		for i := range 1 + dice.IntN(3) {
			a := &agent{plan: planned(dice, fmt.Sprintf("f%da%d", f, i)), t: t, url: g.srv.URL(), ledger: l}
			living.Go(func() { a.lives(ctx) })
		}
	}
	var sum tally
	for ctx.Err() == nil {
		if err := g.sample(t.Context(), l, &sum); err != nil {
			t.Fatal(err)
		}
	}
	living.Wait()
	return l, sum
}

// punctual compares when messages were redelivered with when the board said so.
func punctual(t *testing.T, again []redelivery) {
	t.Helper()
	var errs, bounds []time.Duration
	unknown, within := 0, 0
	for _, r := range again {
		lag := r.got.Sub(r.due()).Abs() // Of broker and worker on a loaded machine.
		switch {
		case r.before.down || r.before.answer != "" && r.before.answer != "nak":
		case !r.known || r.said.naked != (r.before.answer == "nak") || r.said.moved(r.before):
			unknown++
		case !r.said.exact:
			bounds = append(bounds, r.got.Sub(r.said.at))
		default:
			off := r.got.Sub(r.said.at)
			errs = append(errs, off.Abs())
			if off.Abs() <= margin {
				within++
			}
			if off.Abs() > margin+lag {
				t.Errorf("%s: attempt %d was followed at %s, the board said %s, its worker reckons %s (nak %t)\n\t%s",
					r.id, r.before.attempt, clock(r.got), clock(r.said.at), clock(r.due()), r.said.naked, r.agent.plan)
			}
		}
	}
	slices.Sort(errs)
	slices.Sort(bounds)
	t.Logf("%d redeliveries: %d with a deadline that was known, %d of them within %s; %s. %d with a bound: %s. %d were not foretold",
		len(again), len(errs), within, margin, spread(errs), len(bounds), spread(bounds), unknown)
}

// due is when the worker reckons that the next attempt comes.
func (r redelivery) due() time.Time {
	if r.before.answer != "nak" {
		return r.before.deadline()
	}
	due := r.before.answerAt.Add(r.before.delay)
	if r.before.delay > 0 && len(r.agent.backed) > 0 {
		due = due.Add(r.agent.waitOf(r.before.attempt) - r.agent.waitOf(1))
	}
	return due
}

func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	at := func(q float64) time.Duration { return d[int(q*float64(len(d)-1))].Round(time.Millisecond) }
	return fmt.Sprintf("median %s, p95 %s, worst %s", at(0.5), at(0.95), at(1))
}
