package postgres_test

import (
	"sync"
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
)

// sourcesOf tells of a number of tasks as six sources do: eight lines of each task, every source in an order of its own.
func sourcesOf(tasks int) map[string][]lifecycle.Event {
	w := newTraffic("TASKS")
	out := map[string][]lifecycle.Event{}
	put := func(source string, e lifecycle.Event) {
		e.Source, e.SourceSeq = source, uint64(len(out[source])+1)
		e.ID = lifecycle.StreamEventID(lifecycle.StreamID{Name: source}, e.SourceSeq)
		out[source] = append(out[source], e)
	}
	for i := range tasks {
		stored := w.published(lifecycle.MessageKey{Stream: w.stream, Seq: uint64(i + 1)})
		attempt := stored
		attempt.Kind, attempt.Message, attempt.At = lifecycle.PublishAttempted, lifecycle.MessageKey{}, stored.At-5
		ack := w.said(lifecycle.Acked, stored.Message)
		ack.At += 200_000
		confirmed := w.said(lifecycle.AckConfirmed, stored.Message)
		confirmed.At = ack.At + 50
		put("attempts", attempt)
		put("publishes", stored)
		put("acks", ack)
		put("advisories", confirmed)
		for n, kind := range []lifecycle.Kind{lifecycle.ReportClaimed, lifecycle.ReportAccepted, lifecycle.ReportCompleted} {
			put("reports", lifecycle.Event{Kind: kind, TaskID: stored.TaskID, At: stored.At + lifecycle.Micros(1000*(n+1)), Agent: stored.Agent,
				Provenance: lifecycle.Reported, Attempt: 1, Detail: lifecycle.Detail{
					Naming:      lifecycle.Naming{MsgID: stored.Detail.MsgID},
					LeaseReport: lifecycle.LeaseReport{LeaseOwner: "w-1", LeaseVersion: 1},
				}})
		}
		put("records", lifecycle.Event{Kind: lifecycle.CompletionRecorded, TaskID: stored.TaskID, At: ack.At - 10, Agent: stored.Agent,
			Provenance: lifecycle.Recorded, Detail: lifecycle.Detail{Naming: lifecycle.Naming{IdempotencyKey: stored.Detail.IdempotencyKey}}})
	}
	return out
}

// BenchmarkAppendMixed stores 1,000 tasks an operation, told by six sources at once in batches of 2,000 lines. Nothing holds the
// acknowledgements back until their messages are stored, so many events move from tasks that were made up for them.
func BenchmarkAppendMixed(b *testing.B) {
	s := openBench(b)
	sources := sourcesOf(1000 * b.N)
	b.ResetTimer()
	var work sync.WaitGroup
	lines := 0
	for _, events := range sources {
		lines += len(events)
		work.Go(func() { appendInBatches(b, s, events, 2000) })
	}
	work.Wait()
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "events/s")
}

func appendInBatches(b *testing.B, s *postgres.Store, events []lifecycle.Event, size int) {
	for len(events) > 0 {
		n := min(size, len(events))
		if _, err := s.Append(b.Context(), lifecycle.Batch{Events: events[:n]}); err != nil {
			b.Error(err)
			return
		}
		events = events[n:]
	}
}
