package collectors

import (
	"context"
	"slices"
	"sync"
	"time"

	"fleetglass/lifecycle"
)

// paceWait is how long a member waits for the others before it goes on without them.
const paceWait = 500 * time.Millisecond

// Pace keeps the collectors of one process in step while they have a backlog. The lines about one task lie in several capture streams
// at about the same time. In each round every member with a backlog takes its lines up to one common time, and all of them are
// committed together: a task that is done is then written once, and not once for each source. Members without a backlog do not take
// part and commit what they have at once. The order in which lines are stored never changes the truth; this only saves work.
type Pace struct {
	appender lifecycle.Appender
	events   spare[lifecycle.Event]

	mu      sync.Mutex
	members []*member
	forming *round // Nil when nobody waits.
}

// NewPace returns a pace without members, whose rounds are committed to the appender.
func NewPace(appender lifecycle.Appender) *Pace { return &Pace{appender: appender} }

// member is one collector's part in a pace.
type member struct {
	pace *Pace
	due  bool // It had a backlog when it last read, or has not said yet, so that it is worth waiting for.
	here bool // It is in the round that is forming.
}

// round is one step of the members together.
type round struct {
	open  chan struct{} // Closed when the round is complete; then cut is known.
	cut   lifecycle.Micros
	parts int // Members that have not handed in what they took.

	batches []lifecycle.Batch
	done    chan struct{} // Closed when they were committed, or not.
	err     error
}

// join adds a member. On a nil pace it returns nil, which is alone in every round.
func (p *Pace) join() *member {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := &member{pace: p, due: true}
	p.members = append(p.members, m)
	return m
}

// leave ends the membership.
func (m *member) leave() {
	if m == nil {
		return
	}
	m.pace.mu.Lock()
	defer m.pace.mu.Unlock()
	m.pace.members = slices.DeleteFunc(m.pace.members, func(o *member) bool { return o == m })
	m.pace.completeIfAll()
}

// idle says that the member has no backlog: nobody waits for it.
func (m *member) idle() {
	if m == nil {
		return
	}
	m.pace.mu.Lock()
	defer m.pace.mu.Unlock()
	m.due = false
	m.pace.completeIfAll()
}

// next waits for the other members with a backlog. upTo is the time of the last line that the caller has in hand, and more follow. It
// returns the round, which the caller must hand a batch to, if need be an empty one; nil means that there is nothing to wait for.
func (m *member) next(ctx context.Context, upTo lifecycle.Micros) *round {
	if m == nil {
		return nil
	}
	r := m.enter(upTo)
	timer := time.NewTimer(paceWait)
	defer timer.Stop()
	select {
	case <-r.open:
	case <-timer.C:
		m.pace.complete(r)
	case <-ctx.Done():
		m.pace.complete(r)
	}
	return r
}

func (m *member) enter(upTo lifecycle.Micros) *round {
	p := m.pace
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forming == nil {
		p.forming = &round{open: make(chan struct{}), done: make(chan struct{}), cut: upTo}
	}
	r := p.forming
	r.parts++
	r.cut = min(r.cut, upTo)
	m.due, m.here = true, true
	p.completeIfAll()
	return r
}

// completeIfAll completes the round when nobody is missing who is worth waiting for. The caller holds the lock.
func (p *Pace) completeIfAll() {
	missing := slices.ContainsFunc(p.members, func(m *member) bool { return m.due && !m.here })
	if p.forming == nil || missing {
		return
	}
	for _, m := range p.members {
		m.here = false
	}
	close(p.forming.open)
	p.forming = nil
}

// complete goes on without those who did not come.
func (p *Pace) complete(r *round) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forming != r {
		return
	}
	for _, m := range p.members {
		m.due = m.here
	}
	p.completeIfAll()
}

// hand adds what a member took. last says that nobody is missing: the caller must then call run.
func (m *member) hand(r *round, b lifecycle.Batch) (last bool) {
	m.pace.mu.Lock()
	defer m.pace.mu.Unlock()
	if !b.Empty() {
		r.batches = append(r.batches, b)
	}
	r.parts--
	return r.parts == 0
}

// run commits what all members took. It returns the number of new events.
func (p *Pace) run(ctx context.Context, r *round) int {
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

// commit hands in what a member took and returns when all of the round is committed. The new events are told to the member that came
// last.
func (m *member) commit(ctx context.Context, r *round, b lifecycle.Batch) (int, error) {
	if m.hand(r, b) {
		n := m.pace.run(ctx, r)
		return n, r.err
	}
	select {
	case <-r.done:
		return 0, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// withdraw hands in nothing, and does not wait for the others.
func (m *member) withdraw(ctx context.Context, r *round) {
	if r != nil && m.hand(r, lifecycle.Batch{}) {
		m.pace.run(ctx, r)
	}
}
