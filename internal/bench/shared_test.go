//go:build linux

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shared is what several rows use and the first one makes.
type shared struct {
	root     string // Of the directories of things made here.
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

func (s *shared) took(name string, d time.Duration) {
	s.spent = append(s.spent, fmt.Sprintf("%s %.0f s", name, d.Seconds()))
}

func (s *shared) times() string { return "took: " + strings.Join(s.spent, ", ") }
