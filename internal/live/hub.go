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
	byKey   map[string]*list.Element // The entry of each task, operation and alert, in order.
	waiting map[*Subscription]struct{}
}

// entry is the latest change of one task, one operation or one alert.
type entry struct {
	n         uint64
	key       string
	change    lifecycle.TaskChange
	operation *OperationChange // Nil for others.
	alert     *AlertChange     // Nil for others.
}

// OperationChange says how far an operation on dead letters is.
type OperationChange struct {
	ID                                        string
	Status                                    string
	Selected, Eligible, Blocked, Done, Failed int64
	At                                        lifecycle.Micros
}

// AlertChange says how an alert stands.
type AlertChange struct {
	ID, Rule, Severity, State, Title, What, Agent string
	At                                            lifecycle.Micros
}

// NewHub returns a hub that remembers the latest changes of at most size tasks (at least 1). Who is further behind gets a reset.
func NewHub(size int) *Hub {
	return &Hub{
		boot: newBoot(), size: max(1, size), order: list.New(),
		byKey: map[string]*list.Element{}, waiting: map[*Subscription]struct{}{},
	}
}

func newBoot() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // Never fails (crypto/rand).
	return hex.EncodeToString(b[:])
}

// Publish notes that tasks changed and wakes the subscribers. It never blocks on one of them. A change that somebody tells late, after a later one of its task, is none:
// it is returned.
func (h *Hub) Publish(changes []lifecycle.TaskChange) (late []lifecycle.TaskChange) {
	if len(changes) == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range changes {
		key := "task " + c.TaskID
		if known := h.byKey[key]; known == nil || c.Number >= known.Value.(entry).change.Number {
			h.note(entry{key: key, change: c})
		} else {
			late = append(late, c)
		}
	}
	h.wakeAll()
	return late
}

// PublishOperation notes how far an operation is and wakes the subscribers. It never blocks on one of them.
func (h *Hub) PublishOperation(c OperationChange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(entry{key: "operation " + c.ID, operation: &c})
	h.wakeAll()
}

// PublishAlert notes how an alert stands and wakes the subscribers. It never blocks on one of them.
func (h *Hub) PublishAlert(c AlertChange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(entry{key: "alert " + c.ID, alert: &c})
	h.wakeAll()
}

// Forget says that changes were missed which nobody can name: every subscriber is told to load everything anew, and so is who resumes from before.
func (h *Hub) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	h.floor = h.n
	h.order.Init()
	clear(h.byKey)
	h.wakeAll()
}

// Boot tells this hub from others, of this process and of any other one.
func (h *Hub) Boot() string { return h.boot }

func (h *Hub) wakeAll() {
	for s := range h.waiting {
		s.wake()
	}
}

func (h *Hub) note(e entry) {
	h.n++
	e.n = h.n
	if old := h.byKey[e.key]; old != nil {
		old.Value = e
		h.order.MoveToBack(old)
		return
	}
	h.byKey[e.key] = h.order.PushBack(e)
	if h.order.Len() > h.size {
		oldest := h.order.Remove(h.order.Front()).(entry)
		delete(h.byKey, oldest.key)
		h.floor = oldest.n
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
