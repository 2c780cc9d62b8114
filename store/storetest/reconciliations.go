package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

var reconciliationTests = []conformanceTest{
	{"a reconciliation comes back as it was saved", reconciliationSaved},
	{"reconciliations are listed newest first, without rows", reconciliationListed},
	{"a slot is taken once", reconciliationSlot},
	{"reconciliations that are not there", reconciliationMissing},
	{"all but the newest reconciliations are deleted", reconciliationRetained},
	{"messages with their tasks", balanceMessages},
	{"streams of which messages are known", balanceStreams},
	{"tasks without a message", balanceWithoutMessage},
}

// reconciliationOf is one with everything set.
func reconciliationOf(n int) reconcile.Run {
	key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Account: "A", Domain: "hub", Name: "TASKS", Epoch: 7}, Seq: math.MaxUint64}
	report := &reconcile.Report{
		AsOf: 9, Period: reconcile.Period{From: 1, To: 8}, Total: reconcile.Balance{Published: 3, Completed: 1, Unexplained: 2, NeverSeen: 1},
		Lines:          []reconcile.BalanceLine{{Stream: key.Stream, Agent: "cto\x00é", Balance: reconcile.Balance{Published: 3}}},
		Streams:        []reconcile.StreamSpan{{Stream: key.Stream, FromSeq: 1, ToSeq: math.MaxUint64, Known: 2, Why: "why"}},
		WithoutRecords: []reconcile.AgentWithoutRecords{{Agent: "ceo", Acknowledged: 4}},
		Records:        reconcile.RecordCheck{Checked: true, Asked: 5},
		Gaps:           []lifecycle.Gap{{Source: "OBS", From: 1, To: 2, Reason: "gap"}}, Notes: []string{"note"},
	}
	for _, k := range reconcile.DiscrepancyKinds() {
		report.Lists = append(report.Lists, reconcile.DiscrepancyList{Kind: k, Total: 2, Rows: []reconcile.Discrepancy{
			{Message: key, TaskID: "t\x00é", Agent: "cto", State: lifecycle.StateCompleted, At: 5, Why: "<why>"}, {TaskID: "no message", Why: "none"},
		}})
	}
	return reconcile.Run{
		ID: fmt.Sprintf("r%03d", n), Slot: fmt.Sprintf("slot %d", n), Cause: reconcile.CauseOnDemand, Actor: "ops", Owner: "here",
		Asked: reconcile.Period{From: 1}, Period: reconcile.Period{From: 1, To: 8},
		Status: reconcile.StatusDone, Failure: "none", CreatedAt: 1, StartedAt: 2, UpdatedAt: 3, EndedAt: 4,
		Progress: reconcile.Progress{Phase: "reading", Read: 5, Total: 6}, Report: report,
	}
}

func mustCreate(t *testing.T, s Store, r reconcile.Run) {
	t.Helper()
	if got, created, err := s.CreateReconciliation(t.Context(), r); err != nil || !created {
		t.Fatalf("create reconciliation %s: got %s, created %v, %v", r.ID, got.ID, created, err)
	}
}

func reconciliationSaved(t *testing.T, s Store) {
	queued := reconciliationOf(1)
	queued.Status, queued.Report = reconcile.StatusQueued, nil
	mustCreate(t, s, queued)
	got, err := s.Reconciliation(t.Context(), queued.ID)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "a queued reconciliation", got, queued)
	done := reconciliationOf(1)
	if err := s.SaveReconciliation(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Reconciliation(t.Context(), done.ID); err != nil {
		t.Fatal(err)
	}
	diff(t, "a reconciliation that is done", got, done)
}

func reconciliationListed(t *testing.T, s Store) {
	for _, n := range []int{2, 1, 4, 3, 5} {
		mustCreate(t, s, reconciliationOf(n))
	}
	for _, c := range []struct {
		before string
		limit  int
		want   []int
	}{{"", 10, []int{5, 4, 3, 2, 1}}, {"", 2, []int{5, 4}}, {"r004", 2, []int{3, 2}}, {"r001", 10, nil}, {"r0035", 1, []int{3}}} {
		got, err := s.Reconciliations(t.Context(), c.before, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var want []reconcile.Run
		for _, n := range c.want {
			r := reconciliationOf(n)
			for i := range r.Report.Lists {
				r.Report.Lists[i].Rows = nil
			}
			want = append(want, r)
		}
		diff(t, fmt.Sprintf("at most %d before %q", c.limit, c.before), got, want)
	}
}

func reconciliationSlot(t *testing.T, s Store) {
	var wait sync.WaitGroup
	made := make([]bool, 8)
	ids := make([]string, 8)
	long := strings.Repeat("slot ", 1000)
	for i := range made {
		wait.Go(func() {
			r := reconciliationOf(i)
			r.Slot = long
			stored, created, err := s.CreateReconciliation(t.Context(), r)
			if err != nil {
				t.Errorf("create: %v", err)
			}
			made[i], ids[i] = created, stored.ID
		})
	}
	wait.Wait()
	first := slices.Index(made, true)
	if first < 0 || slices.Contains(made[first+1:], true) {
		t.Fatalf("created %v, want exactly one", made)
	}
	for _, id := range ids {
		if id != ids[first] {
			t.Errorf("reconciliation of the slot: got %s, want %s for all", id, ids[first])
		}
	}
	other := reconciliationOf(20)
	other.Slot = long + "other"
	mustCreate(t, s, other)
}

func reconciliationMissing(t *testing.T, s Store) {
	if _, err := s.Reconciliation(t.Context(), "none"); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("read: got %v, want ErrNotFound", err)
	}
	if err := s.SaveReconciliation(t.Context(), reconciliationOf(1)); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("save: got %v, want ErrNotFound", err)
	}
	if got, err := s.Reconciliations(t.Context(), "", 5); err != nil || len(got) != 0 {
		t.Errorf("list: got %d, %v; want none", len(got), err)
	}
}

