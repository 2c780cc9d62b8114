package sqlite

import (
	"errors"
	"fmt"

	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

// writer owns the one connection that writes.
type writer struct {
	conn        *sqlite.Conn
	statements  map[string]*statement
	streams     *streams
	names       lifecycle.NamePlaces // Of labels in the rollups.
	highest     map[int64]int64      // Sequence of the messages of a stream, by its row id; none or more than there is, never less.
	buffer      []byte               // Of the row at hand.
	events      []lifecycle.Event    // Of the transaction at hand.
	bodies      []byte               // Of these events.
	checkpoints *checkpoints
	trace       func()                  // Nil for none.
	traceDue    func() lifecycle.Micros // When the trace of a task that ends now is due; nil where none is noted.
	upgrading   bool                    // Tasks are being judged anew; see upgrade.go.
}

func newWriter(conn *sqlite.Conn, c *checkpoints, trace func()) *writer {
	return &writer{conn: conn, statements: map[string]*statement{}, streams: newStreams(), highest: map[int64]int64{}, checkpoints: c, trace: trace}
}

// run does jobs until stop is closed, then closes the connection.
func (w *writer) run(queue <-chan *job, stop <-chan struct{}) {
	defer func() { _ = w.conn.Close() }()
	for {
		select {
		case <-stop:
			return
		case j := <-queue:
			w.work(j, queue)
		}
	}
}

// work does one job, together with those of its kind that wait behind it, and then the job of another kind that it met.
func (w *writer) work(next *job, queue <-chan *job) {
	if !next.taken.CompareAndSwap(false, true) {
		return
	}
	for next != nil {
		if next.do != nil {
			w.alone(next)
			return
		}
		var jobs []*job
		if jobs, next = w.gather(next, queue); jobs[0].write != nil {
			w.together(jobs)
		} else {
			w.store(jobs)
		}
	}
}

// store commits batches together. Where that fails each is tried alone, so that none fails because of another.
func (w *writer) store(jobs []*job) {
	err := w.commit(jobs)
	for _, j := range jobs {
		if err != nil && len(jobs) > 1 {
			j.err = w.commit([]*job{j})
		} else {
			j.err = err
		}
		close(j.done)
	}
}

func (w *writer) commit(jobs []*job) error {
	err := w.appending(func() error { return w.append(jobs) })
	if err == nil {
		w.checkpoints.logged(pagesOf(jobs))
	}
	if err != nil && isUnable(err) {
		return fmt.Errorf("%w: %w", lifecycle.ErrUnable, err)
	}
	return err
}

func (w *writer) alone(j *job) {
	j.err = j.do(w)
	close(j.done)
}

// transaction runs f and commits what it did, or nothing.
func (w *writer) transaction(f func() error) error {
	if err := w.statement(`BEGIN IMMEDIATE`).exec(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err := f()
	if err == nil {
		if err = w.statement(`COMMIT`).exec(); err == nil {
			w.traced()
			return nil
		}
		err = fmt.Errorf("commit: %w", err)
	}
	w.streams.forget()
	w.names.ForgetAll()
	clear(w.highest)
	if !w.conn.AutocommitEnabled() {
		err = errors.Join(err, w.statement(`ROLLBACK`).exec())
	}
	return err
}

func (w *writer) traced() {
	if w.trace != nil {
		w.trace()
	}
}

// statement returns the prepared statement of a constant query.
func (w *writer) statement(query string) *statement {
	w.traced()
	s := w.statements[query]
	if s == nil {
		s = prepare(w.conn, query)
		if s.err != nil {
			return s
		}
		w.statements[query] = s
	}
	s.arg = 0 // Who had it before may have given it values and not run it.
	return s
}
