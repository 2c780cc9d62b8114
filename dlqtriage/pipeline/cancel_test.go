package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// waits asks for a retry that is due after a while.
func (w *world) waits(task string, delay time.Duration) dlqtriage.Action {
	w.t.Helper()
	r := retryOf(w.dead(task), "waits "+task)
	ms := delay.Milliseconds()
	r.Params.DelayMS = &ms
	return w.act(r)
}

// cancels cancels an action as somebody else than who asked for it.
func (w *world) cancels(id string) (dlqtriage.Operation, error) {
	w.t.Helper()
	s, err := dlqtriage.NewOperations(dlqtriage.OperationsConfig{Actions: w.actions, Store: w.store, Changed: func(dlqtriage.Operation) {}})
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Cancel(context.Background(), id, decision.Actor{Name: "ops", Via: decision.ViaPage}, "the wrong one")
}

// cancelled holds an action to be cancelled, with nothing published, and its entry to be open again.
func (w *world) cancelled(task string, a dlqtriage.Action) {
	w.t.Helper()
	a, err := w.actions.Action(context.Background(), a.ID)
	if err != nil || a.Status != dlqtriage.ActionCancelled || a.Why != "ops cancelled it before it was published: the wrong one" || !a.EndedAt.Known() || a.Sent != nil {
		w.t.Errorf("%s: action %+v, %v; want it cancelled by ops", task, a.Progress, err)
	}
	if n := len(w.sent(task)); n != 0 {
		w.t.Errorf("%s: %d messages were published", task, n)
	}
	effects, err := w.store.EffectsOf(context.Background(), a.ID)
	if err != nil || len(effects) != 1 || effects[0].Status != decision.StatusFailed {
		w.t.Errorf("%s: effects %+v, %v; want one that was given up", task, effects, err)
	}
	records, _, err := w.store.Audit(context.Background(), decision.AuditFilter{}, nil, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	var who []string
	for _, r := range records {
		if r.ID == a.ID || r.ID == a.ID+"/ended" {
			who = append(who, r.Actor+" "+r.Action)
		}
	}
	if got := strings.Join(who, ", "); got != "ops retry cancelled, ceo retry" && got != "ceo retry, ops retry cancelled" {
		w.t.Errorf("%s: the audit has %q", task, got)
	}
	e, err := w.store.Entry(context.Background(), a.Entry)
	if err != nil || e.Status != dlqtriage.StatusOpen || e.Actor != "ops" {
		w.t.Errorf("%s: the entry is %s by %s, %v; want it open again by ops", task, e.Status, e.Actor, err)
	}
}

func TestARetryThatWaitsInTheStoreIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	a := w.waits("t1", 2*time.Hour)
	if o, err := w.cancels(a.ID); err != nil || o.Status != dlqtriage.ActionCancelled || o.Cancellable() {
		t.Fatalf("operation %+v, %v", o.OperationBody, err)
	}
	w.cancelled("t1", a)
	if o, err := w.cancels(a.ID); err != nil || o.Status != dlqtriage.ActionCancelled {
		t.Errorf("cancelled again: %+v, %v", o.OperationBody, err)
	}
	w.sentOnce("t2", w.ended(w.act(retryOf(w.dead("t2"), "another")).ID))
}

func TestARetryThatIsParkedIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	a := w.waits("t1", 4*time.Second)
	testkit.Eventually(t, patience, func() error {
		stream, err := w.js.Stream(t.Context(), fleet.StreamRetry)
		if err == nil && stream.CachedInfo().State.Msgs == 0 {
			err = errors.New("it is not parked yet")
		}
		return err
	})
	testkit.Eventually(t, patience, func() error { // The relay may have it in hand.
		_, err := w.cancels(a.ID)
		return err
	})
	w.empty() // Once it is due, its parked message finds it settled.
	w.cancelled("t1", a)
}

func TestWhatIsDueIsNotCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	a := w.waits("t1", time.Second)
	var refusal *dlqtriage.Refusal
	if _, err := w.cancels(a.ID); !errors.As(err, &refusal) || refusal.Code != dlqtriage.RefusedIneligible {
		t.Errorf("cancelling what is due within two seconds: %v", err)
	}
	w.runs()
	w.sentOnce("t1", w.ended(a.ID))
}

// Whoever cancels while the relay parks wins, or is refused and tries again: a retry is cancelled or published, never both.
func TestARetryIsCancelledOrPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	const retries = 20
	var all sync.WaitGroup
	var actions [retries]dlqtriage.Action
	for i := range actions { // The last moments in which each may be cancelled lie apart from each other.
		actions[i] = w.waits(fmt.Sprint("t", i), 2*time.Second+time.Duration(i)*20*time.Millisecond)
		all.Go(func() {
			for ended := false; !ended; {
				_, err := w.cancels(actions[i].ID)
				a, readErr := w.actions.Action(context.Background(), actions[i].ID)
				if readErr != nil {
					t.Error(readErr)
				}
				ended = err == nil || a.Status.Ended() || readErr != nil
			}
		})
	}
	all.Wait()
	w.empty()
	for i, a := range actions {
		task := fmt.Sprint("t", i)
		if got := w.ended(a.ID); got.Status == dlqtriage.ActionCancelled {
			w.cancelled(task, got)
		} else {
			w.sentOnce(task, got)
		}
	}
}

