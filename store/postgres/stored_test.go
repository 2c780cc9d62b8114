package postgres_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleetglass/internal/testkit"
	"fleetglass/store/storetest"

	"github.com/jackc/pgx/v5"
)

var update = flag.Bool("update", false, "write the stored databases of testdata anew")

// storedDatabase is what the program wrote at some time, and is never written anew without a reason: that what was written then can still be
// read is what it shows. `go test ./store/sqlite ./store/postgres -run StoredDatabase -update` writes both.
const storedDatabase = "testdata/stored.json.gz"

// storedTables are the tables of a stored database. Partitions are no part of it: all events and payloads come back into the default one.
var storedTables = []string{
	"streams", "tasks", "messages", "events", "payloads", "rollups", "rollups_next", "rollups_ended", "quarantine", "gaps", "consumers", "watermarks",
	"reconciliations", "fold_version", "subjects", "decisions", "actions", "effects", "audit", "request_keys", "entries", "follow_ups",
}

// stored is a database as text.
type stored struct {
	Migrations []string          // The files that made its schema.
	Tasks      []string          // Ids of all tasks.
	Tables     map[string]string // What COPY wrote, with the columns' names in the first line.
}

func TestAStoredDatabaseIsUpgraded(t *testing.T) {
	t.Parallel()
	if *update {
		writeStored(t)
	}
	packed, err := os.ReadFile(storedDatabase)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var db stored
	if err := json.NewDecoder(r).Decode(&db); err != nil {
		t.Fatal(err)
	}
	url := testkit.Postgres(t)
	db.restore(t, url)
	storetest.CheckStored(t, open(t, url), db.Tasks)
}

// restore makes the schema of then by its migrations, which never change, and fills it.
func (db stored) restore(t *testing.T, url string) {
	t.Helper()
	conn := connect(t, url)
	run := func(sql string, args ...any) {
		t.Helper()
		if len(args) == 0 {
			args = []any{pgx.QueryExecModeSimpleProtocol}
		}
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	run(`CREATE TABLE schema_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)`)
	for i, file := range db.Migrations {
		script, err := os.ReadFile(filepath.Join("migrations", file))
		if err != nil {
			t.Fatal(err)
		}
		run(string(script))
		run(`INSERT INTO schema_migrations VALUES ($1, $2, $3)`, i+1, strings.TrimSuffix(file[5:], ".sql"), fmt.Sprintf("%x", sha256.Sum256(script)))
	}
	run(`DELETE FROM fold_version`)
	for table, text := range db.Tables {
		columns, _, _ := strings.Cut(text, "\n")
		copyIn := fmt.Sprintf("COPY %s (%s) FROM STDIN WITH (FORMAT csv, HEADER)", table, columns)
		if _, err := conn.PgConn().CopyFrom(t.Context(), strings.NewReader(text), copyIn); err != nil {
			t.Fatalf("restore %s: %v", table, err)
		}
	}
	for _, table := range []string{"streams", "tasks"} {
		run(fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%[1]s', 'id'), (SELECT max(id) FROM %[1]s))`, table))
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

func writeStored(t *testing.T) {
	t.Helper()
	url := testkit.Postgres(t)
	db := stored{Tables: map[string]string{}, Tasks: storetest.FillStored(t, open(t, url))}
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		db.Migrations = append(db.Migrations, filepath.Base(file))
	}
	conn := connect(t, url)
	for _, table := range storedTables {
		var text strings.Builder
		if _, err := conn.PgConn().CopyTo(t.Context(), &text, "COPY (SELECT * FROM "+table+") TO STDOUT WITH (FORMAT csv, HEADER)"); err != nil {
			t.Fatal(err)
		}
		db.Tables[table] = text.String()
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err := json.NewEncoder(z).Encode(db); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(storedDatabase), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(storedDatabase, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
