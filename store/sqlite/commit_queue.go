package sqlite

import (
	"context"
	"fleetglass/lifecycle"
	"sync/atomic"
)

// mergeLimit is the number of events up to which waiting batches are merged into one transaction.
const mergeLimit = 8000

// job is something for the writer to do: to store a batch, or anything else that needs the writing connection.
type job struct {
	ctx    context.Context
	batch  *lifecycle.Batch
	write  func(*writer) error // Instead of a batch: what is committed together with the writes that wait beside it.
	do     func(*writer) error // Instead of both: anything else.
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

// mostWrites bounds how many writes share a transaction.
const mostWrites = 64

// gather adds the jobs of the first one's kind that wait already. A job of another kind ends it and is returned.
func (w *writer) gather(first *job, queue <-chan *job) (jobs []*job, other *job) {
	jobs = []*job{first}
	for n := first.size(); n < mergeLimit; {
		select {
		case j := <-queue:
			switch {
			case !j.taken.CompareAndSwap(false, true):
			case !j.joins(first):
				return jobs, j
			default:
				jobs = append(jobs, j)
				n += j.size()
			}
		default:
			return jobs, nil
		}
	}
	return jobs, nil
}

// joins reports whether both jobs may be committed together.
func (j *job) joins(other *job) bool {
	return j.do == nil && other.do == nil && (j.write == nil) == (other.write == nil)
}

// size is the share of a transaction that the job takes, in events.
func (j *job) size() int {
	if j.batch == nil {
		return mergeLimit / mostWrites
	}
	return len(j.batch.Events)
}
