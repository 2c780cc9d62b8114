package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"fleetglass/store/sqlite"
	"fleetglass/store/storetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) storetest.Store { return openAt(t, filepath.Join(t.TempDir(), "store.db")) }

func openAt(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, TaskTraces: 1})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestReopen(t *testing.T) {
	storetest.Reopen(t, func(t testing.TB) func() storetest.Store {
		path := filepath.Join(t.TempDir(), "store.db")
		return func() storetest.Store { return openAt(t, path) }
	})
}

func TestShare(t *testing.T) {
	storetest.Share(t, func(t testing.TB) func() storetest.Store {
		path := filepath.Join(t.TempDir(), "store.db")
		return func() storetest.Store { return openAt(t, path) }
	})
}

func TestKill(t *testing.T) {
	storetest.Kill(t, storetest.Victim{
		Create: func(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") },
		Open: func(ctx context.Context, address string, step func()) (storetest.Store, error) {
			return sqlite.Open(ctx, sqlite.Config{Path: address, Trace: step})
		},
	})
}
