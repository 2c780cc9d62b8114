package lifecycle

import (
	"fmt"
	"testing"
)

// BenchmarkFold folds batches of 2,000 new events of 500 tasks, without a database: what the rules themselves cost per event.
func BenchmarkFold(b *testing.B) {
	events := make([]Event, 0, 2000)
	stream := StreamID{Name: "TASKS"}
	for i := range 500 {
		id := fmt.Sprintf("task-%d", i)
		k := MessageKey{Stream: stream, Seq: uint64(i + 1)}
		at := base + Micros(i*1000)
		events = append(events,
			Event{ID: EventID(4 * i), At: at, Kind: PublishAttempted, TaskID: id, Detail: Detail{Naming: Naming{MsgID: id, Type: "blog"}}},
			Event{ID: EventID(4*i + 1), At: at, Kind: Published, TaskID: id, Message: k, Agent: "marketing", Detail: Detail{Naming: Naming{MsgID: id, Type: "blog", Subject: "s"}}},
			Event{ID: EventID(4*i + 2), At: at + 10, Kind: Delivered, Message: k, Consumer: "w", ConsumerSeq: uint64(i + 1), Detail: Detail{Timing: Timing{Exact: true}}},
			Event{ID: EventID(4*i + 3), At: at + 2000, Kind: Acked, Message: k, Consumer: "w", ConsumerSeq: uint64(i + 1), Attempt: 1},
		)
	}
	for b.Loop() {
		f := NewFold()
		f.Keys(events)
		f.Assign(events)
		for _, e := range events {
			f.Add(e)
		}
		if c := f.Changes(); len(c.Tasks) != 500 {
			b.Fatalf("got %d tasks, want 500", len(c.Tasks))
		}
	}
	b.ReportMetric(float64(b.N*len(events))/b.Elapsed().Seconds(), "events/s")
}
