package migrate_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "note migrations that are new")

// landedFile has a line for every migration of both databases: its file and its SHA-256.
const landedFile = "testdata/landed.sum"

// TestALandedMigrationIsNeverEdited holds migrations to what they were when they landed. Databases that have applied one would refuse the
// program, and others would get another schema.
func TestALandedMigrationIsNeverEdited(t *testing.T) {
	t.Parallel()
	now := map[string][]string{}
	var lines []string
	for _, store := range []string{"sqlite", "postgres"} {
		files, err := filepath.Glob("../../" + store + "/migrations/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("migrations of %s: %v", store, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			now[store] = append(now[store], filepath.Base(file))
			lines = append(lines, fmt.Sprintf("%s/%s %x", store, filepath.Base(file), sha256.Sum256(text)))
		}
	}
	if !slices.Equal(now["sqlite"], now["postgres"]) {
		t.Errorf("the databases have other migrations: %v, %v; want the same numbers and names", now["sqlite"], now["postgres"])
	}
	compareLanded(t, lines)
}

func compareLanded(t *testing.T, lines []string) {
	t.Helper()
	text, err := os.ReadFile(landedFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	landed := strings.Fields(string(text))
	for i := 0; i+1 < len(landed); i += 2 {
		if line := landed[i] + " " + landed[i+1]; !slices.Contains(lines, line) {
			t.Errorf("%s was edited or removed after it had landed: write a new migration instead", landed[i])
		}
	}
	if t.Failed() {
		return
	}
	want := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(landedFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s does not have the new migrations: run this test with -update", landedFile)
	}
}
