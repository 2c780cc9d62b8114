package sqlite

import (
	"os"
	"testing"

	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite/sqlitex"
)

// Only the checkpoints keep the log short here.
func TestTheLogIsBegunAnewWhileTheStoreIsBusy(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	err := s.submit(t.Context(), &job{do: func(w *writer) error {
		return sqlitex.ExecuteTransient(w.conn, `PRAGMA wal_autocheckpoint = 0`, nil)
	}})
	if err != nil {
		t.Fatal(err)
	}
	const all = 10 * checkpointPages
	seq := uint64(0)
	for logged := 0; logged < all; {
		var b lifecycle.Batch
		for range 100 {
			seq++
			b.Events = append(b.Events, published(lifecycle.NewEventID("task", lifecycle.EventID(seq).String()).String(), seq).Events...)
		}
		if _, err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		logged += pagesOf([]*job{{batch: &b}})
		info, err := os.Stat(s.cfg.Path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		if pages := info.Size() / pageSize; pages > all/2 {
			t.Fatalf("the log has %d pages after about %d were written; want at most %d", pages, logged, all/2)
		}
	}
}