func reconciliationRetained(t *testing.T, s Store) {
	for n := range 7 {
		mustCreate(t, s, reconciliationOf(n))
	}
	for _, want := range []int64{4, 0} {
		if n, err := s.RetainReconciliations(t.Context(), 3); err != nil || n != want {
			t.Errorf("delete all but 3: got %d, %v; want %d", n, err, want)
		}
	}
	got, err := s.Reconciliations(t.Context(), "", 10)
	if err != nil || len(got) != 3 || got[2].ID != "r004" {
		t.Errorf("left: %d, %v; want r006, r005, r004", len(got), err)
	}
}

func balanceMessages(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	for i := range 6 {
		k := w.published(fmt.Sprintf("t%d", i), "cto", 0)
		if i%2 == 0 {
			w.acked(k, 1)
			w.recorded(fmt.Sprintf("t%d", i), "cto")
		}
	}
	w.published("t1", "cto", 1)
	mustAppend(t, s, w.events)
	all := expectedOf(w.events)
	for _, c := range [][3]uint64{{0, math.MaxUint64, 100}, {1, 7, 100}, {3, 5, 100}, {3, 7, 2}, {8, 9, 5}, {5, 3, 5}} {
		got, err := s.MessagesWithTasks(t.Context(), w.stream, c[0], c[1], int(c[2]))
		if err != nil {
			t.Fatal(err)
		}
		var want []lifecycle.OpenMessage
		for _, m := range all.messagesIn(c[0], c[1], int(c[2])) {
			want = append(want, lifecycle.OpenMessage{Message: m, Task: *all.tasks[all.messages[m.Key].TaskID].Facts})
		}
		diff(t, fmt.Sprintf("messages %v with their tasks", c), got, want)
	}
	if got, err := s.MessagesWithTasks(t.Context(), lifecycle.StreamID{Name: "none"}, 0, math.MaxUint64, 5); err != nil || len(got) != 0 {
		t.Errorf("messages of an unknown stream: %d, %v", len(got), err)
	}
}

func balanceStreams(t *testing.T, s Store) {
	var events []lifecycle.Event
	names := []lifecycle.StreamID{{Name: "TASKS"}, {Name: "TASKS", Epoch: 9}, {Account: "A", Domain: "hub", Name: "OTHER"}}
	for i, name := range names {
		w := newEventScript(name.Name)
		w.stream, w.lines = name, uint64(i)*100
		w.published(fmt.Sprintf("t%d", i), "cto", 0)
		events = append(events, w.events...)
	}
	consumer := lifecycle.ConsumerState{Stream: lifecycle.StreamID{Name: "EMPTY"}, Name: "worker", ObservedAt: 5}
	mustStore(t, s, lifecycle.Batch{Events: events, Consumers: []lifecycle.ConsumerState{consumer}})
	got, err := s.MessageStreams(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "streams", got, names)
}

func balanceWithoutMessage(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	w.recorded("early", "cto")
	since := w.now + 1
	w.tried("attempted", "cto", "attempted")
	w.recorded("recorded", "cto")
	w.recorded("with message", "cto")
	w.published("with message", "cto", 0)
	w.reported(lifecycle.ReportCompleted, "reported", "cto", 1, lifecycle.Detail{})
	w.tried("not stored", "cto", "not stored")
	w.tell(lifecycle.Event{Kind: lifecycle.NotStored, Provenance: lifecycle.Inferred, TaskID: "not stored"})
	w.recorded("not stored", "cto")
	at := w.now + 1_000_000
	for i := range 5 {
		w.recorded(fmt.Sprintf("tie %d", 4-i), "cto")
		w.events[len(w.events)-1].At = at
	}
	mustAppend(t, s, w.events)
	all := expectedOf(w.events)
	want := []string{"attempted", "recorded", "reported", "not stored", "tie 0", "tie 1", "tie 2", "tie 3", "tie 4"}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		var after *lifecycle.Cursor
		for {
			page, next, err := s.TasksWithoutMessage(t.Context(), since, after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range page {
				got = append(got, task.ID)
				diff(t, "facts of "+task.ID, task, *all.tasks[task.ID].Facts)
			}
			if after = next; next == nil || len(got) > len(want) {
				break
			}
		}
		diff(t, fmt.Sprintf("tasks without a message, %d at a time", limit), got, want)
	}
}
