package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/store/storetest"
)

// published is the line of a stored message.
func published(seq uint64, at lifecycle.Micros) lifecycle.Event {
	task := fmt.Sprintf("task %d", seq)
	return lifecycle.Event{
		ID: lifecycle.NewEventID("published", task), At: at, Kind: lifecycle.Published, Provenance: lifecycle.Observed, TaskID: task, Agent: "cto",
		Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}, Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: task, Type: "blog"}},
	}
}

// stocked is a store that knows of n messages, stored in the last minutes.
func stocked(t testing.TB, s storetest.Store, n uint64) storetest.Store {
	t.Helper()
	begin := lifecycle.MicrosOf(time.Now().Add(-time.Hour))
	var b lifecycle.Batch
	for seq := uint64(1); seq <= n; seq++ {
		b.Events = append(b.Events, published(seq, begin.Add(time.Duration(seq)*time.Millisecond)))
	}
	if _, err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return s
}

// quiet is the configuration of a runner that makes nothing by itself.
func quiet(s storetest.Store) reconcile.Config {
	return reconcile.Config{Store: s, RestartDelay: time.Hour, Page: 7}
}

func newRunner(t testing.TB, cfg reconcile.Config) *reconcile.Runner {
	t.Helper()
	r, err := reconcile.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func create(t testing.TB, r *reconcile.Runner, q reconcile.Request) reconcile.Run {
	t.Helper()
	made, _, err := r.Create(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func reportOn(t testing.TB, s storetest.Store, p reconcile.Period) *reconcile.Report {
	t.Helper()
	r := newRunner(t, quiet(s))
	stop := run(t, r)
	defer stop()
	return ended(t, r, create(t, r, reconcile.Request{Period: p}).ID, reconcile.StatusDone).Report
}

func TestOneKeyIsOneReconciliation(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s storetest.Store) {
		r := newRunner(t, quiet(stocked(t, s, 20)))
		run(t, r)
		first := create(t, r, reconcile.Request{Key: "monday", Actor: "ops"})
		if first.Status != reconcile.StatusQueued || first.Actor != "ops" || first.Period.To.Sub(first.Period.From) != 7*24*time.Hour {
			t.Errorf("created %+v, want a queued one of seven days", first)
		}
		done := ended(t, r, first.ID, reconcile.StatusDone)
		if done.Progress.Read != 20 || done.Report.Total.Published != 20 {
			t.Errorf("read %d, published %d; want 20 and 20", done.Progress.Read, done.Report.Total.Published)
		}
		for range 3 {
			again, created, err := r.Create(t.Context(), reconcile.Request{Key: "monday"})
			if err != nil || created || again.ID != first.ID {
				t.Errorf("the same key: %s, created %v, %v; want %s", again.ID, created, err, first.ID)
			}
		}
		other := reconcile.Request{Key: "monday", Period: reconcile.Period{From: first.Period.From}}
		if _, _, err := r.Create(t.Context(), other); !errors.Is(err, reconcile.ErrKeyReused) {
			t.Errorf("the same key with another period: %v, want ErrKeyReused", err)
		}
		if latest, err := r.Latest(t.Context()); err != nil || latest.ID != first.ID || len(latest.Report.Lists) != len(reconcile.DiscrepancyKinds()) {
			t.Errorf("latest: %s, %v; want %s", latest.ID, err, first.ID)
		}
	})
}

func TestPeriodsWithoutTimeAreRefused(t *testing.T) {
	t.Parallel()
	r := newRunner(t, quiet(newSQLite(t)))
	now := lifecycle.MicrosOf(time.Now())
	for _, p := range []reconcile.Period{{From: now, To: now}, {From: now, To: now - 1}, {From: now.Add(time.Hour), To: now.Add(2 * time.Hour)}, {From: now.Add(time.Minute)}} {
		if _, _, err := r.Create(t.Context(), reconcile.Request{Period: p}); !errors.Is(err, reconcile.ErrPeriod) {
			t.Errorf("period %+v: %v, want ErrPeriod", p, err)
		}
	}
	if _, err := r.Latest(t.Context()); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("latest of none: %v, want ErrNotFound", err)
	}
}

