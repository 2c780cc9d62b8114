package api

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"fleetglass/lifecycle"
)

// BenchmarkCalls measures whole requests against a store of 20,000 tasks.
func BenchmarkCalls(b *testing.B) {
	f := benchFixture(b, 20_000)
	for _, target := range []string{
		"/tasks", "/tasks?state=completed&agent=agent-3", "/tasks/counts", "/tasks/task-12345", "/tasks/task-12345/events", "/in-flight", "/agents", "/stats/fleet",
	} {
		b.Run(target, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				f.engine.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), "GET", Base+target, nil))
				if w.Code != 200 {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
}

// benchFixture tells of n tasks of seven agents, of which each agent holds one.
func benchFixture(b *testing.B, n int) *fixture {
	b.Helper()
	f := newFixture(b, sqliteStore)
	for a := range 7 {
		f.worker(fmt.Sprint("agent-", a))
	}
	for i := range n {
		id, agent := fmt.Sprint("task-", i), fmt.Sprint("agent-", i%7)
		f.published(id, agent, uint64(i+1))
		f.delivered(id, agent, uint64(i+1), 1)
		f.did(lifecycle.Heartbeat, id, agent, uint64(i+1), 1)
		if i < n-7 {
			f.did(lifecycle.Acked, id, agent, uint64(i+1), 1)
		}
		if len(f.batch.Events) > 8000 {
			f.commit()
		}
	}
	f.commit()
	return f
}