// retriesAll asks for a retry of all that died, after a delay, and waits until each is asked for. Somebody must work on operations.
func (w *world) retriesAll(s *dlqtriage.Operations, after time.Duration) dlqtriage.Operation {
	w.t.Helper()
	retry := bulk(dlqtriage.ActionRetry, 0)
	delay := after.Milliseconds()
	retry.Params.DelayMS = &delay
	asked, err := s.Start(w.t.Context(), retry)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.finishedOperation(s, asked.ID)
}

// undoOf asks to take an operation back.
func undoOf(o dlqtriage.Operation) dlqtriage.BulkRequest {
	undo := bulk(dlqtriage.ActionReopen, 0)
	undo.Selector, undo.Params = dlqtriage.Selector{Operation: o.ID}, dlqtriage.Params{}
	return undo
}

// An operation that asked for retries is undone like any other: those that wait are cancelled, what was published stays.
func TestRetriesOfAnOperationAreCancelledWhereTheyWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	const entries = 12
	for i := range entries {
		w.dead(fmt.Sprintf("t%02d", i))
	}
	s := w.operations(nil)
	w.works(s)
	asked := w.retriesAll(s, 2*time.Hour)
	if due := asked.LatestDue; due < asked.CreatedAt.Add(2*time.Hour) || !asked.Undoable(due.Add(-time.Minute)) || asked.Undoable(due) {
		t.Errorf("the last retry is due at %s; undoable a minute before: %v, then: %v", due.Time(), asked.Undoable(due.Add(-time.Minute)), asked.Undoable(due))
	}

	undo := undoOf(asked)
	undo.Actor, undo.Reason = decision.Actor{Name: "ops", Via: decision.ViaPage}, "the wrong one"
	if dry, err := s.DryRun(t.Context(), undo); err != nil || dry.Counts.Eligible != entries || dry.Counts.Blocked != 0 {
		t.Errorf("a dry run: %+v, %v", dry.Counts, err)
	}
	first := asked.Items[0].Action
	if _, err := w.cancels(first); err != nil { // One of them was cancelled by itself before.
		t.Fatal(err)
	}
	undone, err := s.Start(t.Context(), undo)
	if err != nil {
		t.Fatal(err)
	}
	undone = w.finishedOperation(s, undone.ID)
	if want := (dlqtriage.Counts{Selected: entries, Eligible: entries - 1, Done: entries - 1, Blocked: 1}); undone.Counts != want {
		t.Errorf("undone %+v, refused %+v; want %+v", undone.Counts, undone.Refusals, want)
	}
	asked, err = s.Get(t.Context(), asked.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range asked.Items {
		if i.Status != dlqtriage.ItemCancelled {
			t.Errorf("item %+v, want it cancelled", i)
		}
		a, err := w.actions.Action(t.Context(), i.Action)
		if err != nil {
			t.Fatal(err)
		}
		w.cancelled(a.TaskID, a)
	}
}

// What one of two undos cancels the other one did not.
func TestWhatTwoUndosCancelCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	const entries = 12
	for i := range entries {
		w.dead(fmt.Sprintf("t%02d", i))
	}
	s := w.operations(nil)
	stop := w.works(s)
	asked := w.retriesAll(s, 2*time.Hour)
	stop()
	undo := undoOf(asked)
	var both [2]dlqtriage.Operation
	for i := range both {
		undo.Key = fmt.Sprint("undo", i)
		var err error
		if both[i], err = s.Start(t.Context(), undo); err != nil {
			t.Fatal(err)
		}
	}
	w.works(s)
	done, blocked := int64(0), int64(0)
	for _, o := range both {
		o = w.finishedOperation(s, o.ID)
		done, blocked = done+o.Counts.Done, blocked+o.Counts.Blocked
	}
	if done != entries || blocked != entries {
		t.Errorf("both undos did %d and were blocked at %d, want %d each", done, blocked, entries)
	}
}

func TestRetriesOfAnOperationThatWerePublishedStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	w.runs()
	w.dead("t1")
	s := w.operations(nil)
	w.works(s)
	asked := w.retriesAll(s, 0)
	w.sentOnce("t1", w.ended(asked.Items[0].Action))
	undo := undoOf(asked)
	dry, err := s.DryRun(t.Context(), undo)
	if err != nil || dry.Counts.Blocked != 1 {
		t.Errorf("a dry run: %+v, %v", dry.Counts, err)
	}
	undone, err := s.Start(t.Context(), undo)
	if err != nil {
		t.Fatal(err)
	}
	undone = w.finishedOperation(s, undone.ID)
	if len(undone.Refusals) != 1 || undone.Refusals[0].Why != "Its message was published already." || undone.Counts.Done != 0 {
		t.Errorf("undone %+v, refused %+v", undone.Counts, undone.Refusals)
	}
}
