package web

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// board is the state of the fleet that every page shows a part of. It is read-only once assembled.
type board struct {
	Now       lifecycle.Micros
	Counts    map[lifecycle.State]int64
	Facets    lifecycle.Facets
	Consumers []lifecycle.ConsumerState
	Typical   map[string]lifecycle.Typical
	Leases    []lifecycle.Lease // Worst stale kind first, then by deadline.
	Partial   bool              // There are more open messages than were looked at.
	Gaps      []lifecycle.Gap   // Of the last day, latest first.

	Reconciled *reconcile.Run // The newest that is done, without rows; nil where there is none or it could not be read.
}

// Bounds of what one board looks at.
const (
	boardAge     = 500 * time.Millisecond // Pages asked for within this time share a board.
	typicalAge   = time.Minute
	maxOpen      = 2000 // Open messages read at once.
	maxHeld      = 500  // Held messages read one by one when there are more open ones.
	maxPresumed  = 100  // Exhausted tasks looked at for presumed deaths.
	boardGapsMax = 50
)

// boardCache shares a board between requests that come close together, so that many readers ask the store once.
type boardCache struct {
	store     lifecycle.Reader
	now       func() time.Time
	reconcile reconcile.Service // Nil: nobody reconciles.

	mu        sync.Mutex
	last      *board
	typical   map[string]lifecycle.Typical
	typicalAt lifecycle.Micros
}

func newBoardCache(store lifecycle.Reader, now func() time.Time, service reconcile.Service) *boardCache {
	return &boardCache{store: store, now: now, reconcile: service}
}

// get returns a board that is at most boardAge old.
func (bc *boardCache) get(ctx context.Context) (*board, error) {
	bc.mu.Lock()
	defer bc.mu.Unlock()
	now := lifecycle.MicrosOf(bc.now())
	if bc.last != nil && now.Sub(bc.last.Now) < boardAge && now >= bc.last.Now {
		return bc.last, nil
	}
	b, err := bc.assemble(ctx, now)
	if err != nil {
		return nil, err
	}
	bc.last = b
	return b, nil
}

func (bc *boardCache) assemble(ctx context.Context, now lifecycle.Micros) (*board, error) {
	b := &board{Now: now}
	var err error
	if b.Counts, _, err = bc.store.CountTasks(ctx, lifecycle.Filter{}); err != nil {
		return nil, err
	}
	if b.Facets, err = bc.store.Facets(ctx); err != nil {
		return nil, err
	}
	if b.Consumers, err = bc.store.Consumers(ctx); err != nil {
		return nil, err
	}
	if b.Gaps, err = bc.store.Gaps(ctx, now.Add(-24*time.Hour), now.Add(time.Hour), boardGapsMax); err != nil {
		return nil, err
	}
	if bc.reconcile != nil {
		if made, err := bc.reconcile.Latest(ctx); err == nil && made.Report != nil {
			b.Reconciled = &made
		}
	}
	if b.Typical, err = bc.typicalDurations(ctx, now); err != nil {
		return nil, err
	}
	return b, bc.leases(ctx, b)
}

func (bc *boardCache) typicalDurations(ctx context.Context, now lifecycle.Micros) (map[string]lifecycle.Typical, error) {
	if bc.typical != nil && now.Sub(bc.typicalAt) < typicalAge {
		return bc.typical, nil
	}
	cells, err := bc.store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricRunning}, now.Add(-7*24*time.Hour), now.Add(time.Hour), false)
	if err != nil {
		return nil, err
	}
	bc.typical, bc.typicalAt = lifecycle.TypicalDurations(cells), now
	return bc.typical, nil
}

