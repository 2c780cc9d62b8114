package brokerstate_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"fleetglass/lifecycle"
)

// memory is a store in maps that follows the protocol of [lifecycle.Fold], encoding of facts included.
type memory struct {
	mu          sync.Mutex
	messages    map[lifecycle.MessageKey]lifecycle.MessageRow
	tasks       map[string]lifecycle.TaskRow
	events      map[string]map[lifecycle.EventPosition]lifecycle.Event
	consumers   map[string]lifecycle.ConsumerState
	payloads    map[lifecycle.MessageKey]lifecycle.Payload
	gaps        map[string]lifecycle.Gap
	quarantined []lifecycle.QuarantinedLine
	watermarks  map[string]string
	reads       int
}

func newMemory() *memory {
	return &memory{
		messages: map[lifecycle.MessageKey]lifecycle.MessageRow{}, tasks: map[string]lifecycle.TaskRow{},
		events: map[string]map[lifecycle.EventPosition]lifecycle.Event{}, consumers: map[string]lifecycle.ConsumerState{},
		payloads: map[lifecycle.MessageKey]lifecycle.Payload{}, gaps: map[string]lifecycle.Gap{}, watermarks: map[string]string{},
	}
}

func (m *memory) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	done := m.fold(slices.Clone(b.Events))
	for _, c := range b.Consumers {
		k := c.Stream.String() + " " + c.Name
		if old, ok := m.consumers[k]; !ok || old.ObservedAt <= c.ObservedAt {
			m.consumers[k] = c
		}
	}
	for _, p := range b.Payloads {
		m.payloads[p.Message] = p
	}
	for _, g := range b.Gaps {
		m.gaps[g.Source+g.From.Time().String()] = g
	}
	m.quarantined = append(m.quarantined, b.Quarantined...)
	maps.Copy(m.watermarks, b.Watermarks)
	return done, nil
}

func (m *memory) fold(events []lifecycle.Event) (done lifecycle.Appended) {
	f := lifecycle.NewFold()
	for _, k := range f.Keys(events) {
		m.load(f, k)
	}
	f.Assign(events)
	for _, id := range f.Tasks() {
		if r, ok := m.tasks[id]; ok {
			facts := roundTrip(r.Facts)
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
			done.New++
		}
	}
	c := f.Changes()
	for _, r := range c.Messages {
		m.messages[r.Facts.Key] = lifecycle.MessageRow{Facts: r.Facts.Clone(), TaskID: r.TaskID, Open: r.Open}
	}
	for _, r := range c.Tasks {
		m.tasks[r.Facts.ID] = lifecycle.TaskRow{Facts: r.Facts.Clone(), Summary: r.Summary}
	}
	for _, id := range c.Removed {
		delete(m.tasks, id)
	}
	return done
}

func (m *memory) load(f *lifecycle.Fold, k lifecycle.MessageKey) {
	if r, ok := m.messages[k]; ok {
		facts := roundTrip(r.Facts)
		facts.Key = k
		f.LoadMessage(lifecycle.MessageRow{Facts: facts, TaskID: r.TaskID, Open: r.Open})
	}
}

func (m *memory) put(task string, e lifecycle.Event) bool {
	if m.events[task] == nil {
		m.events[task] = map[lifecycle.EventPosition]lifecycle.Event{}
	}
	at := lifecycle.EventPosition{At: e.At, ID: e.ID}
	_, known := m.events[task][at]
	m.events[task][at] = e
	return !known
}

func (m *memory) sorted() []lifecycle.MessageRow {
	return slices.SortedFunc(maps.Values(m.messages), func(a, b lifecycle.MessageRow) int { return a.Facts.Key.Compare(b.Facts.Key) })
}

func (m *memory) OpenMessages(_ context.Context, stream lifecycle.StreamID, from uint64, limit int) (out []lifecycle.OpenMessage, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	for _, r := range m.sorted() {
		if r.Open && r.Facts.Key.Stream == stream && r.Facts.Key.Seq >= from && len(out) < limit {
			out = append(out, lifecycle.OpenMessage{Message: r.Facts.Clone(), Task: m.tasks[r.TaskID].Facts.Clone()})
		}
	}
	return out, nil
}

func (m *memory) MessagesIn(_ context.Context, stream lifecycle.StreamID, from, to uint64, limit int) (out []lifecycle.MessageFacts, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	for _, r := range m.sorted() {
		if k := r.Facts.Key; k.Stream == stream && k.Seq >= from && k.Seq <= to && len(out) < limit {
			out = append(out, r.Facts.Clone())
		}
	}
	return out, nil
}

func (m *memory) UnlistedTasks(_ context.Context, before lifecycle.Micros, limit int) (out []lifecycle.TaskFacts, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.tasks {
		if !r.Summary.Listed && len(r.Facts.Publishes) > 0 && r.Facts.LastAt < before && len(out) < limit {
			out = append(out, r.Facts.Clone())
		}
	}
	return out, nil
}

func (m *memory) Consumers(context.Context) ([]lifecycle.ConsumerState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.consumers), func(a, b lifecycle.ConsumerState) int { return cmp.Compare(a.Name, b.Name) }), nil
}

func (m *memory) Gaps(context.Context, lifecycle.Micros, lifecycle.Micros, int) ([]lifecycle.Gap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.gaps), func(a, b lifecycle.Gap) int { return cmp.Compare(b.From, a.From) }), nil
}

func (m *memory) Watermark(_ context.Context, source string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watermarks[source], nil
}

func (m *memory) Task(_ context.Context, id string) (lifecycle.TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.tasks[id]
	if !ok {
		return lifecycle.TaskRecord{}, lifecycle.ErrNotFound
	}
	record := lifecycle.TaskRecord{Facts: r.Facts.Clone(), Summary: r.Summary}
	for _, row := range m.sorted() {
		if row.TaskID == id {
			record.Messages = append(record.Messages, row.Facts.Clone())
		}
	}
	return record, nil
}

func (m *memory) Events(_ context.Context, id string, _ lifecycle.EventPosition, limit int) ([]lifecycle.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.SortedFunc(maps.Values(m.events[id]), func(a, b lifecycle.Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(len(out), limit)], nil
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
