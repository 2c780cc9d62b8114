package postgres_test

import (
	"context"
	"testing"

	"fleetglass/internal/testkit"
	"fleetglass/store/postgres"
	"fleetglass/store/storetest"

	"github.com/jackc/pgx/v5"
)

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, TaskTraces: 1})
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

func TestKill(t *testing.T) {
	storetest.Kill(t, storetest.Victim{
		Create: func(t testing.TB) string { return testkit.Postgres(t) },
		Open: func(ctx context.Context, address string, step func()) (storetest.Store, error) {
			return postgres.Open(ctx, postgres.Config{URL: address, Tracer: tracer(step)})
		},
	})
}

// tracer is called before and after every statement.
type tracer func()

func (f tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	f()
	return ctx
}
func (f tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) { f() }
func (f tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	f()
	return ctx
}
func (f tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { f() }
func (f tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     { f() }