func TestOneAfterTheOtherIsMade(t *testing.T) {
	t.Parallel()
	var at, most atomic.Int32
	cfg := quiet(stocked(t, newSQLite(t), 3))
	cfg.Stock = func(context.Context) ([]reconcile.Stock, error) {
		most.Store(max(most.Load(), at.Add(1)))
		defer at.Add(-1)
		return nil, errors.New("the broker is away")
	}
	r := newRunner(t, cfg)
	var ids []string
	for range 5 {
		ids = append(ids, create(t, r, reconcile.Request{}).ID)
	}
	run(t, r)
	for _, id := range ids {
		report := ended(t, r, id, reconcile.StatusDone).Report
		if !slices.ContainsFunc(report.Notes, func(n string) bool { return strings.Contains(n, "the broker is away") }) {
			t.Errorf("notes %q, want one that says that the broker is away", report.Notes)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d at once, want 1", most.Load())
	}
	list, err := r.List(t.Context(), "", 10)
	if err != nil || len(list) != 5 || list[0].ID != ids[4] {
		t.Errorf("list: %d, %v; want five, the newest first", len(list), err)
	}
}

func TestTooManyAreRefused(t *testing.T) {
	t.Parallel()
	r := newRunner(t, quiet(newSQLite(t)))
	var err error
	for n := 0; n < 200 && err == nil; n++ {
		_, _, err = r.Create(t.Context(), reconcile.Request{})
	}
	if !errors.Is(err, reconcile.ErrBusy) {
		t.Errorf("200 waiting ones: %v, want ErrBusy", err)
	}
}

func TestWhatACrashLeftFails(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s storetest.Store) {
		now := lifecycle.MicrosOf(time.Now())
		leave := func(id string, status reconcile.Status, alive lifecycle.Micros) {
			rec := reconcile.Run{ID: id, Slot: id, Owner: "another", Status: status, UpdatedAt: alive}
			if _, _, err := s.CreateReconciliation(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
		}
		leave("a", reconcile.StatusRunning, now.Add(-time.Hour))
		leave("b", reconcile.StatusQueued, now.Add(-time.Hour))
		leave("c", reconcile.StatusRunning, now)
		r := newRunner(t, quiet(s))
		stop := run(t, r)
		for _, id := range []string{"a", "b"} {
			if rec := ended(t, r, id, reconcile.StatusFailed); rec.Failure == "" || !rec.EndedAt.Known() {
				t.Errorf("%s failed at %d because %q, want a time and a reason", id, rec.EndedAt, rec.Failure)
			}
		}
		if rec, err := r.Get(t.Context(), "c"); err != nil || rec.Status != reconcile.StatusRunning {
			t.Errorf("one that another program makes: %s, %v; want running", rec.Status, err)
		}
		stop()
		cfg := quiet(s)
		cfg.Alone = true
		r = newRunner(t, cfg)
		run(t, r)
		ended(t, r, "c", reconcile.StatusFailed)
	})
}

func TestAStopFailsWhatIsBeingMade(t *testing.T) {
	t.Parallel()
	s := stocked(t, newSQLite(t), 3)
	cfg := quiet(s)
	began := make(chan struct{})
	cfg.Stock = func(ctx context.Context) ([]reconcile.Stock, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r := newRunner(t, cfg)
	stop := run(t, r)
	id := create(t, r, reconcile.Request{}).ID
	<-began
	if rec, err := r.Get(t.Context(), id); err != nil || rec.Status != reconcile.StatusRunning || rec.Progress.Phase == "" {
		t.Errorf("while it is made: %+v, %v; want running with a phase", rec, err)
	}
	stop()
	rec, err := s.Reconciliation(t.Context(), id)
	if err != nil || rec.Status != reconcile.StatusFailed || !strings.Contains(rec.Failure, "stopped") {
		t.Errorf("after the stop: %s %q, %v; want failed because the program stopped", rec.Status, rec.Failure, err)
	}
}

// TestASetTimeIsMadeOnceByAll runs two programs on one store, and a third one later.
func TestASetTimeIsMadeOnceByAll(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s storetest.Store) {
		stocked(t, s, 20)
		cfg := quiet(s)
		cfg.RestartDelay, cfg.Every = time.Millisecond, 168*time.Hour
		var stops []func()
		for range 2 {
			stops = append(stops, run(t, newRunner(t, cfg)))
		}
		causes := func() map[reconcile.Cause]int {
			list, err := s.Reconciliations(t.Context(), "", 100)
			if err != nil {
				t.Fatal(err)
			}
			out := map[reconcile.Cause]int{}
			for _, rec := range list {
				if rec.Status == reconcile.StatusDone {
					out[rec.Cause]++
				}
			}
			return out
		}
		expect := func(restarts, scheduled int) {
			t.Helper()
			testkit.Eventually(t, patience, func() error {
				got := causes()
				if got[reconcile.CauseRestart] != restarts || got[reconcile.CauseScheduled] != scheduled {
					return fmt.Errorf("made %v, want %d after restarts and %d at a set time", got, restarts, scheduled)
				}
				return nil
			})
		}
		expect(2, 1)
		for _, stop := range stops {
			stop()
		}
		later := cfg
		later.Now = func() time.Time { return time.Now().Add(168 * time.Hour) }
		run(t, newRunner(t, later))
		expect(3, 2)
		list, err := s.Reconciliations(t.Context(), "", 100)
		if err != nil {
			t.Fatal(err)
		}
		list = slices.DeleteFunc(list, func(r reconcile.Run) bool { return r.Cause != reconcile.CauseScheduled })
		if from, to := list[0].Period.From, list[1].Report.Period.To; from != to {
			t.Errorf("the second begins at %s, want where the first ended: %s", from.Time(), to.Time())
		}
	})
}

