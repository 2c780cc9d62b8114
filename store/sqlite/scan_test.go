package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
)

// TestAListLooksThroughALimitedNumberOfRows reads a list in which few rows match, page by page, in both directions.
func TestAListLooksThroughALimitedNumberOfRows(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "store.db"), ScanLimit: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var b lifecycle.Batch
	for i := range uint64(1000) {
		b.Events = append(b.Events, published(fmt.Sprintf("task-%04d", i), i+1).Events...)
		b.Events[i].At = lifecycle.Micros(1e15 + i/3) // Three of each instant.
	}
	if _, err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	f := lifecycle.Filter{Words: []string{"99"}} // 19 tasks: the hundreds' 99 and 990 to 999.
	for _, sort := range []lifecycle.Sort{lifecycle.SortLastEvent, lifecycle.SortLastEventDesc, lifecycle.SortPublished, lifecycle.SortPublishedDesc} {
		f.Sort = sort
		forward, last := walk(t, s, f, lifecycle.Page{Limit: 4})
		if len(forward) != 19 {
			t.Errorf("list by %s: %d tasks, want 19: %v", sort, len(forward), forward)
		}
		back, _ := walk(t, s, f, lifecycle.Page{Limit: 4, From: last, Backward: true})
		if len(back) != 19 {
			t.Errorf("list by %s backward: %d tasks, want 19: %v", sort, len(back), back)
		}
	}
}

// walk reads all pages and returns the tasks of them all, each once, and a cursor beyond the last row.
func walk(t *testing.T, s *Store, f lifecycle.Filter, p lifecycle.Page) (map[string]bool, *lifecycle.Cursor) {
	t.Helper()
	seen := map[string]bool{}
	for pages := 1; ; pages++ {
		page, err := s.ListTasks(t.Context(), f, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Tasks {
			if seen[task.TaskID] {
				t.Errorf("list by %s: %s is listed twice", f.Sort, task.TaskID)
			}
			seen[task.TaskID] = true
		}
		next := page.Next
		if p.Backward {
			next = page.Prev
		}
		if next == nil {
			if pages < 10 {
				t.Errorf("list by %s: %d pages, want 10 or more of at most 100 rows looked through", f.Sort, pages)
			}
			return seen, beyondAll(f.Sort)
		}
		p.From = next
	}
}

func beyondAll(sort lifecycle.Sort) *lifecycle.Cursor {
	if columns.OrderOf(sort, false).Descending {
		return &lifecycle.Cursor{At: 1}
	}
	return &lifecycle.Cursor{At: 2e15}
}

// TestARareAnomalyIsFoundAmongManyTasks looks for it where one page may look through a tenth of the tasks.
func TestARareAnomalyIsFoundAmongManyTasks(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "store.db"), ScanLimit: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var b lifecycle.Batch
	for i := range uint64(1000) {
		b.Events = append(b.Events, published(fmt.Sprintf("task-%04d", i), i+1).Events...)
		b.Events[i].At = lifecycle.Micros(1e15 + i)
	}
	orphaned := b.Events[3]
	orphaned.ID, orphaned.Kind, orphaned.Provenance = lifecycle.NewEventID("orphaned"), lifecycle.Orphaned, lifecycle.Broker
	b.Events = append(b.Events, orphaned)
	if _, err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	f := lifecycle.Filter{Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalyOrphaned}, From: 1e15, Sort: lifecycle.SortLastEventDesc}
	page, err := s.ListTasks(t.Context(), f, lifecycle.Page{Limit: 5})
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].TaskID != "task-0003" || page.Next != nil {
		t.Errorf("got %d tasks, %v, and more at %v; want task-0003 alone", len(page.Tasks), err, page.Next)
	}
	if n, capped, err := s.CountTasks(t.Context(), f); err != nil || capped || n[lifecycle.StatePublished] != 1 {
		t.Errorf("counted %v, %t, %v; want one", n, capped, err)
	}
}
