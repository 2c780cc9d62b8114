//go:build linux

package bench

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/fleet/demo"
	"fleetglass/lifecycle"
)

const (
	year = 360 * 24 * time.Hour
	// group is how many tasks are told of at once. The fleet is busy for a short part of at most 360 days, so that a batch covers as
	// short a time as the batches of a busy fleet do, and the whole still covers a year.
	group = 1000
	// perTask is how many events most tasks have: attempt, publish, acknowledgement and its confirmation, two reports, completion record.
	perTask = 7
	pace    = 20 * time.Millisecond // Between the publishes of two tasks.
)

// history is a made past of about the given number of events in a store: finished tasks of a year, whose ids are random as in the field.
type history struct {
	dir       string // Of the data; the store is where Fleetglass looks for it.
	db        *database
	ids       []string       // Of a sample of the tasks.
	has       map[string]int // How many events each of the sample has.
	tasks     int
	from      lifecycle.Micros
	to        lifecycle.Micros
	events    int
	completed int             // Tasks.
	spent     []time.Duration // Of each group.
	told      []int           // Events of each group.
}

// fill appends events until the store has n, in the batches that the collectors would make of them, several at once as they do.
func fill(t testing.TB, db *database, dir string, n int) *history {
	t.Helper()
	now := lifecycle.MicrosOf(time.Now())
	h := &history{dir: dir, db: db, from: now.Add(-year), to: now, has: map[string]int{}}
	w := &writer{h: h, random: rand.New(rand.NewPCG(1, 1)), lines: map[string]uint64{}}
	w.stream = lifecycle.StreamID{Name: "TASKS", Epoch: h.from}
	for i := range templates {
		w.kinds = append(w.kinds, demo.Tell(1, i))
	}
	tasks := n / perTask
	days := min(max(tasks/group, 12), 360)
	perDay := tasks / days
	for day := 1; day <= days; day++ {
		end := h.from.Add(time.Duration(day) * year / time.Duration(days))
		for done := 0; done < perDay; done += group {
			size := min(group, perDay-done)
			at := end.Add(-time.Minute - time.Duration(perDay-done)*pace)
			if err := w.tell(t.Context(), size, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, told := range h.told {
		h.events += told
	}
	h.tasks = int(w.seq)
	h.check(t)
	return h
}

// check asks the store for the number of tasks, and for the events of the sample.
func (h *history) check(t testing.TB) {
	t.Helper()
	counts, _, err := h.db.store.CountTasks(t.Context(), lifecycle.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, n := range counts {
		total += int(n)
	}
	if total != h.tasks || counts[lifecycle.StateCompleted] != int64(h.completed) {
		t.Fatalf("%s counts %d tasks, %d of them completed; want %d and %d", h.db.name, total, counts[lifecycle.StateCompleted], h.tasks, h.completed)
	}
	for id, want := range h.has {
		if got := h.db.lines(t, id); got != want {
			t.Fatalf("%s has %d events of task %s, want %d", h.db.name, got, id, want)
		}
	}
}

// rates are events a second while the first and while the last million were appended, or halves of all that is less.
func (h *history) rates() (first, last float64) {
	part := min(1_000_000, h.events/2)
	rate := func(from, step int) float64 {
		var n int
		var spent time.Duration
		for i := from; i >= 0 && i < len(h.told) && n < part; i += step {
			n, spent = n+h.told[i], spent+h.spent[i]
		}
		return float64(n) / spent.Seconds()
	}
	return rate(0, 1), rate(len(h.told)-1, -1)
}

// storedHistory is the history of this invocation, in SQLite; the store is closed.
func (b *bench) storedHistory() *history {
	b.Helper()
	if b.shared.stored == nil {
		dir := b.shared.dir(b, "history")
		db := newSQLite(b, dir)
		b.shared.stored = fill(b, db, dir, b.form.events)
		if err := db.store.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return b.shared.stored
}

func (h *history) path() string { return filepath.Join(h.dir, "fleetglass.db") }

// measureHistory asks whether a full store takes events as fast as an empty one.
func measureHistory(b *bench) {
	h := b.storedHistory()
	first, last := h.rates()
	note := ""
	if historyRuler(h) == nil {
		note = "the halves of what is stored; judged from two million events on"
	}
	b.add(Ratio("history/sqlite", fmt.Sprintf("append at %s events, the last million against the first", figure(float64(h.events))), "events/s",
		[]float64{last}, []float64{first}, historyRuler(h)).With(note))
}

// historyRuler is what is asked of a long history; of a short one nothing is.
func historyRuler(h *history) *Ruler {
	if h.events < 2_000_000 {
		return nil
	}
	return &Ruler{Floor: 0.75, Goal: 0.9}
}
