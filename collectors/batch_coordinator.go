package collectors

import (
	"context"
	"slices"
	"sync"
	"time"

	"fleetglass/lifecycle"
)

// epochWait is how long a participant waits for the others before it goes on without them.
const epochWait = 500 * time.Millisecond

// BatchCoordinator keeps the collectors of one process in step while they have a backlog. The lines about one task lie in several capture
// streams at about the same time. In each epoch every participant with a backlog takes its lines up to one common time, and all of them
// are committed together: a task that is done is then written once, and not once for each source. Participants without a backlog do not
// take part and commit what they have at once. The order in which lines are stored never changes the truth; this only saves work.
type BatchCoordinator struct {
	appender lifecycle.Appender
	events   slicePool[lifecycle.Event]

	mu           sync.Mutex
	participants []*participant
	forming      *epoch // Nil when nobody waits.
}

// NewBatchCoordinator returns a coordinator without participants, whose epochs are committed to the appender.
func NewBatchCoordinator(appender lifecycle.Appender) *BatchCoordinator {
	return &BatchCoordinator{appender: appender}
}

// participant is one collector's part in a [BatchCoordinator].
type participant struct {
	coordinator *BatchCoordinator
	due         bool // It had a backlog when it last read, or has not said yet, so that it is worth waiting for.
	here        bool // It is in the epoch that is forming.
}

// epoch is one step of the participants together.
type epoch struct {
	open  chan struct{} // Closed when the epoch is complete; then cut is known.
	cut   lifecycle.Micros
	parts int // Participants that have not handed in what they took.

	batches []lifecycle.Batch
	done    chan struct{} // Closed when they were committed, or not.
	err     error
}

// join adds a participant. On a nil coordinator it returns nil, which is alone in every epoch.
func (p *BatchCoordinator) join() *participant {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := &participant{coordinator: p, due: true}
	p.participants = append(p.participants, m)
	return m
}

// leave ends the participation.
func (m *participant) leave() {
	if m == nil {
		return
	}
	m.coordinator.mu.Lock()
	defer m.coordinator.mu.Unlock()
	m.coordinator.participants = slices.DeleteFunc(m.coordinator.participants, func(o *participant) bool { return o == m })
	m.coordinator.completeIfAll()
}

// idle says that the participant has no backlog: nobody waits for it.
func (m *participant) idle() {
	if m == nil {
		return
	}
	m.coordinator.mu.Lock()
	defer m.coordinator.mu.Unlock()
	m.due = false
	m.coordinator.completeIfAll()
}

// next waits for the other participants with a backlog. upTo is the time of the last line that the caller has in hand, and more follow. It
// returns the epoch, which the caller must hand a batch to, if need be an empty one; nil means that there is nothing to wait for.
func (m *participant) next(ctx context.Context, upTo lifecycle.Micros) *epoch {
	if m == nil {
		return nil
	}
	r := m.enter(upTo)
	timer := time.NewTimer(epochWait)
	defer timer.Stop()
	select {
	case <-r.open:
	case <-timer.C:
		m.coordinator.complete(r)
	case <-ctx.Done():
		m.coordinator.complete(r)
	}
	return r
}

func (m *participant) enter(upTo lifecycle.Micros) *epoch {
	p := m.coordinator
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forming == nil {
		p.forming = &epoch{open: make(chan struct{}), done: make(chan struct{}), cut: upTo}
	}
	r := p.forming
	r.parts++
	r.cut = min(r.cut, upTo)
	m.due, m.here = true, true
	p.completeIfAll()
	return r
}

// completeIfAll completes the epoch when nobody is missing who is worth waiting for. The caller holds the lock.
func (p *BatchCoordinator) completeIfAll() {
	missing := slices.ContainsFunc(p.participants, func(m *participant) bool { return m.due && !m.here })
	if p.forming == nil || missing {
		return
	}
	for _, m := range p.participants {
		m.here = false
	}
	close(p.forming.open)
	p.forming = nil
}

// complete goes on without those who did not come.
func (p *BatchCoordinator) complete(r *epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forming != r {
		return
	}
	for _, m := range p.participants {
		m.due = m.here
	}
	p.completeIfAll()
}

// hand adds what a participant took. last says that nobody is missing: the caller must then call run.
func (m *participant) hand(r *epoch, b lifecycle.Batch) (last bool) {
	m.coordinator.mu.Lock()
	defer m.coordinator.mu.Unlock()
	if !b.Empty() {
		r.batches = append(r.batches, b)
	}
	r.parts--
	return r.parts == 0
}

// run commits what all participants took. It returns the number of new events.
func (p *BatchCoordinator) run(ctx context.Context, r *epoch) int {
	defer close(r.done)
	if len(r.batches) == 0 {
		return 0
	}
	events := 0
	for _, b := range r.batches {
		events += len(b.Events)
	}
	joined := lifecycle.Batch{Events: p.events.take(events)}
	for _, b := range r.batches {
		joined.Add(b)
	}
	done, err := p.appender.Append(ctx, joined)
	if err == nil {
		p.events.give(joined.Events)
	}
	r.err, r.batches = err, nil
	return done.New
}

// commit hands in what a participant took and returns when all of the epoch is committed. The new events are told to the participant that
// came last.
func (m *participant) commit(ctx context.Context, r *epoch, b lifecycle.Batch) (int, error) {
	if m.hand(r, b) {
		n := m.coordinator.run(ctx, r)
		return n, r.err
	}
	select {
	case <-r.done:
		return 0, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// withdraw hands in nothing, and does not wait for the others. Where it comes last it returns the number of new events.
func (m *participant) withdraw(ctx context.Context, r *epoch) int {
	if r == nil || !m.hand(r, lifecycle.Batch{}) {
		return 0
	}
	return m.coordinator.run(ctx, r)
}
