package lifecycle

import (
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// memory is a store in maps: it follows the protocol of Fold as a database does, encoding included.
type memory struct {
	messages map[MessageKey]MessageRow
	tasks    map[string]TaskRow
	events   map[string]map[EventPosition]Event
	rollups  Tally
}

func newMemory() *memory {
	return &memory{messages: map[MessageKey]MessageRow{}, tasks: map[string]TaskRow{}, events: map[string]map[EventPosition]Event{}, rollups: Tally{}}
}

func foldAll(batches [][]Event) *memory {
	m := newMemory()
	for _, b := range batches {
		m.append(slices.Clone(b))
	}
	return m
}

func (m *memory) append(events []Event) {
	f := NewFold()
	for _, k := range f.Keys(events) {
		m.load(f, k)
	}
	f.Assign(events)
	for _, id := range f.Tasks() {
		if r, ok := m.tasks[id]; ok {
			facts := roundTrip(*r.Facts)
			facts.ID = id
			f.LoadTask(facts)
		}
	}
	for _, k := range f.MissingHeads() {
		m.load(f, k)
	}
	for _, v := range f.Moves() {
		for at, e := range m.events[v.From] {
			if e.Message == v.Key {
				delete(m.events[v.From], at)
				m.put(v.To, e)
			}
		}
	}
	for _, e := range events {
		if m.put(e.TaskID, e) {
			f.Add(e)
		}
	}
	c := f.Changes()
	for _, r := range c.Messages {
		facts := r.Facts.Clone()
		m.messages[r.Facts.Key] = MessageRow{Facts: &facts, TaskID: r.TaskID, Open: r.Open}
	}
	for _, r := range c.Tasks {
		facts := r.Facts.Clone()
		m.tasks[r.Facts.ID] = TaskRow{Facts: &facts, Summary: r.Summary}
	}
	for _, id := range c.Removed {
		delete(m.tasks, id)
	}
	for cell, n := range c.Tally {
		m.rollups[cell] += n
		if m.rollups[cell] == 0 {
			delete(m.rollups, cell)
		}
	}
}

func (m *memory) load(f *Fold, k MessageKey) {
	if r, ok := m.messages[k]; ok {
		facts := roundTrip(*r.Facts)
		facts.Key = k
		f.LoadMessage(facts, r.TaskID)
	}
}

// put stores an event once and reports whether it was new.
func (m *memory) put(task string, e Event) bool {
	if m.events[task] == nil {
		m.events[task] = map[EventPosition]Event{}
	}
	at := EventPosition{e.At, e.ID}
	_, known := m.events[task][at]
	m.events[task][at] = e
	return !known
}

func (m *memory) taskIDs() []string { return slices.Sorted(maps.Keys(m.tasks)) }

func (m *memory) record(id string) TaskRecord {
	r := TaskRecord{Facts: *m.tasks[id].Facts, Summary: m.tasks[id].Summary}
	for _, row := range m.messages {
		if row.TaskID == id {
			r.Messages = append(r.Messages, *row.Facts)
		}
	}
	slices.SortFunc(r.Messages, func(a, b MessageFacts) int {
		return cmp.Or(cmp.Compare(a.Generation(), b.Generation()), a.Key.Compare(b.Key))
	})
	return r
}

func (m *memory) cells() []Cell {
	return slices.SortedFunc(maps.Keys(m.rollups), func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Agent, b.Agent))
	})
}

func roundTrip[T any](in T) T {
	var out T
	b, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

var times = flag.Int("times", 1, "how many times as many random histories are played")

// Histories is the number of random histories that a test plays: n, or -times as many.
func Histories(n int) int { return n * *times }

func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seed, 7))
}
