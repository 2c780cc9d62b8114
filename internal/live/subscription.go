package live

import (
	"slices"
	"sync"

	"fleetglass/lifecycle"
)

// maxTasksPerChange bounds one Change, so that a reader that was away long gets its backlog in parts.
const maxTasksPerChange = 500

// Change is what a subscriber has not taken yet.
type Change struct {
	ID    string                 // The position after it: subscribing with it resumes here. Text without spaces or line breaks.
	Tasks []lifecycle.TaskChange // Each task once, with its latest change, in the order of these changes. The caller owns it.
	Reset bool                   // Changes were missed that nobody can name any more: load everything anew. Everything else is empty then.

	Operations []OperationChange // Each operation once, likewise.
	Alerts     []AlertChange     // Each alert once, likewise.
}

// Subscription is one reader's position. It belongs to one goroutine; Close may be called by another.
type Subscription struct {
	hub   *Hub
	ready chan struct{}

	// Guarded by hub.mu.
	at    uint64
	reset bool

	closing sync.Once
}

// Subscribe begins after lastEventID, an id of an earlier [Change]; empty begins with what changes from now on. When the id is of
// another process or too old, the first change says Reset. The caller must Close the subscription.
func (h *Hub) Subscribe(lastEventID string) *Subscription {
	s := &Subscription{hub: h, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.at = h.n
	if lastEventID != "" {
		n, known := h.position(lastEventID)
		if known && n >= h.floor {
			s.at = n
		} else {
			s.reset = true
		}
	}
	if s.reset || s.at < h.n {
		s.wake()
	}
	h.waiting[s] = struct{}{}
	return s
}

// Ready receives when there is, or may be, something to take. Changes are merged between two calls of [Subscription.Take], so a
// reader that pauses between them gets fewer and larger ones.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns what changed since the last call, and whether that is anything at all. It never blocks. When more is left than one
// Change holds, Ready receives again.
func (s *Subscription) Take() (Change, bool) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.reset || s.at < h.floor {
		s.reset, s.at = false, h.n
		return Change{ID: h.id(h.n), Reset: true}, true
	}
	if s.at >= h.n {
		return Change{}, false
	}
	tasks := h.since(s.at)
	if len(tasks) > maxTasksPerChange {
		tasks = tasks[:maxTasksPerChange]
		s.wake()
	}
	s.at = tasks[len(tasks)-1].n
	c := Change{ID: h.id(s.at), Tasks: make([]lifecycle.TaskChange, 0, len(tasks))}
	for _, e := range tasks {
		switch {
		case e.operation != nil:
			c.Operations = append(c.Operations, *e.operation)
		case e.alert != nil:
			c.Alerts = append(c.Alerts, *e.alert)
		default:
			c.Tasks = append(c.Tasks, e.change)
		}
	}
	return c, true
}

// Close ends the subscription. It is idempotent.
func (s *Subscription) Close() {
	s.closing.Do(func() {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		delete(s.hub.waiting, s)
	})
}

// wake makes Ready receive. It never blocks: one signal says all.
func (s *Subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// since lists the entries after position n, oldest first. The cost is the number of tasks that changed.
func (h *Hub) since(n uint64) []entry {
	var out []entry
	for el := h.order.Back(); el != nil; el = el.Prev() {
		e := el.Value.(entry)
		if e.n <= n {
			break
		}
		out = append(out, e)
	}
	slices.Reverse(out)
	return out
}
