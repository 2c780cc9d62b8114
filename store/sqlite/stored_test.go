package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleetglass/store/storetest"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

var update = flag.Bool("update", false, "write the stored databases of testdata anew")

// The stored database is what the program wrote at some time, and is never written anew without a reason: that what was written then can
// still be read is what it shows. `go test ./store/sqlite ./store/postgres -run StoredDatabase -update` writes both.
const (
	storedDatabase = "testdata/stored.db.gz"
	storedTasks    = "testdata/stored.tasks"
)

func TestAStoredDatabaseIsUpgraded(t *testing.T) {
	t.Parallel()
	if *update {
		writeStored(t)
	}
	tasks, err := os.ReadFile(storedTasks)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	unpackStored(t, path)
	storetest.CheckStored(t, openAt(t, path), strings.Split(strings.TrimSpace(string(tasks)), "\n"))
}

func unpackStored(t *testing.T, path string) {
	t.Helper()
	packed, err := os.ReadFile(storedDatabase)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, plain, 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeStored(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.db")
	s := openAt(t, path)
	tasks := storetest.FillStored(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	single := filepath.Join(t.TempDir(), "single.db") // Without the log that lies beside the file.
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := sqlitex.ExecuteTransient(conn, "VACUUM INTO ?", &sqlitex.ExecOptions{Args: []any{single}}); err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile(single)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if _, err := z.Write(plain); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{storedDatabase: packed.Bytes(), storedTasks: []byte(strings.Join(tasks, "\n") + "\n")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
