package sqlite_test

import (
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
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
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
