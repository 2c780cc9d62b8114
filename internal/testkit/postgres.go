//go:build unix

package testkit

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// sharedCluster is the one throw-away cluster of the test binary, made when the first test asks for it. It ends with the binary,
// however the binary ends ([Cluster] says how).
var sharedCluster = sync.OnceValues(func() (*Cluster, error) { return startCluster(fastSettings) })

// databases numbers the databases of the test binary.
var databases atomic.Int64

// Postgres returns the URL of a new, empty database in a Postgres cluster that all tests of the binary share. The database is
// dropped when the test ends. The test fails, and says what to install, where Postgres is not installed.
func Postgres(t testing.TB) string {
	t.Helper()
	c, err := sharedCluster()
	if err != nil {
		t.Fatalf("start Postgres for tests: %v", err)
	}
	return c.Database(t)
}

// PostgresCluster starts a cluster of the test's own, to be killed and started again, or with settings that the shared one does
// not have, such as fsync=on. It is removed when the test ends.
func PostgresCluster(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := startCluster(append(append([]string{}, fastSettings...), settings...))
	if err != nil {
		t.Fatalf("start Postgres for tests: %v", err)
	}
	t.Cleanup(c.remove)
	return c
}

// Database makes a new, empty database and returns its URL. It is dropped when the test ends, if the cluster runs then.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	url, drop := c.DatabaseToDrop(t)
	t.Cleanup(drop)
	return url
}

// DatabaseToDrop is like [Cluster.Database], for a test that drops it earlier.
func (c *Cluster) DatabaseToDrop(t testing.TB) (url string, drop func()) {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	if err := c.execute("CREATE DATABASE " + name); err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	return c.url(name), func() { _ = c.execute("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") }
}

// Execute runs a statement outside the databases of tests.
func (c *Cluster) Execute(t testing.TB, statement string) {
	t.Helper()
	if err := c.execute(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// DumpPostgres writes a database of [Postgres] to a file, and RestorePostgres brings such a file into an empty one.
func DumpPostgres(t testing.TB, url, file string) {
	t.Helper()
	client(t, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file", file, "--dbname", url)
}

// RestorePostgres fails the test at the first statement that fails.
func RestorePostgres(t testing.TB, url, file string) {
	t.Helper()
	client(t, "pg_restore", "--no-owner", "--exit-on-error", "--dbname", url, file)
}

// client runs a program that comes with Postgres, as the user of the test: it reads and writes the test's own files.
func client(t testing.TB, program string, args ...string) {
	t.Helper()
	bin, err := findPostgres()
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), filepath.Join(bin, program), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, said)
	}
}

func (c *Cluster) execute(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // The statement's own error matters.
	_, err = conn.Exec(ctx, statement)
	return err
}

// startTimeout bounds every step of starting and stopping a cluster; on a loaded machine initdb takes seconds.
const startTimeout = 2 * time.Minute
