//go:build linux

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// shared is what several rows use and the first one makes.
type shared struct {
	t        testing.TB // The whole invocation.
	root     string     // Of the directories of things made here.
	postgres *testkit.Cluster
	recorded *recording
	stored   *history
	spent    []string
}

// dir makes a directory that lasts as long as the invocation.
func (s *shared) dir(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(s.root, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cluster is a Postgres that flushes every commit to disk, as one in production does, and that has files of its log to use again, as one
// has that was not started a moment ago: a new file is filled with zeros first.
func (s *shared) cluster() *testkit.Cluster {
	if s.postgres == nil {
		s.postgres = testkit.PostgresCluster(s.t, "fsync=on", "full_page_writes=on", "synchronous_commit=on", "max_wal_size=4GB", "min_wal_size=1GB")
		for range 60 { // Files of 16 MB.
			s.postgres.Execute(s.t, `SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal()`)
		}
		s.postgres.Execute(s.t, `CHECKPOINT`)
	}
	return s.postgres
}

func (s *shared) took(name string, d time.Duration) {
	s.spent = append(s.spent, fmt.Sprintf("%s %.0f s", name, d.Seconds()))
}

func (s *shared) times() string { return "took: " + strings.Join(s.spent, ", ") }
