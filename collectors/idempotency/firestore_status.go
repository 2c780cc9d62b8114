package idempotency

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fleetglass/internal/health"
)

// firestorePart is the name of the collector in what is said about health.
const firestorePart = "firestore"

// partProbe is the trouble that Firestore does not answer.
const partProbe = "probe"

// FirestoreStats counts what the collector did since it was made.
type FirestoreStats struct {
	Documents   uint64 // Revisions read, repeated ones included.
	Events      uint64 // Events handed to the store.
	New         uint64 // Events that the store did not know.
	Ignored     uint64 // Documents that say nothing yet, such as reservations.
	Quarantined uint64 // Documents that could not be understood.
	Recreated   uint64 // Listeners that ended with an error and were opened again.
	Stalled     uint64 // Listeners that told nothing any more, as a poll found, and were opened again.
	Polls       uint64 // Polls that ended.
	Sweeps      uint64 // Sweeps that ended.
}

// firestoreStatus is what the collector says about itself. All methods are safe for concurrent use.
type firestoreStatus struct {
	mu       sync.Mutex
	part     health.Part
	stats    FirestoreStats
	waiting  int               // Feeds whose listener has told nothing yet; below zero while there are no feeds.
	troubles map[string]string // By what fails.
}

func newFirestoreStatus(configured bool) *firestoreStatus {
	s := &firestoreStatus{part: health.Part{Name: firestorePart, Kind: "collector", State: health.Starting}, waiting: -1, troubles: map[string]string{}}
	if !configured {
		s.part.State, s.part.Detail = health.NotConfigured, "neither a Firestore project nor an emulator is configured"
	}
	return s
}

// reading notes that so many feeds began.
func (s *firestoreStatus) reading(feeds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = feeds
}

// heard notes that the first listener of a feed told its first result.
func (s *firestoreStatus) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

// verified notes that Firestore answered.
func (s *firestoreStatus) verified(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part.LastAt = at
}

func (s *firestoreStatus) trouble(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.troubles[what] = err.Error()
}

func (s *firestoreStatus) fine(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.troubles, what)
}

// count changes the statistics.
func (s *firestoreStatus) count(edit func(*FirestoreStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edit(&s.stats)
}

func (s *firestoreStatus) snapshot() (health.Part, FirestoreStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.part
	part.Handled, part.Quarantine = s.stats.Documents, s.stats.Quarantined
	switch {
	case part.State == health.NotConfigured:
	case len(s.troubles) > 0:
		part.State, part.Detail = health.Down, s.describe()
	case s.waiting == 0:
		part.State = health.OK
		if s.stats.Stalled > 0 {
			part.Detail = fmt.Sprintf("%d listeners had stalled and were opened again", s.stats.Stalled)
		}
	}
	return part, s.stats
}

func (s *firestoreStatus) describe() string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(s.troubles)) {
		out = append(out, what+": "+s.troubles[what])
	}
	return strings.Join(out, "; ")
}
