package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// updateGolden is the environment variable under which [Golden] writes instead of compares.
const updateGolden = "UPDATE_GOLDEN"

// Updating reports whether golden files are being written.
func Updating() bool { return os.Getenv(updateGolden) != "" }

// Golden compares a value, as indented JSON, with the file testdata/<name>. Run with UPDATE_GOLDEN=1 to write the file.
func Golden(t testing.TB, name string, got any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if Updating() {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s: %s", path, firstDifference(string(want), b.String()))
	}
}

// firstDifference shows the first line that differs.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := lineAt(w, i), lineAt(g, i)
		if a != b {
			return fmt.Sprintf("line %d differs:\n- %s\n+ %s", i+1, a, b)
		}
	}
	return "no line differs"
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}

// LoadGolden reads the file testdata/<name> into v.
func LoadGolden(t testing.TB, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}