// leases finds what workers hold. A long backlog is not read through: then only the held messages are, one by one.
func (bc *boardCache) leases(ctx context.Context, b *board) error {
	var open int64
	for s, n := range b.Counts {
		if s.Open() {
			open += n
		}
	}
	var messages []lifecycle.OpenMessage
	var err error
	if open <= maxOpen {
		messages, err = bc.store.OpenMessages(ctx, lifecycle.StreamID{}, 0, maxOpen)
	} else {
		held := lifecycle.Filter{States: append(inFlightStates(), lifecycle.StateFailed)}
		messages, b.Partial, err = bc.heads(ctx, held, maxHeld, func(lifecycle.TaskSummary) bool { return true })
	}
	if err != nil {
		return err
	}
	if b.Counts[lifecycle.StateExhausted] > 0 {
		dead, _, err := bc.heads(ctx, lifecycle.Filter{States: []lifecycle.State{lifecycle.StateExhausted}}, maxPresumed,
			func(s lifecycle.TaskSummary) bool { return s.Rule == "presumed dead" })
		if err != nil {
			return err
		}
		messages = append(messages, dead...)
	}
	for _, m := range messages {
		if l, ok := lifecycle.LeaseOf(m, b.consumer(m.Message.Key.Stream, m.Message.Consumer), b.Typical[typeOf(m.Message)], b.Now); ok {
			b.Leases = append(b.Leases, l)
		}
	}
	sortLeases(b.Leases)
	return nil
}

// heads reads the newest messages of the tasks that f selects and take wants.
func (bc *boardCache) heads(ctx context.Context, f lifecycle.Filter, limit int, take func(lifecycle.TaskSummary) bool) ([]lifecycle.OpenMessage, bool, error) {
	page, err := bc.store.ListTasks(ctx, f, lifecycle.Page{Limit: limit})
	if err != nil {
		return nil, false, err
	}
	var out []lifecycle.OpenMessage
	for _, t := range page.Tasks {
		if !take(t) {
			continue
		}
		rec, err := bc.store.Task(ctx, t.TaskID)
		if errors.Is(err, lifecycle.ErrNotFound) {
			continue // Removed meanwhile.
		}
		if err != nil {
			return nil, false, err
		}
		for _, m := range rec.Messages {
			if m.Key == rec.Facts.Head.Key {
				out = append(out, lifecycle.OpenMessage{Message: m, Task: rec.Facts})
			}
		}
	}
	return out, page.Next != nil, nil
}

func inFlightStates() []lifecycle.State {
	var out []lifecycle.State
	for _, s := range lifecycle.States() {
		if s.InFlight() {
			out = append(out, s)
		}
	}
	return out
}

func typeOf(m lifecycle.MessageFacts) string {
	if m.Stored == nil {
		return ""
	}
	return m.Stored.Type
}

func sortLeases(leases []lifecycle.Lease) {
	rank := map[lifecycle.StaleKind]int{"": 99}
	for i, k := range lifecycle.StaleKinds() {
		rank[k] = i
	}
	slices.SortFunc(leases, func(a, b lifecycle.Lease) int {
		return cmp.Or(cmp.Compare(rank[a.Stale], rank[b.Stale]), compareDeadline(a.Deadline, b.Deadline), cmp.Compare(a.TaskID, b.TaskID))
	})
}

// compareDeadline puts what has no known deadline last.
func compareDeadline(a, b lifecycle.Micros) int {
	if a.Known() != b.Known() {
		if a.Known() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

func (b *board) consumer(stream lifecycle.StreamID, name string) *lifecycle.ConsumerState {
	for i := range b.Consumers {
		if b.Consumers[i].Name == name && b.Consumers[i].Stream == stream {
			return &b.Consumers[i]
		}
	}
	return nil
}

// lease returns the lease on the newest message of a task, or nil.
func (b *board) lease(taskID string) *lifecycle.Lease {
	for i := range b.Leases {
		if b.Leases[i].TaskID == taskID {
			return &b.Leases[i]
		}
	}
	return nil
}

// held counts what workers hold, and how many of these leases are stale in some way.
func (b *board) held() (held, stale int) {
	for _, l := range b.Leases {
		if l.State.InFlight() {
			held++
		}
		if l.Stale != "" {
			stale++
		}
	}
	return held, stale
}

func (b *board) count(states ...lifecycle.State) int64 {
	var n int64
	for _, s := range states {
		n += b.Counts[s]
	}
	return n
}

func (b *board) total() int64 {
	var n int64
	for _, c := range b.Counts {
		n += c
	}
	return n
}
