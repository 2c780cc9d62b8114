package dirlock_test

import (
	"strings"
	"testing"

	"fleetglass/internal/dirlock"
)

func TestADirectoryHasOneHolderAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := dirlock.Take(dir, "x.lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dirlock.Take(dir, "x.lock"); err == nil || !strings.Contains(err.Error(), dir+" is in use by another process") {
		t.Errorf("the second holder got %v, want an error that names the directory", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := dirlock.Take(dir, "x.lock")
	if err != nil {
		t.Fatalf("after the first holder let go: %v", err)
	}
	_ = again.Close()
}
