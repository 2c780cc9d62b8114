package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"
)

// checkpoints copies what was committed from the log (WAL) into the database file, on a connection of its own, so that commits do not wait
// for it. What is committed meanwhile is a short rest, which the writer copies: only when nothing is left does the next commit begin the
// log anew. A checkpoint that fails, or that readers of an older state hold back, is made up for by the next one, or at the latest by the
// writer's own (wal_autocheckpoint).
type checkpoints struct {
	conn  *sqlite.Conn
	due   chan struct{} // Holds one when the log is long enough.
	pages int           // About how many were logged since the last one was due; the writer's.
}

// The pages of the log are estimated, because SQLite does not tell their number for nothing: so many for each commit, and for each write in it, one more for so many
// events, and those of payloads. With batches of 1 to 8,000 events that was between half and twice of what was logged.
const (
	checkpointPages = 3000
	pagesPerCommit  = 10
	pagesPerWrite   = 10
	eventsPerPage   = 4
)

func pagesOf(jobs []*job) int {
	events, bytes := 0, 0
	for _, j := range jobs {
		events += len(j.batch.Events)
		for i := range j.batch.Payloads {
			bytes += len(j.batch.Payloads[i].Body)
		}
	}
	return pagesPerCommit + events/eventsPerPage + bytes/pageSize
}

func newCheckpoints(conn *sqlite.Conn) *checkpoints {
	return &checkpoints{conn: conn, due: make(chan struct{}, 1)}
}

// logged notes pages that the writer committed.
func (c *checkpoints) logged(pages int) {
	if c.pages += pages; c.pages < checkpointPages {
		return
	}
	select {
	case c.due <- struct{}{}:
		c.pages = 0
	default: // The last one is not over yet.
	}
}

// run makes checkpoints until the store is closed, then closes the connection.
func (c *checkpoints) run(s *Store) {
	defer func() { _ = c.conn.Close() }()
	for {
		select {
		case <-s.stop:
			return
		case <-c.due:
		}
		if checkpoint(c.conn) == nil {
			_ = s.submit(context.Background(), &job{do: func(w *writer) error { return checkpoint(w.conn) }})
		}
	}
}

// checkpoint copies what it can without waiting for anybody.
func checkpoint(conn *sqlite.Conn) error {
	return prepare(conn, `PRAGMA wal_checkpoint(PASSIVE)`).exec()
}
