package postgres_test

import (
	"testing"

	"fleetglass/internal/testkit"
	"fleetglass/store/postgres"
	"fleetglass/store/storetest"
)

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) storetest.Store { return open(t, testkit.Postgres(t)) })
}

func TestReopen(t *testing.T) {
	t.Parallel()
	storetest.Reopen(t, func(t testing.TB) func() storetest.Store {
		url := testkit.Postgres(t)
		return func() storetest.Store { return open(t, url) }
	})
}

func TestShare(t *testing.T) {
	t.Parallel()
	storetest.Share(t, func(t testing.TB) func() storetest.Store {
		url := testkit.Postgres(t)
		return func() storetest.Store { return open(t, url) }
	})
}
