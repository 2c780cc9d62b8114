//go:build linux

package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"

	"github.com/jackc/pgx/v5"
)

// read is a question to the store.
type read struct {
	name, what string
	ruler      *Ruler // Of its 99th percentile, in milliseconds.
	ask        func(ctx context.Context, s lifecycle.Store, h *history, r *rand.Rand) error
}

var reads = []read{
	{"timeline", "a task with its messages and events", &Ruler{Floor: 0.5, Goal: 0.3, Lower: true}, askTimeline},
	{"newest", "the newest 50 tasks", listRuler, askList(func(*history, *rand.Rand) lifecycle.Filter { return lifecycle.Filter{} }, false)},
	{"state", "50 completed tasks, from anywhere", listRuler, askList(func(*history, *rand.Rand) lifecycle.Filter {
		return lifecycle.Filter{States: []lifecycle.State{lifecycle.StateCompleted}}
	}, true)},
	{"rare-state", "50 terminated tasks, from anywhere", listRuler, askList(func(*history, *rand.Rand) lifecycle.Filter {
		return lifecycle.Filter{States: []lifecycle.State{lifecycle.StateTerminated}}
	}, true)},
	{"agent", "50 tasks of one agent, from anywhere", listRuler, askList(func(*history, *rand.Rand) lifecycle.Filter {
		return lifecycle.Filter{Agents: []string{"cto"}}
	}, true)},
	{"counts", "tasks per state", nil, func(ctx context.Context, s lifecycle.Store, _ *history, _ *rand.Rand) error {
		_, _, err := s.CountTasks(ctx, lifecycle.Filter{})
		return err
	}},
}

var listRuler = &Ruler{Floor: 0.5, Goal: 0.15, Lower: true}

// measureReads asks the store directly, one question at a time, with a year of history stored.
func measureReads(b *bench) {
	h := b.storedHistory()
	shareMemory(b)
	warm(b, h.path())
	s, err := sqlite.Open(b.Context(), sqlite.Config{Path: h.path()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // Only read from.
	readStore(b, "sqlite", s, h)
	pg := newPostgres(b, b.shared.cluster())
	began := time.Now()
	ph := fill(b, pg, "", b.form.postgres)
	first, last := ph.ends()
	b.Logf("postgres: %d events in %s", ph.events, time.Since(began).Round(time.Second))
	b.add(Ratio("history/postgres", "the same as history/sqlite, fsync on", "events/s", last.rate(), first.rate(), historyRuler(ph)))
	settle(b, pg.url)
	readStore(b, "postgres", pg.store, ph)
}

// warm reads a file, so that the machine keeps it in memory: the store is measured, and not the disk. Nobody may have it open: closing it
// would end SQLite's locks.
func warm(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // Only read from.
	if _, err := io.Copy(io.Discard, f); err != nil {
		t.Fatal(err)
	}
}

// settle does at once what a database does by and by, and reads it as [warm] does: tables that were filled in minutes are still being
// written and cleaned up.
func settle(t testing.TB, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // Every statement's own error matters.
	for _, statement := range []string{
		`VACUUM ANALYZE`, `CHECKPOINT`, `CREATE EXTENSION pg_prewarm`,
		`SELECT sum(pg_prewarm(oid, 'read')) FROM pg_class WHERE relkind IN ('r', 'i', 't')`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func readStore(b *bench, name string, s lifecycle.Store, h *history) {
	b.Helper()
	for _, r := range reads {
		what := fmt.Sprintf("%s, p99 at %s events", r.what, figure(float64(h.events)))
		b.add(Distribution("reads/"+name+"/"+r.name, what, "ms", timed(b, b.form.reads, func(random *rand.Rand) error {
			return r.ask(b.Context(), s, h, random)
		}), 0.99, r.ruler))
	}
	ledger := func(months int) []float64 {
		return timed(b, b.form.reads/10, func(*rand.Rand) error { return askLedger(b.Context(), s, h, months) })
	}
	one, twelve := ledger(1), ledger(12)
	b.add(Ratio("reads/"+name+"/ledger", "the numbers of /duplicates over 12 months against one month, median", "ms",
		[]float64{Quantile(twelve, 0.5)}, []float64{Quantile(one, 0.5)}, nil))
}

// timed asks n times and returns how long each took, in milliseconds.
func timed(t testing.TB, n int, ask func(*rand.Rand) error) []float64 {
	t.Helper()
	random := rand.New(rand.NewPCG(2, 2))
	out := make([]float64, 0, n)
	for i := range n + n/10 {
		began := time.Now()
		if err := ask(random); err != nil {
			t.Fatal(err)
		}
		if i >= n/10 { // The first ones warm up.
			out = append(out, float64(time.Since(began).Nanoseconds())/1e6)
		}
	}
	return out
}

func askTimeline(ctx context.Context, s lifecycle.Store, h *history, r *rand.Rand) error {
	id := h.ids[r.IntN(len(h.ids))]
	if _, err := s.Task(ctx, id); err != nil {
		return err
	}
	events, err := s.Events(ctx, id, lifecycle.EventPosition{}, 500)
	if err == nil && len(events) < perTask-2 {
		return fmt.Errorf("task %s has %d events", id, len(events))
	}
	return err
}

// askList reads 50 rows that the filter selects, from the newest on or from any place.
func askList(filter func(*history, *rand.Rand) lifecycle.Filter, anywhere bool) func(context.Context, lifecycle.Store, *history, *rand.Rand) error {
	return func(ctx context.Context, s lifecycle.Store, h *history, r *rand.Rand) error {
		page := lifecycle.Page{Limit: 50}
		if anywhere { // Not among the oldest, where a page might not be full.
			page.From = &lifecycle.Cursor{At: h.to - lifecycle.Micros(r.Int64N(int64(h.to-h.from)*3/4)), TaskID: "x"}
		}
		found, err := s.ListTasks(ctx, filter(h, r), page)
		if err == nil && len(found.Tasks) == 0 {
			return fmt.Errorf("no tasks before %s", page.From.At.Time())
		}
		return err
	}
}

// askLedger reads the counters of the last months of UTC, as the page of duplicates does.
func askLedger(ctx context.Context, s lifecycle.Store, h *history, months int) error {
	from := duplicates.PeriodMonth.Shift(h.to.Time(), 1-months)
	metrics := duplicates.Metrics([]lifecycle.Micros{lifecycle.MicrosOf(from)})
	cells, err := s.Rollups(ctx, metrics, lifecycle.MicrosOf(from), h.to, false)
	if err == nil && len(cells) == 0 {
		return fmt.Errorf("no counters since %s", from)
	}
	return err
}
