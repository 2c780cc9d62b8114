package sqlite

import (
	"slices"
	"testing"

	"fleetglass/store/internal/rowcodec"
	"fleetglass/store/storetest"
)

func TestChunksReadLikeRows(t *testing.T) {
	t.Parallel()
	storetest.Chunks(t, func(t *testing.T) (storetest.Store, func() []storetest.Chunk) {
		s := openStore(t)
		return s, func() (out []storetest.Chunk) {
			err := s.submit(t.Context(), &job{do: func(w *writer) error {
				return w.statement(`SELECT at, id, chunk FROM events ORDER BY at, id`).each(func(r *statement) error {
					out = append(out, storetest.Chunk{Last: rowcodec.Position{At: r.getInt(), ID: r.getInt()}, Body: slices.Clone(r.getBlob())})
					return nil
				})
			}})
			if err != nil {
				t.Error(err)
			}
			return out
		}
	})
}
