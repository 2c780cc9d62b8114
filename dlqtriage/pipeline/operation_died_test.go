package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/testkit"
)

// dying is the store of a server that is killed while it works: it acts on entries, and never says what it did.
type dying struct{ dlqtriage.OperationStore }

func (dying) Settle(context.Context, decision.Settlement) (decision.Made, error) {
	return decision.Made{}, errors.New("killed")
}

func (dying) Return(context.Context, decision.Return) error { return errors.New("killed") }

// Until somebody else takes up what a killed server had in hand, an operation says that more was done than it counts. Then it counts all of it, also where it
// was cancelled meanwhile.
func TestAnOperationCountsWhatAKilledServerDid(t *testing.T) {
	t.Parallel()
	const entries = 12
	for name, ask := range map[string]func(*world, *dlqtriage.Operations) dlqtriage.BulkRequest{
		"a filter that keeps what was acted on": func(*world, *dlqtriage.Operations) dlqtriage.BulkRequest { return bulk(dlqtriage.ActionDiscard, 20) },
		"a filter that loses it": func(*world, *dlqtriage.Operations) dlqtriage.BulkRequest {
			r := bulk(dlqtriage.ActionDiscard, 20)
			r.Selector.Filter.Statuses = []dlqtriage.Status{dlqtriage.StatusOpen}
			return r
		},
		"ids": func(w *world, _ *dlqtriage.Operations) dlqtriage.BulkRequest {
			r := bulk(dlqtriage.ActionDiscard, 20)
			r.Selector = dlqtriage.Selector{}
			for i := range entries {
				r.Selector.IDs = append(r.Selector.IDs, w.entryOf(fmt.Sprintf("t%02d", i)))
			}
			return r
		},
		"retries that are taken back": func(w *world, s *dlqtriage.Operations) dlqtriage.BulkRequest {
			r := undoOf(w.retriesAll(s, 2*time.Hour))
			r.Rate = 20
			return r
		},
	} {
		for _, cancelled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cancelled %t", name, cancelled), func(t *testing.T) {
				t.Parallel()
				var later atomic.Int64
				w := newWorld(t, broker(t), temporary(t), func(c *Config) { c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) } })
				for i := range entries {
					w.dead(fmt.Sprintf("t%02d", i))
				}
				before := w.operations(nil)
				stop := w.works(before)
				r := ask(w, before)
				stop()
				w.diesAt(r, 4, cancelled, func() { later.Add(int64(31 * time.Second)) })
			})
		}
	}
}

// entryOf is the id of a task's dead letter.
func (w *world) entryOf(task string) string {
	w.t.Helper()
	found, err := w.store.EntriesOf(context.Background(), task, 1)
	if err != nil || len(found) != 1 {
		w.t.Fatal(found, err)
	}
	return found[0].ID
}

// diesAt lets a server die after it acted on some entries, and another one take over.
func (w *world) diesAt(r dlqtriage.BulkRequest, acted int, cancelled bool, leaseEnds func()) {
	t := w.t
	first, err := dlqtriage.NewOperations(dlqtriage.OperationsConfig{Actions: w.actions, Store: dying{w.store}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := first.Start(context.Background(), r)
	if err != nil || o.Counting {
		t.Fatalf("nothing was acted on, and counting is %t: %v", o.Counting, err)
	}
	if o, err = first.Get(context.Background(), o.ID); err != nil || o.Counting {
		t.Fatalf("nothing was acted on, and counting is %t: %v", o.Counting, err)
	}
	stop := w.works(first)
	testkit.Eventually(t, patience, func() error {
		if n := w.actedFor(o, r); n < acted {
			return fmt.Errorf("%d acted on", n)
		}
		return nil
	})
	stop()

	next := w.operations(nil)
	if cancelled {
		if _, err := next.Cancel(context.Background(), o.ID, decision.Actor{Name: "ops", Via: decision.ViaAPI}, "the wrong one"); err != nil {
			t.Fatal(err)
		}
	}
	done := w.actedFor(o, r)
	if o, err = next.Get(context.Background(), o.ID); err != nil || !o.Counting {
		t.Errorf("%d of %d are counted, and counting is %t: %v", o.Counts.Done, done, o.Counting, err)
	}
	if listed, err := next.List(context.Background(), nil, 1); err != nil || listed[0].ID != o.ID || !listed[0].Counting {
		t.Errorf("the list has it as %+v, %v", listed, err)
	}
	leaseEnds()
	w.works(next)
	testkit.Eventually(t, patience, func() error {
		if o, err = next.Get(context.Background(), o.ID); err == nil && (o.Counting || !o.Status.Ended()) {
			err = fmt.Errorf("counting is %t, the operation is %s", o.Counting, o.Status)
		}
		return err
	})
	if done = w.actedFor(o, r); int(o.Counts.Done) != done || cancelled == (o.Status == dlqtriage.ActionSucceeded) {
		t.Errorf("it is %s and counts %d done of %d", o.Status, o.Counts.Done, done)
	}
}

// actedFor counts what the operation did.
func (w *world) actedFor(o dlqtriage.Operation, r dlqtriage.BulkRequest) (n int) {
	w.t.Helper()
	of := o.ID
	if r.Selector.Operation != "" {
		of = r.Selector.Operation
	}
	found, err := w.store.ActionsOf(context.Background(), of, "", 100)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range found {
		if a, err := w.actions.Action(context.Background(), d.ID); err != nil {
			w.t.Fatal(err)
		} else if of == o.ID || a.UndoneBy == o.ID {
			n++
		}
	}
	return n
}
