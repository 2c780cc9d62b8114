package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

// mergeLimit is the number of events up to which waiting batches are merged into one transaction.
const mergeLimit = 8000

// job is something for the writer to do: to store a batch, or anything else that needs the writing connection.
type job struct {
	ctx    context.Context
	batch  *lifecycle.Batch
	do     func(*writer) error // Instead of a batch.
	taken  atomic.Bool         // By the writer, or by a caller that gave up.
	done   chan struct{}
	result lifecycle.Appended
	err    error
}

// submit hands a job to the writer and waits for its end. A caller whose context ends takes back a job that was not begun.
func (s *Store) submit(ctx context.Context, j *job) error {
	j.ctx, j.done = ctx, make(chan struct{})
	if s.closed.Load() {
		return lifecycle.ErrClosed
	}
	select {
	case s.queue <- j:
	case <-s.stop:
		return lifecycle.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-j.done
	}
	return j.err
}

// writer owns the one connection that writes.
type writer struct {
	conn        *sqlite.Conn
	statements  map[string]*statement
	streams     *streams
	highest     map[int64]int64   // Sequence of the messages of a stream, by its row id; none or more than there is, never less.
	buffer      []byte            // Of the row at hand.
	events      []lifecycle.Event // Of the transaction at hand.
	bodies      []byte            // Of these events.
	checkpoints *checkpoints
	trace       func() // Nil for none.
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

// work does one job; where that is a batch, together with the batches that wait behind it.
func (w *writer) work(first *job, queue <-chan *job) {
	if !first.taken.CompareAndSwap(false, true) {
		return
	}
	if first.do != nil {
		w.alone(first)
		return
	}
	jobs, other := w.gather(first, queue)
	w.store(jobs)
	if other != nil {
		w.alone(other)
	}
}

// gather adds the batches that wait already. A job of another kind ends it and is returned.
func (w *writer) gather(first *job, queue <-chan *job) (jobs []*job, other *job) {
	jobs = []*job{first}
	for n := len(first.batch.Events); n < mergeLimit; {
		select {
		case j := <-queue:
			switch {
			case !j.taken.CompareAndSwap(false, true):
			case j.do != nil:
				return jobs, j
			default:
				jobs = append(jobs, j)
				n += len(j.batch.Events)
			}
		default:
			return jobs, nil
		}
	}
	return jobs, nil
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
	err := w.transaction(func() error { return w.append(jobs) })
	if err == nil {
		w.checkpoints.logged(pagesOf(jobs))
	}
	if err != nil && isUnable(err) {
		return fmt.Errorf("%w: %w", lifecycle.ErrUnable, err)
	}
	return err
}

// isUnable reports whether an error tells of the disk, the memory or other processes, and not of what was to be written.
func isUnable(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull, sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultNoMem, sqlite.ResultBusy,
		sqlite.ResultLocked, sqlite.ResultPerm, sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultProtocol:
		return true
	}
	return false
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
	return s
}
