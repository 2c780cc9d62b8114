package web_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
	"fleetglass/web/webtest"
)

// meanwhile is a store in which something happens just before rows are read: what was counted a moment ago does not hold any more.
type meanwhile struct {
	*sqlite.Store
	happens atomic.Pointer[lifecycle.Batch]
}

func (m *meanwhile) ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error) {
	if b := m.happens.Swap(nil); b != nil {
		if _, err := m.Append(ctx, *b); err != nil {
			return lifecycle.TaskPage{}, err
		}
	}
	return m.Store.ListTasks(ctx, f, p)
}

// A list that is whole on its page says as many as it shows, also while the fleet is faster than the page.
func TestAWholeListCountsWhatItShows(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	story.Die("draft-1", "marketing", "provider timeout after 30 s", -time.Hour)
	store := &meanwhile{}
	s := newSite(t, story.Batch, func(c *setup) { store.Store, c.Store = c.Store.(*sqlite.Store), store })
	for path, n := range map[string]int{"/dlq?status=open": 1, "/dlq?status=all": 1, "/dlq?agent=marketing": 1, "/tasks?q=draft": 1} {
		if got := s.get(t, path, 200).Find("#rows tr").Length(); got != n {
			t.Fatalf("%s: %d rows", path, got)
		}
	}
	later := webtest.NewStory(noon).From(2)
	later.Die("draft-2", "marketing", "provider timeout after 30 s", -time.Minute)
	for _, path := range []string{"/tasks?q=draft", "/dlq?status=open", "/dlq?status=all", "/dlq?agent=marketing"} { // Counts of dead letters are shared for a moment.
		if strings.HasPrefix(path, "/tasks") {
			store.happens.Store(&later.Batch)
		}
		page := s.get(t, path, 200)
		summary, tab := text(page.Find("#summary")), text(page.Find("#states [aria-current]"))
		if rows := page.Find("#rows tr").Length(); rows != 2 || !strings.HasPrefix(summary, "2 ") || !strings.HasSuffix(tab, "2") {
			t.Errorf("%s: %d rows under %q, tab %q", path, rows, summary, tab)
		}
	}
}
