package storetest

import (
	"fmt"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var countTests = []conformanceTest{
	{"counts look at a limited number of rows", countCapped},
	{"counts from counters are not limited", countWhole},
	{"facets", countFacets},
}

func (w expected) checkCounts(t *testing.T, s Store, f lifecycle.Filter) {
	t.Helper()
	got, capped, err := s.CountTasks(t.Context(), f)
	if err != nil || capped {
		t.Fatalf("count %+v: capped %v, %v", f, capped, err)
	}
	want := w.countsOf(f)
	for state, n := range got {
		if n == 0 {
			delete(got, state)
		}
	}
	diff(t, fmt.Sprintf("counts %+v", f), got, want)
}

// manyTasks publishes more tasks than a count without a counter looks at.
func manyTasks(t *testing.T, s Store) int {
	w := newEventScript("TASKS")
	n := lifecycle.CountLimit + 50
	for i := range n {
		w.published(fmt.Sprintf("t%d", i), "cto", 0)
	}
	mustAppend(t, s, w.events)
	return n
}

func countCapped(t *testing.T, s Store) {
	manyTasks(t, s)
	for _, f := range []lifecycle.Filter{
		{Types: []string{"content_creation"}}, {Words: []string{"WRITE"}}, {IDs: []string{"t*"}}, {Agents: []string{"cto"}, From: 1},
	} {
		got, capped, err := s.CountTasks(t.Context(), f)
		if err != nil || !capped || got[lifecycle.StatePublished] != lifecycle.CountLimit {
			t.Errorf("count %+v: got %v, capped %v, %v; want %d, capped", f, got, capped, err, lifecycle.CountLimit)
		}
	}
}

func countWhole(t *testing.T, s Store) {
	n := manyTasks(t, s)
	for _, f := range []lifecycle.Filter{{}, {Agents: []string{"cto", "ceo"}}, {States: []lifecycle.State{lifecycle.StateFailed}}} {
		got, capped, err := s.CountTasks(t.Context(), f)
		if err != nil || capped || got[lifecycle.StatePublished] != int64(n) {
			t.Errorf("count %+v: got %v, capped %v, %v; want %d, not capped", f, got, capped, err, n)
		}
	}
}

func countFacets(t *testing.T, s Store) {
	events := everyScenario()
	old := newEventScript("OLD")
	old.wait(-30 * 24 * time.Hour)
	old.store("ancient", "ceo", lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "ancient", Type: "forgotten"}})
	events = append(events, old.events...)
	mustAppend(t, s, events)
	got, err := s.Facets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := lifecycle.Facets{Agents: map[string]int64{}, Types: map[string]int64{}}
	for _, row := range expectedOf(events).tasks {
		if row.Summary.Listed {
			want.Agents[row.Summary.Agent]++
		}
	}
	for cell, n := range expectedOf(events).tally {
		if cell.Metric == lifecycle.MetricPublished && cell.Label != "forgotten" {
			want.Types[cell.Label] += n
		}
	}
	diff(t, "facets", got, want)
}