func TestNothingIsMadeOfAnEmptyStore(t *testing.T) {
	t.Parallel()
	s := newSQLite(t)
	cfg := quiet(s)
	cfg.RestartDelay, cfg.Every = time.Millisecond, 168*time.Hour
	r := newRunner(t, cfg)
	run(t, r)
	rec := ended(t, r, create(t, r, reconcile.Request{}).ID, reconcile.StatusDone)
	if rec.Report.Total != (reconcile.Balance{}) || rec.Report.Discrepancies() != 0 {
		t.Errorf("report of nothing: %+v", rec.Report)
	}
	if list, err := r.List(t.Context(), "", 10); err != nil || len(list) != 1 {
		t.Errorf("%d made, %v; want only the one that was asked for", len(list), err)
	}
}

func TestItWaitsForCollectorsAndSaysWhenItDidNot(t *testing.T) {
	t.Parallel()
	var behind atomic.Bool
	behind.Store(true)
	cfg := quiet(stocked(t, newSQLite(t), 3))
	cfg.Health = health.ReporterFunc(func() []health.Part {
		p := health.Part{Name: "acks", Kind: "collector", State: health.OK}
		if behind.Load() {
			p.State = health.Behind
		}
		return []health.Part{p, {Name: "store", Kind: "store", State: health.Down}}
	})
	r := newRunner(t, cfg)
	stop := run(t, r)
	id := create(t, r, reconcile.Request{}).ID
	testkit.Eventually(t, patience, func() error {
		rec, err := r.Get(t.Context(), id)
		if err == nil && !strings.Contains(rec.Progress.Phase, "caught up") {
			err = fmt.Errorf("phase %q, want that it waits", rec.Progress.Phase)
		}
		return err
	})
	behind.Store(false)
	says := func(rec reconcile.Run) bool {
		return slices.ContainsFunc(rec.Report.Notes, func(n string) bool { return strings.Contains(n, "acks is behind") })
	}
	if rec := ended(t, r, id, reconcile.StatusDone); says(rec) {
		t.Errorf("notes %q, want nothing about collectors", rec.Report.Notes)
	}
	stop()
	behind.Store(true)
	cfg.Patience = time.Millisecond
	r = newRunner(t, cfg)
	run(t, r)
	if rec := ended(t, r, create(t, r, reconcile.Request{}).ID, reconcile.StatusDone); !says(rec) {
		t.Errorf("notes %q, want that acks is behind", rec.Report.Notes)
	}
}

func TestWhatMayHaveBeenDeletedIsNotTakenForLost(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s storetest.Store) {
		now := lifecycle.MicrosOf(time.Now())
		var events []lifecycle.Event
		for day := 30; day > 0; day-- {
			seq := uint64(31 - day)
			at := now.Add(-time.Duration(day) * 24 * time.Hour)
			events = append(events, published(seq, at))
			if seq%5 != 3 { // Every fifth stays open, and is therefore kept: 18 is the last of them before the cutoff, 19 and 20 are deleted.
				ack := lifecycle.Event{ID: lifecycle.NewEventID("acked", fmt.Sprint(seq)), At: at + 1, Kind: lifecycle.Acked, Message: events[len(events)-1].Message, Attempt: 1}
				events = append(events, ack)
			}
		}
		cutoff := now.Add(-10 * 24 * time.Hour)
		if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events, Watermarks: map[string]string{lifecycle.WatermarkRetained: fmt.Sprint(int64(cutoff))}}); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Retain(t.Context(), cutoff, now); err != nil || n == 0 {
			t.Fatalf("retain: %d, %v", n, err)
		}
		again := lifecycle.Event{ // The record of a task that was deleted is written once more.
			ID: lifecycle.NewEventID("again"), At: now.Add(-time.Hour), Kind: lifecycle.CompletionRecorded, Provenance: lifecycle.Recorded, TaskID: "deleted", Agent: "cto",
		}
		if _, err := s.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{again}}); err != nil {
			t.Fatal(err)
		}
		report := reportOn(t, s, reconcile.Period{From: now.Add(-40 * 24 * time.Hour)})
		if report.Period.From != cutoff || report.Total.NeverSeen != 0 || report.Total.Published != 10 || len(report.Notes) < 2 {
			t.Errorf("report from %s with %+v and notes %q; want from the cutoff %s, 10 published, none of them never seen, and a note",
				report.Period.From.Time(), report.Total, report.Notes, cutoff.Time())
		}
		for _, l := range report.Lists {
			if l.Kind != reconcile.RecordedUnpublished {
				continue
			}
			if len(l.Rows) != 1 || strings.Contains(l.Rows[0].Why, "ever seen") || !strings.Contains(l.Rows[0].Why, "may have been deleted") {
				t.Errorf("recorded, never published: %+v; want the task once, and that its message may have been deleted", l.Rows)
			}
		}
	})
}
