package crashpoints

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// points says for every point what dying there costs, and what the ledger must say in the end.
var points = []struct {
	at      point
	effects int32
	row     string
}{
	{unsent, 1, "completed"},
	{unconfirmed, 1, "completed, stream 1"},
	{delivered, 1, "completed"},
	{asked, 1, "completed"},
	{reserved, 1, "completed"},
	{started, 1, "completed"},
	{effected, 2, "completed"}, // A retry: the first attempt never completed. Its receipt, where it reports, is in the trace.
	{recorded, 1, "completed, idempotency 1"},
	{acked, 1, "completed"},
}

func TestEveryPointAtWhichAnAgentDiesGivesTheRightRow(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(kind{}, kind{reserves: true}, kind{reports: true}, kind{reserves: true, reports: true}) {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			g := newGlass(t, k)
			agents := map[point]*agent{}
			var living sync.WaitGroup
			for _, p := range points {
				if p.at == reserved && !k.reserves {
					continue
				}
				a := g.agent(t, k, string(p.at))
				agents[p.at] = a
				living.Go(func() { a.liveTwice(p.at) })
			}
			living.Wait()
			g.settle(t)
			for _, p := range points {
				a := agents[p.at]
				if a == nil {
					continue
				}
				if got := g.row(t.Context(), a.name); k.caught(got) != p.row || a.effects.Load() != p.effects {
					t.Errorf("died %s: %d effects, ledger %q; want %d, %q\n%s", p.at, a.effects.Load(), got, p.effects, p.row, g.story(t.Context(), a.name))
				}
				g.wantLogged(t, k, a.name)
			}
		})
	}
}

// liveTwice publishes and works a task, dying at a point, and again as the program that is started next. It returns when the
// task has ended.
func (a *agent) liveTwice(dieAt point) {
	task := fleet.NewTask{ID: a.name, Agent: a.name, Type: "code_review", CreatedAt: time.Now()}
	first := a.process(dieAt, brisk)
	if first.at(unsent); dieAt != unsent {
		if _, err := first.publish.Publish(a.t.Context(), task); err != nil {
			a.t.Errorf("publish %s: %v", a.name, err)
		}
	}
	if first.at(unconfirmed); dieAt != unsent && dieAt != unconfirmed {
		first.start()
	}
	select {
	case <-a.died:
	case <-time.After(patience):
		a.t.Errorf("%s was never reached", dieAt)
		return
	}
	second := a.process("", brisk)
	if dieAt == unsent || dieAt == unconfirmed {
		if r, err := second.publish.Publish(a.t.Context(), task); err != nil || r.Duplicate != (dieAt == unconfirmed) {
			a.t.Errorf("publish %s again: %+v, %v", a.name, r, err)
		}
	}
	second.start()
	a.gone()
}

// gone waits until the task stream holds nothing of the agent.
func (a *agent) gone() {
	testkit.Eventually(a.t, patience, func() error {
		c, err := a.g.js.Consumer(a.t.Context(), fleet.StreamTasks, fleet.WorkerName(a.name))
		if err != nil {
			return err
		}
		if info := c.CachedInfo(); info.NumPending > 0 || info.NumAckPending > 0 || info.Delivered.Stream == 0 {
			return fmt.Errorf("%s has %d in hand and %d to do", a.name, info.NumAckPending, info.NumPending)
		}
		return nil
	})
}
