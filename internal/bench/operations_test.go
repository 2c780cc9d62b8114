//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// dryRunRuler is what is asked of a dry run over 100,000 entries, in milliseconds.
var dryRunRuler = &Ruler{Floor: 1000, Goal: 1000, Lower: true}

// classRuler is what is asked of deciding about one entry, in microseconds.
var classRuler = &Ruler{Floor: 1000, Goal: 200, Lower: true}

// measureOperations asks how long a dry run over many dead letters takes in both stores, and what a run over all of them does to the memory.
func measureOperations(b *bench) {
	entries := *flagEntries
	if b.form.name == "smoke" {
		entries = 500
	}
	measureOneEntry(b)
	for _, d := range []*database{newSQLite(b, b.TempDir()), newPostgres(b, b.shared.cluster())} {
		begin, err := manyDead(b.Context(), d.store, entries)
		if err != nil {
			b.Fatal(err)
		}
		w := newBulk(b, d)
		w.dryRuns(b, entries)
		acted := entries
		if b.form.name == "quick" {
			acted = entries / 100
		}
		w.filter.To = begin.Add(time.Duration(acted) * time.Microsecond)
		w.run(b, acted)
	}
}

// measureOneEntry asks what it takes to classify one dead letter and to plan for it.
func measureOneEntry(b *bench) {
	policy := dlqtriage.DefaultPolicy()
	texts := []string{"503 overloaded", "context length exceeded: 210,000 tokens", "schema invalid: field title is missing", "the moon is in the wrong house"}
	var took []float64
	for i := range max(200, b.form.reads) {
		began := time.Now()
		verdict := policy.Classify(dlqtriage.Evidence{Term: texts[i%len(texts)]})
		policy.PlanFor(dlqtriage.Case{Class: verdict.Class, Agent: "marketing", Type: "content_creation", Status: dlqtriage.StatusOpen}, lifecycle.MicrosOf(began))
		took = append(took, float64(time.Since(began).Nanoseconds())/1000)
	}
	b.add(Distribution("operations/one", "classification and plan of one dead letter, median", "µs", took, 0.5, classRuler))
}

// bulk is a store of dead letters with what acts on many of them.
type bulk struct {
	database   *database
	operations *dlqtriage.Operations
	entries    dlqtriage.EntryReader
	filter     dlqtriage.EntryFilter // What is acted on.

	mu      sync.Mutex
	told    time.Time     // When progress was told last.
	longest time.Duration // Between two times that it was.
	memory  []float64     // In use at each of them, in MB.
	way     []milestone   // How far the operation was at each of them.
}

// milestone is how far an operation was at a time.
type milestone struct {
	at   time.Time
	done int64
}

func newBulk(b *bench, d *database) *bulk {
	b.Helper()
	store, ok := d.store.(interface {
		dlqtriage.EntryReader
		dlqtriage.OperationStore
	})
	if !ok {
		b.Fatalf("%s keeps no dead letters", d.name)
	}
	w := &bulk{database: d, entries: store, filter: dlqtriage.EntryFilter{Agents: []string{"devops"}}}
	actions, err := dlqtriage.NewActions(dlqtriage.ActionsConfig{Entries: store, Tasks: d.store, Decisions: store, Policy: dlqtriage.DefaultPolicy, Contract: contract})
	if err != nil {
		b.Fatal(err)
	}
	if w.operations, err = dlqtriage.NewOperations(dlqtriage.OperationsConfig{Actions: actions, Store: store, Changed: w.progress}); err != nil {
		b.Fatal(err)
	}
	return w
}

// request asks for an action on every entry.
func (w *bulk) request(action dlqtriage.ActionKind, key string, dry bool) dlqtriage.BulkRequest {
	return dlqtriage.BulkRequest{
		Action: action, Reason: "measured", Key: key, DryRun: dry, Actor: decision.Actor{Name: "bench", Via: decision.ViaAuto},
		Selector: dlqtriage.Selector{Filter: &w.filter},
	}
}

