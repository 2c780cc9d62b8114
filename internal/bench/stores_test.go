//go:build linux

package bench

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
	"fleetglass/store/sqlite"
)

// retained is how long the stores of a measurement keep events, and how far back a made history goes at most.
const retained = 400 * 24 * time.Hour

// database is a new store.
type database struct {
	name  string
	store lifecycle.Store // Nil once it is closed, so that nothing of it stays in the heap of what is measured next.
	url   string          // Of a Postgres.
	drop  func()          // Forgets what a closed store leaves behind, so that nothing tidies it up while another is measured.
}

// close does nothing to a store that is closed.
func (d *database) close(t testing.TB) {
	t.Helper()
	if d.store == nil {
		return
	}
	if err := d.store.Close(); err != nil {
		t.Error(err)
	}
	d.store = nil
	d.drop()
}

func newSQLite(t testing.TB, dir string) *database {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "fleetglass.db")})
	if err != nil {
		t.Fatal(err)
	}
	d := &database{name: "sqlite", store: s, drop: func() {}}
	t.Cleanup(func() { d.close(t) })
	return d
}

func newPostgres(t testing.TB, c *testkit.Cluster) *database {
	t.Helper()
	url, drop := c.DatabaseToDrop(t)
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, History: retained + 15*24*time.Hour})
	if err != nil {
		drop()
		t.Fatal(err)
	}
	d := &database{name: "postgres", store: s, url: url, drop: drop}
	t.Cleanup(func() { d.close(t) })
	return d
}

// tasks lists every task of a store.
func (d *database) tasks(t testing.TB) []string {
	t.Helper()
	var ids []string
	for page := (lifecycle.Page{Limit: 500}); ; {
		found, err := d.store.ListTasks(t.Context(), lifecycle.Filter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found.Tasks {
			ids = append(ids, s.TaskID)
		}
		if found.Next == nil {
			return ids
		}
		page.From = found.Next
	}
}

// lines counts the events of a task that came from captured lines, and not from conclusions.
func (d *database) lines(t testing.TB, id string) int {
	t.Helper()
	events, err := d.store.Events(t.Context(), id, lifecycle.EventPosition{}, 500)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range events {
		if slices.ContainsFunc(sources, func(stream string) bool { return strings.HasPrefix(e.Source, stream) }) {
			n++
		}
	}
	return n
}
