//go:build linux

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"

	"golang.org/x/sync/errgroup"
)

// connections is how many readers ask at once, each again as soon as it has its answer.
const connections = 8

// measurePages holds the task list of the program, with a year of history stored, against a server that renders the same rows from
// memory and does nothing else. Both are processes of their own and share the machine with the readers.
func measurePages(b *bench) {
	h := b.storedHistory()
	profilePages(b, h, b.form.serve)
	memory := remember(b, h)
	glass := startProgram(b, h.dir)
	defer glass.kill()
	glass.ready(b)
	glass.get(b, "/api/v1/tasks", &memory.List)
	if len(memory.List.Data) != 50 || len(memory.Tasks) != 50 {
		b.Fatalf("lists of %d and %d rows, want 50", len(memory.List.Data), len(memory.Tasks))
	}
	base := serveMemory(b, memory)
	size := func(url string) int {
		_, body, err := fetch(b.Context(), client, url)
		if err != nil {
			b.Fatal(err)
		}
		return len(body)
	}
	for _, what := range []struct {
		name, path, said string
		ruler            *Ruler
	}{
		{"pages/tasks", "/tasks", "the task list as a page, 50 rows, 8 connections, against the same templ page from memory", &Ruler{Floor: 0.4, Goal: 0.6}},
		{"pages/json", "/api/v1/tasks", "the task list as JSON, likewise against encoding the same rows", &Ruler{Floor: 0.3, Goal: 0.55}},
	} {
		var real, bare []float64
		for range b.form.runs {
			real = append(real, b.serve(glass.base+what.path))
			bare = append(bare, b.serve(base+what.path))
		}
		b.add(Ratio(what.name, what.said, "requests/s", real, bare, what.ruler).
			With(fmt.Sprintf("%d bytes, from memory %d", size(glass.base+what.path), size(base+what.path))))
	}
}

// remember reads what the task list shows out of the store.
func remember(t testing.TB, h *history) *remembered {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: h.path()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // Only read from.
	m := &remembered{}
	page, err := s.ListTasks(t.Context(), lifecycle.Filter{}, lifecycle.Page{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	m.Tasks = page.Tasks
	if m.Counts, _, err = s.CountTasks(t.Context(), lifecycle.Filter{}); err != nil {
		t.Fatal(err)
	}
	if m.Facets, err = s.Facets(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// serveMemory starts the server from memory and returns its address.
func serveMemory(t testing.TB, m *remembered) string {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rows.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	o := memoryOrder{Listen: testkit.FreeAddress(t), File: file}
	p := startRole(t, t.TempDir(), "memory", o)
	base := "http://" + o.Listen
	testkit.Eventually(t, patience, func() error {
		status, body, err := fetch(t.Context(), client, base+"/tasks")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		if err != nil {
			return fmt.Errorf("%w\n%s", err, p.output())
		}
		return nil
	})
	return base
}

// serve asks for an address over all connections for a while and returns answers a second.
func (b *bench) serve(url string) float64 {
	b.Helper()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}}
	defer c.CloseIdleConnections()
	ask := func(span time.Duration) float64 {
		var answers atomic.Int64
		ctx, stop := context.WithCancel(b.Context())
		defer stop()
		asking := &errgroup.Group{}
		began := time.Now()
		for range connections {
			asking.Go(func() error {
				for time.Since(began) < span {
					status, _, err := fetch(ctx, c, url)
					if err != nil || status != http.StatusOK {
						return fmt.Errorf("GET %s: %d, %w", url, status, err)
					}
					answers.Add(1)
				}
				return nil
			})
		}
		if err := asking.Wait(); err != nil {
			b.Fatal(err)
		}
		return float64(answers.Load()) / time.Since(began).Seconds()
	}
	ask(b.form.serve / 4) // Until everything is warm.
	return ask(b.form.serve)
}
