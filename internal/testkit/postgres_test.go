//go:build unix

package testkit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

func count(t *testing.T, url string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func run(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func TestEveryCallGivesAnEmptyDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	a, b := Postgres(t), Postgres(t)
	run(t, a, "CREATE TABLE mine (id int)")
	if got := count(t, a); got != 1 {
		t.Errorf("tables in the first database: got %d, want 1", got)
	}
	if got := count(t, b); got != 0 {
		t.Errorf("tables in the second database: got %d, want 0", got)
	}
}

func TestAKilledClusterStartsAgainWithItsData(t *testing.T) {
	t.Parallel()
	c := PostgresCluster(t)
	url := c.Database(t)
	run(t, url, "CREATE TABLE kept (id int)")
	c.Kill(t)
	c.Start(t)
	if got := count(t, url); got != 1 {
		t.Errorf("tables after kill and start: got %d, want 1", got)
	}
}
