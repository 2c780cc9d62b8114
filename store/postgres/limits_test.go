package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
)

// noise is text that no index could hold, not even compressed.
func noise(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// TestTextsLongerThanAnIndexHolds gives every text that an index could be tempted by 8 kB of noise, with beginnings that agree.
func TestTextsLongerThanAnIndexHolds(t *testing.T) {
	t.Parallel()
	s := open(t, testkit.Postgres(t))
	r := rand.New(rand.NewPCG(1, 2))
	beginning, want := noise(r, 4000), map[string]string{}
	for i := range 3 {
		task, agent := beginning+noise(r, 4000), beginning+noise(r, 4000)
		events, _ := publishedAt(uint64(i+1), task, time.Now(), false)
		events[0].Agent, events[0].Consumer, events[0].Detail.Type = agent, beginning+noise(r, 4000), agent
		events[0].Detail.Category, events[0].Detail.MsgID = agent, task
		gone, dead := events[0], events[0]
		gone.ID, gone.Kind = gone.ID+1, lifecycle.Vanished
		dead.ID, dead.Kind = dead.ID+2, lifecycle.DeadLettered
		dead.Detail.Subject = ""
		if _, err := s.Append(t.Context(), lifecycle.Batch{Events: append(events, gone, dead)}); err != nil {
			t.Fatal(err)
		}
		want[task] = agent
	}
	for task, agent := range want {
		for _, f := range []lifecycle.Filter{
			{IDs: []string{task}}, {IDs: []string{task[:4001] + "*"}}, {Agents: []string{agent}}, {Types: []string{agent}}, {Categories: []string{agent}},
		} {
			page, err := s.ListTasks(t.Context(), f, lifecycle.Page{Limit: 5})
			if err != nil || len(page.Tasks) != 1 || page.Tasks[0].TaskID != task {
				t.Errorf("list: got %d tasks, %v; want the one", len(page.Tasks), err)
			}
		}
		counts, _, err := s.CountTasks(t.Context(), lifecycle.Filter{Agents: []string{agent}})
		if err != nil || counts[lifecycle.StateDeadLettered] != 1 {
			t.Errorf("counts of the agent: got %v, %v; want one dead-lettered", counts, err)
		}
	}
	if page, err := s.ListTasks(t.Context(), lifecycle.Filter{IDs: []string{beginning + "*"}}, lifecycle.Page{Limit: 5}); err != nil || len(page.Tasks) != 3 {
		t.Errorf("list by the common beginning: got %d tasks, %v; want 3", len(page.Tasks), err)
	}
}

// TestAListLooksThroughALimitedNumberOfRows follows the pages of a rare word through many rows, forward and backward.
func TestAListLooksThroughALimitedNumberOfRows(t *testing.T) {
	t.Parallel()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: testkit.Postgres(t), ScanLimit: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var events []lifecycle.Event
	for i := range 95 {
		name := fmt.Sprintf("task-%02d", i)
		if i%30 == 7 {
			name = "rare-" + name
		}
		more, _ := publishedAt(uint64(i+1), name, noon.Add(time.Duration(i/2)*time.Second), false)
		events = append(events, more...)
	}
	if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []lifecycle.Filter{{}, {Sort: lifecycle.SortLastEvent}, {Sort: lifecycle.SortPublished}, {Agents: []string{"cto", "ceo"}}, {States: []lifecycle.State{lifecycle.StatePublished}}} {
		f.Words = []string{"rare"}
		pages, found, p := 0, 0, lifecycle.Page{Limit: 2}
		for {
			page, err := s.ListTasks(t.Context(), f, p)
			if err != nil {
				t.Fatal(err)
			}
			pages, found = pages+1, found+len(page.Tasks)
			if page.Next == nil || pages > 100 {
				break
			}
			p.From = page.Next
		}
		if found != 3 || pages < 5 || pages > 12 {
			t.Errorf("list %+v: %d tasks on %d pages, want 3 on about ten", f, found, pages)
		}
	}
}

// TestARareAnomalyIsFoundAmongManyTasks looks for it where one page may look through a tenth of the tasks.
func TestARareAnomalyIsFoundAmongManyTasks(t *testing.T) {
	t.Parallel()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: testkit.Postgres(t), ScanLimit: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var events []lifecycle.Event
	for i := range 100 {
		more, _ := publishedAt(uint64(i+1), fmt.Sprintf("task-%02d", i), noon.Add(time.Duration(i)*time.Second), false)
		events = append(events, more...)
	}
	orphaned := events[3]
	orphaned.ID, orphaned.Kind, orphaned.Provenance = lifecycle.NewEventID("orphaned"), lifecycle.Orphaned, lifecycle.Broker
	if _, err := s.Append(t.Context(), lifecycle.Batch{Events: append(events, orphaned)}); err != nil {
		t.Fatal(err)
	}
	f := lifecycle.Filter{Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalyOrphaned}, Sort: lifecycle.SortLastEventDesc}
	page, err := s.ListTasks(t.Context(), f, lifecycle.Page{Limit: 5})
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].TaskID != "task-03" || page.Next != nil {
		t.Errorf("got %d tasks, %v, and more at %v; want task-03 alone", len(page.Tasks), err, page.Next)
	}
}
