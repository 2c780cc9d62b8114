package migrate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"fleetglass/store/internal/migrate"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// database lends a SQLite connection: a real database, and the smallest one.
type database struct{ conn *sqlite.Conn }

func (d database) Exclusively(_ context.Context, f func(migrate.Session) error) (err error) {
	end, err := sqlitex.ImmediateTransaction(d.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	return f(d)
}

func (d database) Exec(_ context.Context, script string) error {
	for strings.TrimSpace(script) != "" {
		stmt, rest, err := d.conn.PrepareTransient(script)
		if err != nil {
			return err
		}
		for more := stmt != nil; more && err == nil; {
			more, err = stmt.Step()
		}
		if stmt != nil {
			err = errors.Join(err, stmt.Finalize())
		}
		if err != nil {
			return err
		}
		script = script[len(script)-rest:]
	}
	return nil
}

func (d database) Records(_ context.Context, query string) ([]migrate.Record, error) {
	var out []migrate.Record
	err := sqlitex.ExecuteTransient(d.conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		out = append(out, migrate.Record{Number: s.ColumnInt(0), Name: s.ColumnText(1), Checksum: s.ColumnText(2)})
		return nil
	}})
	return out, err
}

func open(t *testing.T) database {
	t.Helper()
	conn, err := sqlite.OpenConn(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return database{conn}
}

func read(t *testing.T, files map[string]string) []migrate.File {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, sql := range files {
		fsys["m/"+name] = &fstest.MapFile{Data: []byte(sql)}
	}
	out, err := migrate.Read(fsys, "m")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	first  = "CREATE TABLE a (x INTEGER);\nCREATE INDEX a_x ON a (x);\n"
	second = "ALTER TABLE a ADD COLUMN y INTEGER;"
)

func tables(t *testing.T, d database) []string {
	t.Helper()
	var out []string
	err := sqlitex.ExecuteTransient(d.conn, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error { out = append(out, s.ColumnText(0)); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRunAppliesEachFileOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	one, both := read(t, map[string]string{"0001_a.sql": first}), read(t, map[string]string{"0001_a.sql": first, "0002_y.sql": second})
	for _, step := range []struct {
		files []migrate.File
		want  int
	}{{one, 1}, {one, 0}, {both, 1}, {both, 0}} {
		got, err := migrate.Run(t.Context(), d, step.files)
		if err != nil || got != step.want {
			t.Fatalf("run %d files: applied %d, %v; want %d", len(step.files), got, err, step.want)
		}
	}
	if err := d.Exec(t.Context(), "INSERT INTO a (x, y) VALUES (1, 2)"); err != nil {
		t.Errorf("the second migration left no column: %v", err)
	}
}

func TestRunRefusesADatabaseOfANewerProgram(t *testing.T) {
	t.Parallel()
	d := open(t)
	if _, err := migrate.Run(t.Context(), d, read(t, map[string]string{"0001_a.sql": first, "0002_y.sql": second})); err != nil {
		t.Fatal(err)
	}
	_, err := migrate.Run(t.Context(), d, read(t, map[string]string{"0001_a.sql": first}))
	if !errors.Is(err, migrate.ErrNewer) || !strings.Contains(err.Error(), "migration 2 y") {
		t.Errorf("got %v, want ErrNewer that names migration 2 y", err)
	}
}

func TestRunRefusesAnEditedMigration(t *testing.T) {
	t.Parallel()
	d := open(t)
	if _, err := migrate.Run(t.Context(), d, read(t, map[string]string{"0001_a.sql": first})); err != nil {
		t.Fatal(err)
	}
	_, err := migrate.Run(t.Context(), d, read(t, map[string]string{"0001_a.sql": second}))
	if !errors.Is(err, migrate.ErrChanged) || !strings.Contains(err.Error(), "1 a; go on with the program that wrote this database, or begin with an empty one") {
		t.Errorf("got %v, want ErrChanged that says what to do", err)
	}
}

func TestRunKeepsNothingOfAFailedRun(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, err := migrate.Run(t.Context(), d, read(t, map[string]string{"0001_a.sql": first, "0002_bad.sql": "CREATE TABLE b (x); nonsense;"}))
	if err == nil || !strings.Contains(err.Error(), "apply 2 bad") {
		t.Errorf("got %v, want an error that names migration 2 bad", err)
	}
	if got := tables(t, d); len(got) != 0 {
		t.Errorf("tables after a failed run: %v, want none", got)
	}
}

func TestReadRefusesOddNames(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"0002_a.sql"}, {"0001_a.sql", "0003_b.sql"}, {"0001_a.sql", "0001_b.sql"}, {"a.sql"}, {"0001_A'.sql"}, {"README"}} {
		fsys := fstest.MapFS{}
		for _, n := range names {
			fsys["m/"+n] = &fstest.MapFile{Data: []byte(first)}
		}
		if got, err := migrate.Read(fsys, "m"); err == nil {
			t.Errorf("read %v: got %v, want an error", slices.Sorted(slices.Values(names)), got)
		}
	}
}
