package pipeline

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

func (w *world) operations(changed func(dlqtriage.Operation)) *dlqtriage.Operations {
	w.t.Helper()
	s, err := dlqtriage.NewOperations(dlqtriage.OperationsConfig{Actions: w.actions, Store: w.store, Changed: changed})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// works runs operations until the test, or stop, ends it.
func (w *world) works(s *dlqtriage.Operations) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	w.t.Cleanup(stop)
	return stop
}

func bulk(action dlqtriage.ActionKind, rate float64) dlqtriage.BulkRequest {
	return dlqtriage.BulkRequest{
		Action: action, Reason: "because", Key: string(action), Rate: rate, Actor: decision.Actor{Name: "ceo", Via: decision.ViaAPI},
		Selector: dlqtriage.Selector{Filter: &dlqtriage.EntryFilter{}}, Params: dlqtriage.Params{As: dlqtriage.AsUnchanged},
	}
}

// finishedOperation waits until an operation has ended.
func (w *world) finishedOperation(s *dlqtriage.Operations, id string) dlqtriage.Operation {
	w.t.Helper()
	var o dlqtriage.Operation
	testkit.Eventually(w.t, patience, func() error {
		var err error
		if o, err = s.Get(context.Background(), id); err == nil && !o.Status.Ended() {
			err = fmt.Errorf("the operation is %s: %+v", o.Status, o.Counts)
		}
		return err
	})
	return o
}

func TestAnOperationThatIsStoppedGoesOnAndActsOnNothingTwice(t *testing.T) {
	t.Parallel()
	for name, filter := range map[string]dlqtriage.EntryFilter{
		"a filter that keeps what was acted on": {}, "a filter that loses it": {Statuses: []dlqtriage.Status{dlqtriage.StatusOpen}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stoppedThrice(t, filter)
		})
	}
}

func stoppedThrice(t *testing.T, filter dlqtriage.EntryFilter) {
	t.Helper()
	w := newWorld(t, broker(t), temporary(t), nil)
	const entries = 60
	for i := range entries {
		w.dead(fmt.Sprintf("t%02d", i))
	}
	first := w.operations(nil)
	stop := w.works(first)
	r := bulk(dlqtriage.ActionDiscard, 20)
	r.Selector.Filter = &filter
	o, err := first.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // Stopped several times, in the middle of a slice.
		done := o.Counts.Done
		testkit.Eventually(t, patience, func() error {
			if o, err = first.Get(t.Context(), o.ID); err != nil || o.Counts.Done <= done {
				return fmt.Errorf("%d done, %w", o.Counts.Done, err)
			}
			acted, err := w.store.ActionsOf(t.Context(), o.ID, "", entries)
			if err == nil && len(acted) < int(o.Counts.Done)+3 {
				err = fmt.Errorf("%d acted on, %d done", len(acted), o.Counts.Done)
			}
			return err
		})
		stop()
		first = w.operations(nil)
		stop = w.works(first)
	}
	o = w.finishedOperation(first, o.ID)
	if want := (dlqtriage.Counts{Selected: entries, Eligible: entries, Done: entries}); o.Counts != want || o.Status != dlqtriage.ActionSucceeded {
		t.Errorf("operation %s %+v, want %+v", o.Status, o.Counts, want)
	}
	for i := range entries {
		found, err := w.store.EntriesOf(t.Context(), fmt.Sprintf("t%02d", i), 10)
		if err != nil || len(found) != 1 || found[0].Status != dlqtriage.StatusDiscarded || found[0].Revision != 1 {
			t.Errorf("entry %+v, %v; want it discarded by one decision", found, err)
		}
	}
}

func TestManyAreRetriedAndEachIsSentOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	const entries = 40
	for i := range entries {
		w.dead(fmt.Sprintf("t%02d", i))
	}
	w.runs()
	told := make(chan dlqtriage.Operation, 1000)
	s := w.operations(func(o dlqtriage.Operation) { told <- o })
	w.works(s)
	r := bulk(dlqtriage.ActionRetry, 0)
	none := int64(0)
	r.Params.DelayMS = &none
	o, err := s.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Start(t.Context(), r); err != nil || again.ID != o.ID {
		t.Errorf("the same request again: %s, %v", again.ID, err)
	}
	if o = w.finishedOperation(s, o.ID); o.Counts.Done != entries || len(o.Items) != entries {
		t.Errorf("operation %+v", o.Counts)
	}
	testkit.Eventually(t, patience, func() error {
		for _, i := range o.Items {
			if i.Status != dlqtriage.ItemDone || i.Message == nil {
				o, err = s.Get(t.Context(), o.ID)
				return fmt.Errorf("item %+v, %w", i, err)
			}
		}
		return nil
	})
	for i := range entries {
		if n := len(w.sent(fmt.Sprintf("t%02d", i))); n != 1 {
			t.Errorf("t%02d: %d messages, want 1", i, n)
		}
	}
	if len(told) < 2 {
		t.Errorf("progress was told %d times", len(told))
	}
}

// slowLists is a store that takes so long for each list, by the clock of the test.
type slowLists struct {
	dlqtriage.EntryReader
	takes time.Duration
	clock *atomic.Int64 // How far ahead it is, in nanoseconds.
	lists atomic.Int64
}

// Entries implements [dlqtriage.EntryReader].
func (s *slowLists) Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error) {
	s.lists.Add(1)
	s.clock.Add(int64(s.takes))
	return s.EntryReader.Entries(ctx, f, p)
}

// On a busy machine a list of entries may take longer than a slice should. The slice must then act on more than one entry all the same.
func TestASlowListLeavesASliceItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	const entries = 100
	for i := range entries {
		w.dead(fmt.Sprintf("t%02d", i))
	}
	var clock atomic.Int64
	slow := &slowLists{EntryReader: w.store, takes: 2 * time.Second, clock: &clock}
	actions, err := dlqtriage.NewActions(dlqtriage.ActionsConfig{
		Entries: slow, Tasks: w.store, Decisions: w.store, Policy: dlqtriage.DefaultPolicy, Contract: fleet.NewContract(""),
		Now: func() time.Time { return time.Now().Add(time.Duration(clock.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.actions = actions
	s := w.operations(nil)
	w.works(s)
	o, err := s.Start(t.Context(), bulk(dlqtriage.ActionDiscard, 0))
	if err != nil {
		t.Fatal(err)
	}
	if o = w.finishedOperation(s, o.ID); o.Counts.Done != entries {
		t.Errorf("operation %+v, want %d done", o.Counts, entries)
	}
	if n := slow.lists.Load(); n > entries/4 {
		t.Errorf("%d entries took %d lists", entries, n)
	}
}
