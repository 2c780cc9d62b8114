//go:build linux

package bench

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/lifecycle/postgres"
	"fleetglass/lifecycle/sqlite"

	"github.com/jackc/pgx/v5"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// retained is how long the stores of a measurement keep events, and how far back a made history goes at most.
const retained = 400 * 24 * time.Hour

// database is a new store and a way to count its events without it.
type database struct {
	name   string
	store  lifecycle.Store
	events func() int // Counted by the database itself.
}

func newSQLite(t testing.TB, dir string) *database {
	t.Helper()
	path := filepath.Join(dir, "fleetglass.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &database{name: "sqlite", store: s, events: func() int { return countSQLite(t, path) }}
}

func countSQLite(t testing.TB, path string) int {
	t.Helper()
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // It only read.
	n := 0
	err = sqlitex.Execute(conn, "SELECT count(*) FROM events", &sqlitex.ExecOptions{ResultFunc: func(stmt *driver.Stmt) error {
		n = stmt.ColumnInt(0)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cluster is a Postgres that flushes every commit to disk, as one in production does.
func cluster(t testing.TB) *testkit.Cluster {
	t.Helper()
	return testkit.PostgresCluster(t, "fsync=on", "full_page_writes=on", "synchronous_commit=on", "max_wal_size=4GB")
}

func newPostgres(t testing.TB, c *testkit.Cluster) *database {
	t.Helper()
	url := c.Database(t)
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, History: retained + 15*24*time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &database{name: "postgres", store: s, events: func() int { return countPostgres(t, url) }}
}

func countPostgres(t testing.TB, url string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // It only read.
	n := 0
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM events").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
