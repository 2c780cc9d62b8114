package postgres_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
)

// traffic makes the lines of a fleet at work, in the order in which capture streams bring them: each message is published, handed
// out, most send a heartbeat, and are acknowledged while later ones are published already.
type traffic struct {
	stream lifecycle.StreamID
	at     lifecycle.Micros
	line   uint64
	next   uint64
	open   []lifecycle.MessageKey
}

var trafficAgents = []string{"ceo", "cto", "backend", "frontend", "marketing", "devops", "cso"}

func newTraffic(stream string) *traffic {
	return &traffic{stream: lifecycle.StreamID{Name: stream}, at: 1_795_000_000_000_000}
}

func (w *traffic) batch(n int) []lifecycle.Event {
	out := make([]lifecycle.Event, 0, n+4)
	for len(out) < n {
		w.next++
		out = append(out, w.published(lifecycle.MessageKey{Stream: w.stream, Seq: w.next}))
		if len(w.open) < 300 {
			continue
		}
		k := w.open[0]
		w.open = w.open[1:]
		if k.Seq%3 != 0 {
			out = append(out, w.said(lifecycle.Heartbeat, k))
		}
		out = append(out, w.said(lifecycle.Acked, k), w.said(lifecycle.AckConfirmed, k))
	}
	return out
}

func (w *traffic) published(k lifecycle.MessageKey) lifecycle.Event {
	w.open = append(w.open, k)
	agent := trafficAgents[k.Seq%uint64(len(trafficAgents))]
	id := fmt.Sprintf("%s-%s-%08d", w.stream.Name, agent, k.Seq)
	return w.line1(lifecycle.Event{Kind: lifecycle.Published, TaskID: id, Message: k, Agent: agent, Detail: lifecycle.Detail{
		Naming: lifecycle.Naming{
			MsgID: id, Subject: "genbrain.agents." + agent + ".tasks.code_review", Type: "code_review", IdempotencyKey: id + "-1",
			PayloadHash: "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
		},
		Publication: lifecycle.Publication{Title: "Review the change to the billing module", Size: 900},
	}})
}

func (w *traffic) said(kind lifecycle.Kind, k lifecycle.MessageKey) lifecycle.Event {
	agent := trafficAgents[k.Seq%uint64(len(trafficAgents))]
	return w.line1(lifecycle.Event{
		Kind: kind, Message: k, Agent: agent, Consumer: agent + "-task-worker", ConsumerSeq: k.Seq, Attempt: 1,
		Raw: []byte("$JS.ACK.TASKS." + agent + "-task-worker.1." + strconv.FormatUint(k.Seq, 10) + "." + strconv.FormatUint(k.Seq, 10) + ".1795000000000000000.0\n+ACK"),
	})
}

func (w *traffic) line1(e lifecycle.Event) lifecycle.Event {
	w.line++
	w.at += 250
	e.At, e.Source, e.SourceSeq, e.Provenance = w.at, "OBS_"+w.stream.Name, w.line, lifecycle.Observed
	e.ID = lifecycle.StreamEventID(lifecycle.StreamID{Name: e.Source}, w.line)
	return e
}

func openBench(b *testing.B) *postgres.Store {
	b.Helper()
	cluster := testkit.PostgresCluster(b, "fsync=on", "full_page_writes=on", "shared_buffers=512MB", "max_wal_size=4GB", "checkpoint_timeout=15min")
	return open(b, cluster.Database(b))
}

// BenchmarkAppend stores batches with a durable commit each. One operation is one batch of each writer.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 2} {
		for _, size := range []int{2000, 4000} {
			b.Run(fmt.Sprintf("writers=%d/batch=%d", writers, size), func(b *testing.B) {
				s := openBench(b)
				sources := make([]*traffic, writers)
				for i := range sources {
					sources[i] = newTraffic(fmt.Sprintf("TASKS%d", i))
				}
				b.ResetTimer()
				n := appendTraffic(b, s, sources, size, b.N)
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

func appendTraffic(b *testing.B, s *postgres.Store, sources []*traffic, size, batches int) (events int) {
	b.Helper()
	var work sync.WaitGroup
	for _, source := range sources {
		events += batches * size
		work.Go(func() {
			for range batches {
				if _, err := s.Append(b.Context(), lifecycle.Batch{Events: source.batch(size)}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	work.Wait()
	return events
}

// BenchmarkRead asks a store of a million events.
func BenchmarkRead(b *testing.B) {
	s := openBench(b)
	source := newTraffic("TASKS")
	appendTraffic(b, s, []*traffic{source}, 4000, 250)
	for name, ask := range map[string]func(i int) error{
		"list": func(int) error { return list(b, s, lifecycle.Filter{}) },
		"list/open": func(int) error {
			return list(b, s, lifecycle.Filter{States: []lifecycle.State{lifecycle.StatePublished}})
		},
		"list/agent": func(i int) error { return list(b, s, lifecycle.Filter{Agents: []string{trafficAgents[i%7]}}) },
		"list/words": func(int) error { return list(b, s, lifecycle.Filter{Words: []string{"billing"}}) },
		"list/id": func(i int) error {
			return list(b, s, lifecycle.Filter{IDs: []string{fmt.Sprintf("TASKS-%s-*", trafficAgents[i%7])}})
		},
		"count": func(int) error { _, _, err := s.CountTasks(b.Context(), lifecycle.Filter{}); return err },
		"count/type": func(int) error {
			_, _, err := s.CountTasks(b.Context(), lifecycle.Filter{Types: []string{"code_review"}})
			return err
		},
		"facets":        func(int) error { _, err := s.Facets(b.Context()); return err },
		"open":          func(int) error { _, err := s.OpenMessages(b.Context(), source.stream, 0, 300); return err },
		"task/timeline": func(i int) error { return timeline(b, s, source, uint64(1+i*7919%200_000)) },
	} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				if err := ask(i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func list(b *testing.B, s *postgres.Store, f lifecycle.Filter) error {
	page, err := s.ListTasks(b.Context(), f, lifecycle.Page{Limit: 50})
	if err == nil && len(page.Tasks) != 50 {
		err = fmt.Errorf("list %+v: %d tasks", f, len(page.Tasks))
	}
	return err
}

func timeline(b *testing.B, s *postgres.Store, source *traffic, seq uint64) error {
	id, err := s.TaskOf(b.Context(), lifecycle.MessageKey{Stream: source.stream, Seq: seq})
	if err != nil {
		return err
	}
	if _, err := s.Task(b.Context(), id); err != nil {
		return err
	}
	events, err := s.Events(b.Context(), id, lifecycle.EventPosition{}, 1000)
	if err == nil && len(events) < 3 {
		err = fmt.Errorf("task %s: %d events", id, len(events))
	}
	return err
}
