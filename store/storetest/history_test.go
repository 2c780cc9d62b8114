package storetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fleetglass/lifecycle"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestFoldIsIndifferentToBatches folds random histories in random batches and orders, by the protocol of lifecycle.Fold, and
// compares with the fold of everything at once: what every store relies on.
func TestFoldIsIndifferentToBatches(t *testing.T) {
	t.Parallel()
	failures := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 9))
		events := history(r, 3+r.IntN(30))
		want, got := expectedOf(events), inParts(partition(r, events))
		d := gocmp.Diff(want.tasks, got.tasks, cmpopts.EquateEmpty()) + gocmp.Diff(want.messages, got.messages, cmpopts.EquateEmpty()) +
			gocmp.Diff(want.tally, got.tally, cmpopts.EquateEmpty())
		if d != "" {
			t.Errorf("history %d (-at once +in parts):\n%s", seed, d)
			if failures++; failures > 3 {
				t.FailNow()
			}
		}
	}
}

// inParts folds batch by batch into maps.
func inParts(batches [][]lifecycle.Event) expected {
	w := expectedOf(nil)
	seen := map[eventKey]lifecycle.MessageKey{}
	for _, batch := range batches {
		w.fold(slices.Clone(batch), seen)
	}
	return w
}

func (w expected) fold(events []lifecycle.Event, seen map[eventKey]lifecycle.MessageKey) {
	f := lifecycle.NewFold()
	load := func(keys []lifecycle.MessageKey) {
		for _, k := range keys {
			if m, ok := w.messages[k]; ok {
				f.LoadMessage(m.Facts.Clone(), m.TaskID)
			}
		}
	}
	load(f.Keys(events))
	f.Assign(events)
	for _, id := range f.Tasks() {
		if t, ok := w.tasks[id]; ok {
			f.LoadTask(t.Facts.Clone())
		}
	}
	load(f.MissingHeads())
	for _, m := range f.Moves() {
		for k, of := range seen {
			if k.task == m.From && of == m.Key {
				delete(seen, k)
				seen[eventKey{m.To, k.at, k.id}] = of
			}
		}
	}
	for _, e := range events {
		k := eventKey{e.TaskID, e.At, e.ID}
		if _, known := seen[k]; !known {
			seen[k] = e.Message
			f.Add(e)
		}
	}
	w.write(f.Changes())
}

func (w expected) write(c lifecycle.Changes) {
	for _, m := range c.Messages {
		w.messages[m.Facts.Key] = m
	}
	for _, t := range c.Tasks {
		w.tasks[t.Facts.ID] = t
	}
	for _, id := range c.Removed {
		delete(w.tasks, id)
	}
	for cell, n := range c.Tally {
		if w.tally[cell] += n; w.tally[cell] == 0 {
			delete(w.tally, cell)
		}
	}
}
