package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

var errRefused = errors.New("refused")

// batchOf has n events; a negative n makes one that the tests' commits refuse.
func batchOf(n int) lifecycle.Batch {
	if n < 0 {
		return lifecycle.Batch{Events: make([]lifecycle.Event, -n), Watermarks: map[string]string{"refuse": ""}}
	}
	return lifecycle.Batch{Events: make([]lifecycle.Event, n)}
}

// line is a place to wait in: the first commit is held until all the others wait.
type line struct {
	t       *testing.T
	queue   *commitQueue
	held    chan struct{}
	release chan struct{}

	mu      sync.Mutex
	commits []int // Jobs of each commit.
}

func newLine(t *testing.T) *line {
	l := &line{t: t, held: make(chan struct{}), release: make(chan struct{})}
	l.queue = newCommitQueue(l.commit)
	return l
}

func (l *line) commit(ctx context.Context, jobs []*job) error {
	l.mu.Lock()
	l.commits = append(l.commits, len(jobs))
	first := len(l.commits) == 1
	l.mu.Unlock()
	if first {
		close(l.held)
		<-l.release
	}
	for _, j := range jobs {
		if j.batch.Watermarks != nil {
			return errRefused
		}
		j.result.New = len(j.batch.Events)
	}
	return ctx.Err()
}

// run commits batches of the given sizes, all but the first of which wait in line, and returns what became of each.
func (l *line) run(sizes ...int) []string {
	out := make([]string, len(sizes))
	var work sync.WaitGroup
	for i, n := range sizes {
		work.Go(func() {
			done, err := l.queue.run(l.t.Context(), batchOf(n))
			out[i] = fmt.Sprint(done.New, err)
		})
		if i == 0 {
			<-l.held
		} else {
			l.waitFor(i)
		}
	}
	close(l.release)
	work.Wait()
	return out
}

// waitFor waits until n jobs are in line.
func (l *line) waitFor(n int) {
	l.t.Helper()
	testkit.Eventually(l.t, 10*time.Second, func() error {
		l.queue.mu.Lock()
		defer l.queue.mu.Unlock()
		if got := len(l.queue.waiting); got != n {
			return fmt.Errorf("%d jobs wait, want %d", got, n)
		}
		return nil
	})
}

func (l *line) expect(got, want []string, commits ...int) {
	l.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		l.t.Errorf("results: got %v, want %v", got, want)
	}
	if fmt.Sprint(l.commits) != fmt.Sprint(commits) {
		l.t.Errorf("jobs of each commit: got %v, want %v", l.commits, commits)
	}
}

func TestBatchesThatWaitAreCommittedTogether(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.expect(l.run(1, 2, 3, 4), []string{"1 <nil>", "2 <nil>", "3 <nil>", "4 <nil>"}, 1, 3)
}

func TestATransactionIsNotMergedBeyondItsLimit(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	whole := fmt.Sprint(mergeLimit, " <nil>")
	l.expect(l.run(1, mergeLimit, mergeLimit), []string{"1 <nil>", whole, whole}, 1, 1, 1)
}

func TestABatchThatIsRefusedFailsAlone(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.expect(l.run(1, 2, -3, 4), []string{"1 <nil>", "2 <nil>", "0 refused", "4 <nil>"}, 1, 3, 1, 1, 1)
}

func TestACallerThatGivesUpLeavesTheLine(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	first, gone := make(chan error), make(chan error)
	go func() { _, err := l.queue.run(t.Context(), batchOf(1)); first <- err }()
	<-l.held
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := l.queue.run(ctx, batchOf(2)); gone <- err }()
	l.waitFor(1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("append whose context ended: got %v, want canceled", err)
	}
	close(l.release)
	if err := <-first; err != nil {
		t.Errorf("append before it: %v", err)
	}
	l.expect(nil, nil, 1)
}
