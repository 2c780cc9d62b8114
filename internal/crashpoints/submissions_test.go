package crashpoints

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"fleetglass/fleet"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func (a *agent) submitBody(t *testing.T, msgID, body string) {
	t.Helper()
	msg := nats.NewMsg(fleet.NewContract("").TaskSubject(a.name, "code_review"))
	msg.Data = []byte(body)
	msg.Header.Set(fleet.HeaderMsgID, msgID)
	msg.Header.Set(fleet.HeaderTaskID, a.name)
	msg.Header.Set(fleet.HeaderIdempotencyKey, fleet.IdempotencyKey(a.name, "1"))
	if _, err := a.g.js.PublishMsg(t.Context(), msg); err != nil {
		t.Error(err)
	}
}

func TestParallelSubmissionsOfOneKeyHaveOneEffect(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(kind{reserves: true}, kind{reserves: true, reports: true}) {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			g := newGlass(t, k)
			rows, together := map[*agent]string{}, map[*agent]int{}
			for _, n := range []int{10, 100} {
				same := g.agent(t, k, fmt.Sprintf("one-id-%d", n))
				same.publishTogether(t, n)
				together[same] = n
			}
			many := g.agent(t, k, "ten-ids")
			rows[many] = "completed, idempotency 9"
			if !k.reports { // Who says nothing of what it catches is known by the order of things only.
				many.submit(t, "first")
			} else {
				many.submitTogether(t, 10)
			}
			all := slices.Concat(slices.Collect(maps.Keys(rows)), slices.Collect(maps.Keys(together)))
			for _, a := range all {
				a.process("", brisk).start()
			}
			if many.gone(); !k.reports {
				many.submitTogether(t, 9)
			}
			for _, a := range all {
				a.gone()
			}
			g.settle(t)
			for a, want := range rows {
				if got := g.row(t.Context(), a.name); k.caught(got) != want || a.effects.Load() != 1 {
					t.Errorf("%s: %d effects, ledger %q; want one, %q\n%s", a.name, a.effects.Load(), got, want, g.story(t.Context(), a.name))
				}
			}
			for a, n := range together {
				want := fmt.Sprintf("completed, stream %d", n-1)
				if got := g.row(t.Context(), a.name); got != want || a.effects.Load() != 1 {
					t.Errorf("%s: %d effects, ledger %q; want one, %q\n%s", a.name, a.effects.Load(), got, want, g.story(t.Context(), a.name))
				}
			}
		})
	}
}

// submitTogether submits the task under n message ids at once.
func (a *agent) submitTogether(t *testing.T, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { a.submit(t, fmt.Sprintf("copy-%d", i)) })
	}
	wg.Wait()
}

// publishTogether publishes one task n times at once. All must be told of the same stored message.
func (a *agent) publishTogether(t *testing.T, n int) {
	t.Helper()
	p := a.process("", brisk)
	task := fleet.NewTask{ID: a.name, Agent: a.name, Type: "code_review", CreatedAt: time.Now()}
	var mu sync.Mutex
	var wg sync.WaitGroup
	replies := map[fleet.Receipt]int{}
	for range n {
		wg.Go(func() {
			r, err := p.publish.Publish(t.Context(), task)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			replies[r]++
		})
	}
	wg.Wait()
	var stored fleet.Receipt
	for r := range replies {
		stored = fleet.Receipt{Stream: r.Stream, Seq: r.Seq}
	}
	caught := stored
	caught.Duplicate = true
	if diff := cmp.Diff(map[fleet.Receipt]int{stored: 1, caught: n - 1}, replies); diff != "" {
		t.Errorf("%s: %s", a.name, diff)
	}
}

func TestTheSameKeyWithAnotherPayloadIsRefused(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(kind{reserves: true}) {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			g := newGlass(t, k)
			a := g.agent(t, k, "conflict")
			a.submit(t, "first")
			a.process("", brisk).start()
			a.gone()
			a.submitBody(t, "second", `{"taskId":"conflict","payload":"another"}`)
			a.gone()
			g.settle(t)
			if got := g.row(t.Context(), a.name); got != "terminated, conflict 1" || a.effects.Load() != 1 {
				t.Errorf("%d effects, ledger %q\n%s", a.effects.Load(), got, g.story(t.Context(), a.name))
			}
		})
	}
}
