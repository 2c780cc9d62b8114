package query

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// queueFor is how many heavy questions may wait for each one that is answered.
const queueFor = 32

// gate lets few heavy questions run at once. The others wait, and meanwhile plain questions find processors and connections free. Those who ask take
// turns: who asks much waits for himself, and delays anybody else by no more than what runs already.
type gate struct {
	atOnce, most int                          // How many may run, and wait.
	who          func(context.Context) string // Who asks; nil for always the same one.

	mu      sync.Mutex
	running map[string]int // By who asks.
	runs    int
	waiting []*waiter         // In the order in which they came.
	turns   map[string]uint64 // When each was let in last, among those since nobody ran or waited.
	turn    uint64
}

// waiter is a heavy question that waits.
type waiter struct {
	who   string
	ready chan error // Gets nil when it may run, or why it will not.
}

func newGate(atOnce int, who func(context.Context) string) *gate {
	if who == nil {
		who = func(context.Context) string { return "" }
	}
	return &gate{atOnce: atOnce, most: atOnce * queueFor, who: who, running: map[string]int{}, turns: map[string]uint64{}}
}

// heavyAtOnce leaves half of the processors to plain questions.
func heavyAtOnce() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// enter waits until a heavy question may run. It errors with [lifecycle.ErrCrowded] where too many wait already, and when ctx is done.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	who := g.who(ctx)
	leave = func() { g.leave(who) }
	w, err := g.admit(who)
	if w == nil {
		return leave, err
	}
	select {
	case err := <-w.ready:
		return leave, err
	case <-ctx.Done():
		if !g.forget(w) && <-w.ready == nil { // It was let in meanwhile.
			leave()
		}
		return nil, ctx.Err()
	}
}

// admit lets a question in at once, or returns what it waits for.
func (g *gate) admit(who string) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs < g.atOnce {
		g.runs++
		g.begin(who)
		return nil, nil
	}
	if len(g.waiting) >= g.most && !g.makeRoom(who) {
		return nil, g.crowded()
	}
	w := &waiter{who: who, ready: make(chan error, 1)}
	g.waiting = append(g.waiting, w)
	return w, nil
}

func (g *gate) crowded() error {
	return fmt.Errorf("%d heavy questions wait: %w", g.most, lifecycle.ErrCrowded)
}

// begin notes that a question of somebody runs. The lock is held.
func (g *gate) begin(who string) {
	g.turn++
	g.running[who]++
	g.turns[who] = g.turn
}

// makeRoom turns away the youngest question of whoever has most of them waiting, unless the one who asks would then have as many. The lock is held.
func (g *gate) makeRoom(who string) bool {
	waits := map[string]int{}
	for _, w := range g.waiting {
		waits[w.who]++
	}
	youngest := -1
	for i, w := range g.waiting {
		if youngest < 0 || waits[w.who] >= waits[g.waiting[youngest].who] {
			youngest = i
		}
	}
	if youngest < 0 || waits[g.waiting[youngest].who] <= waits[who]+1 {
		return false
	}
	g.waiting[youngest].ready <- g.crowded()
	g.waiting = slices.Delete(g.waiting, youngest, youngest+1)
	return true
}

// leave ends a question, and lets in the one whose turn it is.
func (g *gate) leave(who string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running[who]--; g.running[who] == 0 {
		delete(g.running, who)
	}
	if len(g.waiting) == 0 {
		if g.runs--; g.runs == 0 {
			clear(g.turns)
		}
		return
	}
	next := g.next()
	w := g.waiting[next]
	g.waiting = slices.Delete(g.waiting, next, next+1)
	g.begin(w.who)
	w.ready <- nil
}

// next is the oldest question of whoever has the fewest that run, and among those of whoever had no turn for the longest. The lock is held.
func (g *gate) next() int {
	best := 0
	for i, w := range g.waiting {
		b := g.waiting[best].who
		if n, least := g.running[w.who], g.running[b]; n < least || n == least && g.turns[w.who] < g.turns[b] {
			best = i
		}
	}
	return best
}

// forget takes a question out of the queue. It returns false where it is no longer there.
func (g *gate) forget(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, w)
	if at < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, at, at+1)
	return true
}

// gatedStore is a store whose heavy questions pass a gate: those that look at row after row because no index finds what they ask for.
type gatedStore struct {
	Store
	gate *gate
}

// ListTasks is that of the store.
func (s gatedStore) ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error) {
	if f.Scans() {
		leave, err := s.gate.enter(ctx)
		if err != nil {
			return lifecycle.TaskPage{}, err
		}
		defer leave()
	}
	return s.Store.ListTasks(ctx, f, p)
}

// CountTasks is that of the store.
func (s gatedStore) CountTasks(ctx context.Context, f lifecycle.Filter) (counts map[lifecycle.State]int64, capped bool, err error) {
	if f.Scans() {
		leave, err := s.gate.enter(ctx)
		if err != nil {
			return nil, false, err
		}
		defer leave()
	}
	return s.Store.CountTasks(ctx, f)
}

// gatedEntries does the same for dead-letter entries.
type gatedEntries struct {
	EntryStore
	gate *gate
}

// Entries is that of the store.
func (s gatedEntries) Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error) {
	if len(f.Words)+len(f.Not.Words) > 0 {
		leave, err := s.gate.enter(ctx)
		if err != nil {
			return dlqtriage.EntryPage{}, err
		}
		defer leave()
	}
	return s.EntryStore.Entries(ctx, f, p)
}

// CountEntries is that of the store.
func (s gatedEntries) CountEntries(ctx context.Context, f dlqtriage.EntryFilter) (int64, error) {
	if len(f.Words)+len(f.Not.Words) > 0 {
		leave, err := s.gate.enter(ctx)
		if err != nil {
			return 0, err
		}
		defer leave()
	}
	return s.EntryStore.CountEntries(ctx, f)
}
