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
	completed int // Tasks.
	groups    []groupCost
}

// groupCost is what it took to append the events of a group of tasks.
type groupCost struct {
	events int
	wall   time.Duration
	cpu    float64 // Of this process, µs.
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
	tasks := n*100/696 + 1 // Of almost seven events each.
	days := min(max(tasks/group, 12), 360)
	perDay := (tasks + days - 1) / days
	for day := 1; day <= days; day++ {
		end := h.from.Add(time.Duration(day) * (year / time.Duration(days)))
		for done := 0; done < perDay; done += group {
			size := min(group, perDay-done)
			at := end.Add(-time.Minute - time.Duration(perDay-done)*pace)
			if err := w.tell(t, size, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, g := range h.groups {
		h.events += g.events
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

// ends adds up the first and the last million events, or the halves of all that is less.
func (h *history) ends() (first, last groupCost) {
	part := min(1_000_000, h.events/2)
	sum := func(from, step int) groupCost {
		var all groupCost
		for i := from; i >= 0 && i < len(h.groups) && all.events < part; i += step {
			g := h.groups[i]
			all.events, all.wall, all.cpu = all.events+g.events, all.wall+g.wall, all.cpu+g.cpu
		}
		return all
	}
	return sum(0, 1), sum(len(h.groups)-1, -1)
}

func (g groupCost) rate() []float64 { return []float64{float64(g.events) / g.wall.Seconds()} }

func (g groupCost) micros() []float64 { return []float64{g.cpu / float64(g.events)} }

// storedHistory is the history of this invocation, in SQLite; the store is closed.
func (b *bench) storedHistory() *history {
	b.Helper()
	if b.shared.stored == nil {
		dir := b.shared.dir(b, "history")
		db := newSQLite(b, dir)
		b.shared.stored = fill(b, db, dir, b.form.events)
		db.close(b)
	}
	return b.shared.stored
}

func (h *history) path() string { return filepath.Join(h.dir, "fleetglass.db") }

// measureHistory asks whether a full store takes events as fast as an empty one.
func measureHistory(b *bench) {
	h := b.storedHistory()
	first, last := h.ends()
	note := ""
	if historyRuler(h) == nil {
		note = "the halves of what is stored; judged from two million events on"
	}
	b.add(
		Ratio("history/sqlite", fmt.Sprintf("append at %s events, the last million against the first", figure(float64(h.events))), "events/s",
			last.rate(), first.rate(), historyRuler(h)).With(note),
		Ratio("history/sqlite (cpu)", "CPU time an event, likewise; a busy machine changes it least", "µs/event", last.micros(), first.micros(), nil),
	)
}

// historyRuler is what is asked of a long history; of a short one nothing is.
func historyRuler(h *history) *Ruler {
	if h.events < 2_000_000 {
		return nil
	}
	return &Ruler{Floor: 0.75, Goal: 0.9}
}
