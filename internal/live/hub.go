// Package live tells readers in this process what has just changed, so that pages and streams move without asking the store.
//
// A hub keeps the latest change of each task, in the order of the changes. A subscriber is no more than a position in that order: it
// takes what changed since, once per task however often it changed, at its own pace. A commit therefore never waits for a
// subscriber, and a slow subscriber costs no memory of its own.
package live

import (
	"container/list"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"

	"fleetglass/lifecycle"
)

// Hub passes on which tasks changed. It is safe for concurrent use and starts no goroutine.
type Hub struct {
	boot string // Tells the positions of this hub from those of an earlier process.
	size int

	mu      sync.Mutex
	n       uint64                   // Number of the latest change.
	floor   uint64                   // Number of the latest change that was forgotten.
	order   *list.List               // Of entry, oldest change first.
	byTask  map[string]*list.Element // The entry of each task in order.
	waiting map[*Subscription]struct{}
}

// entry is the latest change of one task.
type entry struct {
	n      uint64
	change lifecycle.TaskChange
}

// NewHub returns a hub that remembers the latest changes of at most size tasks (at least 1). Who is further behind gets a reset.
func NewHub(size int) *Hub {
	return &Hub{
		boot: newBoot(), size: max(1, size), order: list.New(),
		byTask: map[string]*list.Element{}, waiting: map[*Subscription]struct{}{},
	}
}

func newBoot() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // Never fails (crypto/rand).
	return hex.EncodeToString(b[:])
}

// Publish notes that tasks changed and wakes the subscribers. It never blocks on one of them.
func (h *Hub) Publish(changes []lifecycle.TaskChange) {
	if len(changes) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range changes {
		h.note(c)
	}
	for s := range h.waiting {
		s.wake()
	}
}

func (h *Hub) note(c lifecycle.TaskChange) {
	h.n++
	if old := h.byTask[c.TaskID]; old != nil {
		old.Value = entry{h.n, c}
		h.order.MoveToBack(old)
		return
	}
	h.byTask[c.TaskID] = h.order.PushBack(entry{h.n, c})
	if h.order.Len() > h.size {
		oldest := h.order.Front()
		e := h.order.Remove(oldest).(entry)
		delete(h.byTask, e.change.TaskID)
		h.floor = e.n
	}
}

// ID is the position after the latest change, as subscribers name it.
func (h *Hub) ID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.id(h.n)
}

// Subscribers is the number of open subscriptions.
func (h *Hub) Subscribers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting)
}

func (h *Hub) id(n uint64) string { return h.boot + "-" + strconv.FormatUint(n, 10) }

// position reads an id that this hub gave out. Another process's id, and any other text, is not known.
func (h *Hub) position(id string) (n uint64, known bool) {
	digits, ours := strings.CutPrefix(id, h.boot+"-")
	if !ours {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && n <= h.n
}
