package brokersync_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/collectors/brokersync"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// TestRandomAgentsAreTracedAsTheyRememberIt compares traces with what the agents themselves know: how often they got each task, and
// what they said last.
func TestRandomAgentsAreTracedAsTheyRememberIt(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		down, hands := i%2 == 1, 1+i/2*3
		t.Run(fmt.Sprintf("down %t, %d in hand", down, hands), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var parts []*brokersync.Collector
			if !down {
				parts = b.replicas(1)
			}
			last := &memories{said: map[string]string{}}
			var acting sync.WaitGroup
			for i := range 5 {
				acting.Go(func() {
					b.agent(t, fmt.Sprintf("r%d", i)).rambles(rand.New(rand.NewPCG(1, uint64(i))), hands, last)
				})
			}
			acting.Wait()
			if t.Failed() {
				t.FailNow()
			}
			if down {
				parts = b.replicas(1)
			}
			for range 2 { // What was said must stay true.
				for task, said := range last.said {
					b.expectMemory(t, task, said, hands == 1)
					b.truthful(t, task)
					b.noTwins(t, task)
				}
				b.polls(t, parts, 6)
			}
		})
	}
}

type memories struct {
	mu   sync.Mutex
	said map[string]string
}

// rambles works on tasks as the dice fall, then leaves; what was silent to the end is never pulled again.
func (a *agent) rambles(dice *rand.Rand, hands int, last *memories) {
	a.works(nats.ConsumerConfig{AckWait: 250 * time.Millisecond, MaxAckPending: hands})
	const tasks = 12
	for i := range tasks {
		a.publish(fmt.Sprintf("%s-%d", a.name, i))
	}
	for done := 0; done < tasks; {
		m := a.take(2 * time.Second)
		if m == nil {
			a.t.Errorf("%s: nothing came with %d of %d tasks done", a.name, done, tasks)
			return
		}
		meta, err := m.Metadata()
		a.must(err)
		said := []string{"ack", "ack", "work", "nak", "later", "term", "silence", "silence"}[dice.IntN(8)]
		switch said {
		case "ack":
			a.must(m.AckSync())
		case "work":
			busy(150 * time.Millisecond)
			a.must(m.InProgress())
			busy(150 * time.Millisecond)
			a.must(m.AckSync())
		case "nak":
			a.must(m.Nak())
		case "later":
			a.must(m.NakWithDelay(100 * time.Millisecond))
		case "term":
			a.must(m.Term())
		}
		if said == "ack" || said == "work" || said == "term" || meta.NumDelivered == 3 {
			done++
		}
		last.mu.Lock()
		last.said[m.Header.Get("Nats-Msg-Id")] = said
		last.mu.Unlock()
	}
	a.must(a.nc.Flush())
}

// expectMemory waits until the trace says what the agent knows. Where several messages were in hand the lines may leave it open who had a
// silent delivery: then nothing may be said that is not so, and what was answered must be known.
func (b *bench) expectMemory(t *testing.T, task, said string, all bool) {
	t.Helper()
	want := lifecycle.StateExhausted
	if said == "term" {
		want = lifecycle.StateTerminated
	}
	if said == "ack" || said == "work" {
		want = lifecycle.StateCompleted
	}
	b.mu.Lock()
	n := len(b.taken[task])
	b.mu.Unlock()
	testkit.Eventually(t, patience, func() error {
		r, err := b.store.Task(t.Context(), task)
		if err != nil {
			return err
		}
		wrong := r.Summary.State != want || r.Summary.Attempt != n
		if !all && (said == "silence" || said == "nak" || said == "later") {
			wrong = r.Summary.State == lifecycle.StateCompleted || r.Summary.State == lifecycle.StateOutcomeUnknown || r.Summary.Attempt > n
		}
		if wrong {
			return fmt.Errorf("%s: %s after %d attempts, its agent got it %d times and ended with %q\n%s\n%s", task, r.Summary.State, r.Summary.Attempt, n, said, b.trace(task), b.events(task))
		}
		return nil
	})
}
