//go:build linux

package torture

import (
	"path/filepath"
	"testing"
	"time"

	"fleetglass/internal/testkit"

	"github.com/jackc/pgx/v5"
)

// The database is killed, restarted, and its connections are cut, and Fleetglass is killed too: everything must be known in the end, exactly.
func TestNothingIsLostWhenTheDatabaseFails(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	cluster := testkit.PostgresCluster(t)
	database := cluster.Database(t)
	b := startBroker(t, r.dir)
	g := newGlass(t, r.dir, "--nats-url", b.url(), "--data-dir", filepath.Join(r.dir, "data"), "--database-url", database)
	g.again()
	g.ready()
	fleet, path := r.startFleet(b.url(), form(100, 600), 12)
	r.databaseFaults(cluster, database, g, form(6, 40))
	r.settle(g, fleet, path, b.url(), postgresAt(database))
}

func (r *run) databaseFaults(cluster *testkit.Cluster, database string, g *glass, times int) {
	r.t.Helper()
	cuts, crashes, stops, kills := 0, 0, 0, 0
	for i := range times {
		r.wait(2 * time.Second)
		switch fault := r.rand.IntN(8); {
		case i == 0, fault < 3:
			cuts += r.cut(database)
		case i == 1, fault < 5:
			crashes++
			cluster.Kill(r.t)
			r.wait(time.Second)
			cluster.Start(r.t)
		case fault < 6:
			stops++
			cluster.Stop(r.t)
			r.wait(time.Second)
			cluster.Start(r.t)
		default:
			kills++
			g.kill()
			g.again()
			g.api()
		}
		if g.ended() {
			r.t.Fatalf("Fleetglass ended: %v\n%s", g.err, g.tail())
		}
	}
	r.note("database connections cut", "%d", cuts)
	r.note("Postgres killed with SIGKILL", "%d times", crashes)
	r.note("Postgres restarted", "%d times", stops)
	r.note("Fleetglass killed with SIGKILL", "%d times", kills)
}

// cut ends every connection to a database and returns how many there were.
func (r *run) cut(database string) int {
	r.t.Helper()
	conn, err := pgx.Connect(r.t.Context(), database)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close(r.t.Context()) //nolint:errcheck // The statement's own error matters.
	var n int
	err = conn.QueryRow(r.t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&n)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}
