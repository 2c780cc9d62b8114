package main

import (
	"os"
	"testing"

	"fleetglass/internal/testkit"
)

// A backup is a copy of the data directory, taken while the program is stopped. It goes on elsewhere: with what it knew, and with what its broker held.
func TestABackupGoesOnOnAnotherMachine(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	r := start(t, cfg)
	connectAgent(t, r.AgentsURL()).work("before-1")
	r.completed("before-1")
	r.end()

	restored := settings(t)
	if err := os.CopyFS(restored.DataDir, os.DirFS(cfg.DataDir)); err != nil {
		t.Fatal(err)
	}
	second := start(t, restored)
	if got := second.completed("before-1"); got.Attempts != 2 {
		t.Errorf("the restored trace: %+v", got)
	}
	connectAgent(t, second.AgentsURL()).work("after-1")
	second.completed("after-1")
	testkit.Eventually(t, patience, func() error { return second.get("/readyz", &struct{}{}) })
}

// What the program writes belongs to nobody else on the machine.
func TestDataIsForNobodyElse(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	r := start(t, cfg)
	connectAgent(t, r.AgentsURL()).work("private-1")
	r.completed("private-1")
	for _, name := range worldReadable(t, cfg.DataDir) {
		t.Errorf("others may read %s", name)
	}
}

// worldReadable are the files of a directory that others can reach: a closed directory closes what is in it.
func worldReadable(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			out = append(out, entry.Name()+" "+info.Mode().String())
		}
	}
	return out
}
