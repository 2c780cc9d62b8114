//go:build linux

package situations

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rounds is how often the rows are played while Fleetglass is interrupted.
var rounds = flag.Int("rounds", 3, "how often the interrupted rows are played")

const (
	longestUp   = 3 * time.Second        // Between two interruptions.
	longestAway = 500 * time.Millisecond // Of one interruption.
)

// TestNothingIsSaidThatMayNotBeSaidByAKilledProgram plays the rows while Fleetglass is killed and started again at random moments, and their clients halt
// for random times: what is seen in one piece, in two or only afterwards differs from run to run.
func TestNothingIsSaidThatMayNotBeSaidByAKilledProgram(t *testing.T) {
	if os.Getenv("FLEETGLASS_TORTURE") != "long" {
		t.Skip("make torture plays it")
	}
	if _, err := program(); err != nil {
		t.Fatal(err)
	}
	for range *rounds {
		playAll(t, interrupted, func() {})
	}
}

// in reports whether a row is played in a mode. Rows about clocks are not interrupted: what a clock did while Fleetglass was down cannot be known.
func (s situation) in(m mode) bool {
	if m == interrupted {
		return s.mode == "" && !s.on.clocked
	}
	return s.mode == "" || s.mode == m
}

// watchInterrupted lets the clients of all rows act while each Fleetglass, or one of two, is killed and started again.
func watchInterrupted(t *testing.T, scenes []*scene) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var killing, watching sync.WaitGroup
	var kills atomic.Int64
	for _, s := range scenes {
		killing.Go(func() {
			for pause(ctx, rand.N(longestUp)); ctx.Err() == nil; pause(ctx, rand.N(longestUp)) {
				all := s.world.glasses()
				if err := all[rand.IntN(len(all))].interrupt(t.Context(), rand.N(longestAway)); err != nil {
					t.Error(err)
					return
				}
				kills.Add(1)
			}
		})
	}
	for _, s := range scenes {
		watching.Go(func() { s.each(func(p *player, g *glass) { p.watched(g) }) })
	}
	watching.Wait()
	stop()
	killing.Wait()
	t.Logf("killed and started again %d times", kills.Load())
	if kills.Load() == 0 {
		t.Error("Fleetglass was never killed")
	}
}
