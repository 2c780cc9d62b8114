package postgres

import (
	"context"
	"slices"
	"sync"

	"fleetglass/lifecycle"
)

// mergeLimit is the number of events up to which waiting batches are merged into one transaction.
const mergeLimit = 8000

// job is a batch that waits for its commit.
type job struct {
	ctx    context.Context
	batch  lifecycle.Batch
	result lifecycle.Appended
	err    error
	done   chan struct{} // Closed at the end.
}

// commitQueue lets one caller at a time commit, its own batch and those that wait: one transaction costs less than several that wait for
// each other's rows.
type commitQueue struct {
	commit func(context.Context, []*job) error
	busy   chan struct{} // Full while somebody commits.

	mu      sync.Mutex
	waiting []*job
}

func newCommitQueue(commit func(context.Context, []*job) error) *commitQueue {
	return &commitQueue{commit: commit, busy: make(chan struct{}, 1)}
}

// run commits a batch, or waits until another caller has done it. A caller whose context ends takes back a batch that was not begun.
func (t *commitQueue) run(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	j := &job{ctx: ctx, batch: b, done: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, j)
	t.mu.Unlock()
	select {
	case t.busy <- struct{}{}:
		if t.take(j) {
			t.commitTogether(t.takeMore(j))
		}
		<-t.busy
	case <-j.done:
	case <-ctx.Done():
		if t.take(j) {
			return lifecycle.Appended{}, ctx.Err()
		}
	}
	<-j.done
	return j.result, j.err
}

// take reports whether a job was still waiting, and no longer is.
func (t *commitQueue) take(j *job) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, j)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	return i >= 0
}

// takeMore takes the jobs that may be committed together with the first.
func (t *commitQueue) takeMore(first *job) []*job {
	t.mu.Lock()
	defer t.mu.Unlock()
	jobs, events := []*job{first}, len(first.batch.Events)
	for len(t.waiting) > 0 && events+len(t.waiting[0].batch.Events) <= mergeLimit {
		events += len(t.waiting[0].batch.Events)
		jobs, t.waiting = append(jobs, t.waiting[0]), slices.Delete(t.waiting, 0, 1)
	}
	return jobs
}

// commitTogether commits jobs together. Where that fails each is tried by itself, so that none fails because of another.
func (t *commitQueue) commitTogether(jobs []*job) {
	ctx := jobs[0].ctx
	err := t.commit(ctx, jobs)
	apart := err != nil && len(jobs) > 1 && (ctx.Err() != nil || !isUnable(err))
	for i, j := range jobs {
		j.err = err
		if apart {
			j.err = t.commit(j.ctx, jobs[i:i+1])
		}
		close(j.done)
	}
}