func (w *bulk) dryRuns(b *bench, entries int) {
	b.Helper()
	var took []float64
	for i := range max(3, b.form.runs) {
		began := time.Now()
		o, err := w.operations.Start(b.Context(), w.request(dlqtriage.ActionRetry, fmt.Sprint(i), true))
		if err != nil || o.Counts.Selected != int64(entries) {
			b.Fatalf("dry run: %+v, %v", o.Counts, err)
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	what := fmt.Sprintf("dry run of a retry of %d dead letters selected by a filter, median", entries)
	b.add(Distribution("operations/dry-run/"+w.database.name, what, "ms", took, 0.5, dryRunRuler))
}

// progress notes when something was heard of an operation, and how much memory is in use then.
func (w *bulk) progress(o dlqtriage.Operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.told.IsZero() {
		w.longest = max(w.longest, now.Sub(w.told))
	}
	w.told = now
	w.memory = append(w.memory, resident())
	w.way = append(w.way, milestone{at: now, done: o.Counts.Done})
}

// resident is how much memory the process has, in MB; zero where nobody says.
func resident() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(kb)[0], 64)
			return n / 1024
		}
	}
	return 0
}

// run discards every entry: cancelled on its way, and then to the end. No entry may be decided about twice.
func (w *bulk) run(b *bench, entries int) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	var working sync.WaitGroup
	working.Go(func() { _ = w.operations.Run(ctx) })
	defer working.Wait()
	defer stop()
	done := w.cancelled(b, entries)
	defer profile(b, "operations-"+w.database.name)()
	w.told, w.longest, w.memory, w.way = time.Time{}, 0, nil, nil
	began := time.Now()
	o, err := w.operations.Start(b.Context(), w.request(dlqtriage.ActionDiscard, "to the end", false))
	if err != nil {
		b.Fatal(err)
	}
	o = w.until(b, o.ID, func(o dlqtriage.Operation) bool { return o.Status.Ended() })
	took := time.Since(began)
	if got := o.Counts.Done + done; got != int64(entries) {
		b.Errorf("%d of %d were discarded: %+v", got, entries, o.Counts)
	}
	w.decidedOnce(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	b.Logf("%s, discards a second in each tenth of the way: %.0f", w.database.name, rates(w.way, 10))
	name := "operations/run/" + w.database.name
	b.add(
		Value(name+"/rate", "discards a second by one operation", "1/s", []float64{float64(o.Counts.Done) / took.Seconds()}, nil),
		Value(name+"/steady", "rate of the last fifth of the way, against that of the first", "×", []float64{steady(w.way)}, &Ruler{Floor: 0.5, Goal: 0.8}),
		Value(name+"/progress", "longest time between two times that progress is told", "ms", []float64{float64(w.longest.Milliseconds())}, &Ruler{Floor: 2000, Goal: 1000, Lower: true}),
		Value(name+"/memory", "memory of the process at its highest, above that after a tenth of the way", "MB", []float64{growth(w.memory)}, &Ruler{Floor: 64, Goal: 32, Lower: true}),
	)
}

// growth is by how much the highest of some figures exceeds the highest of the first tenth.
func growth(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	return max(0, slices.Max(figures)-slices.Max(figures[:len(figures)/10+1]))
}

// steady is the rate of the last fifth of the way, divided by that of the first. What was only looked at, because it was decided before, is no part of it.
func steady(way []milestone) float64 {
	for len(way) > 1 && way[1].done == 0 {
		way = way[1:]
	}
	if len(way) < 10 {
		return 1
	}
	fifth := len(way) / 5
	return rate(way[len(way)-1-fifth:]) / rate(way[:fifth+1])
}

// rates are the rates of so many parts of the way.
func rates(way []milestone, parts int) (out []float64) {
	for i := range parts {
		if part := way[i*(len(way)-1)/parts : (i+1)*(len(way)-1)/parts+1]; len(part) > 1 {
			out = append(out, rate(part))
		}
	}
	return out
}

// rate is how many entries a second were decided about.
func rate(way []milestone) float64 {
	first, last := way[0], way[len(way)-1]
	return float64(last.done-first.done) / last.at.Sub(first.at).Seconds()
}

