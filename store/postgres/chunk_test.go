package postgres_test

import (
	"testing"

	"fleetglass/internal/testkit"
	"fleetglass/store/storetest"

	"github.com/jackc/pgx/v5"
)

func TestChunksReadLikeRows(t *testing.T) {
	t.Parallel()
	storetest.Chunks(t, func(t *testing.T) (storetest.Store, func() []storetest.Chunk) {
		url := testkit.Postgres(t)
		return open(t, url), func() []storetest.Chunk {
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context()) //nolint:errcheck // Only read from.
			rows, err := conn.Query(t.Context(), `SELECT at, id, chunk FROM events ORDER BY at, id`)
			if err != nil {
				t.Fatal(err)
			}
			var c storetest.Chunk
			var out []storetest.Chunk
			if _, err := pgx.ForEachRow(rows, []any{&c.Last.At, &c.Last.ID, &c.Body}, func() error { out = append(out, c); return nil }); err != nil {
				t.Fatal(err)
			}
			return out
		}
	})
}