// cancelled begins an operation and cancels it on its way. It returns how many entries were decided about.
func (w *bulk) cancelled(b *bench, entries int) int64 {
	b.Helper()
	o, err := w.operations.Start(b.Context(), w.request(dlqtriage.ActionDiscard, "cancelled", false))
	if err != nil {
		b.Fatal(err)
	}
	w.until(b, o.ID, func(o dlqtriage.Operation) bool { return o.Counts.Done > int64(entries/20) || o.Status.Ended() })
	began := time.Now()
	if _, err := w.operations.Cancel(b.Context(), o.ID, decision.Actor{Name: "bench", Via: decision.ViaAuto}, "enough"); err != nil {
		b.Fatal(err)
	}
	before, took := w.discarded(b), time.Since(began)
	testkit.Eventually(b, time.Minute, func() error { // What does not change for a second is over.
		if now := w.discarded(b); now != before {
			before, took = now, time.Since(began)
		}
		if quiet := time.Since(began) - took; quiet < time.Second {
			return fmt.Errorf("quiet for %s", quiet)
		}
		return nil
	})
	b.add(Value("operations/cancel/"+w.database.name, "call that cancels until no entry is decided about any more", "ms", []float64{float64(took.Milliseconds())}, &Ruler{Floor: 1000, Goal: 1000, Lower: true}))
	return before
}

func (w *bulk) discarded(b *bench) int64 {
	b.Helper()
	n, err := w.entries.CountEntries(b.Context(), dlqtriage.EntryFilter{Statuses: []dlqtriage.Status{dlqtriage.StatusDiscarded}})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// until waits until the operation is as it should be.
func (w *bulk) until(b *bench, id string, holds func(dlqtriage.Operation) bool) (o dlqtriage.Operation) {
	b.Helper()
	testkit.Eventually(b, time.Hour, func() (err error) {
		if o, err = w.operations.Get(b.Context(), id); err == nil && !holds(o) {
			err = fmt.Errorf("the operation is %s: %+v", o.Status, o.Counts)
		}
		return err
	})
	return o
}

// decidedOnce holds every entry to one decision.
func (w *bulk) decidedOnce(b *bench) {
	b.Helper()
	for p := (dlqtriage.EntryPageRequest{Limit: 500}); ; {
		page, err := w.entries.Entries(b.Context(), w.filter, p)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range page.Entries {
			if e.Revision != 1 || e.Status != dlqtriage.StatusDiscarded {
				b.Fatalf("entry %s is %s by %d decisions", e.ID, e.Status, e.Revision)
			}
		}
		if p.From = page.Next; p.From == nil {
			return
		}
	}
}

// manyDead stores tasks that their worker gave up, one each microsecond from the returned time on.
func manyDead(ctx context.Context, store lifecycle.Appender, n int) (lifecycle.Micros, error) {
	const atOnce = 2000
	begin := lifecycle.MicrosOf(time.Now().Add(-time.Hour))
	var batch lifecycle.Batch
	for i := range n {
		task := fmt.Sprintf("deployment-%06d", i)
		key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: uint64(i + 1)}
		at := begin + lifecycle.Micros(i)
		published := lifecycle.Event{
			ID: lifecycle.NewEventID("bench", task, "p"), At: at, Kind: lifecycle.Published, Provenance: lifecycle.Observed, Source: "bench", TaskID: task, Message: key, Agent: "devops",
		}
		published.Detail.MsgID, published.Detail.Subject, published.Detail.Type = task, contract.TaskSubject("devops", "deployment"), "deployment"
		gone := lifecycle.Event{
			ID: lifecycle.NewEventID("bench", task, "t"), At: at, Kind: lifecycle.Terminated, Provenance: lifecycle.Observed, Source: "bench", Message: key,
			Consumer: "devops-task-worker", ConsumerSeq: uint64(i + 1), Attempt: 1,
		}
		gone.Detail.Reason = "503 overloaded"
		batch.Events = append(batch.Events, published, gone)
		if len(batch.Events) >= atOnce || i == n-1 {
			if _, err := store.Append(ctx, batch); err != nil {
				return begin, err
			}
			batch = lifecycle.Batch{}
		}
	}
	return begin, nil
}
