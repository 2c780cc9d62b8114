package collectors

import (
	"cmp"
	"sync"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// behindAfter is the lag from which a collector says that it is behind.
const behindAfter = 5 * time.Second

// Stats counts what a collector did since it was made.
type Stats struct {
	Lines       uint64 // Lines read, repeated ones included.
	Events      uint64 // Events handed to the store.
	New         uint64 // Events that the store did not know.
	Ignored     uint64 // Lines that say nothing we keep.
	Quarantined uint64 // Lines that could not be decoded.
	Batches     uint64 // Commits.
	Failures    uint64 // Commits that the store refused.
}

// status is what a collector says about itself. All methods are safe for concurrent use.
type status struct {
	mu    sync.Mutex
	part  health.Part
	stats Stats
	upTo  lifecycle.Micros // Store time of the last line committed.
	empty time.Time        // When nothing waited, at the last look that found that; zero for never.
	last  uint64           // Highest sequence committed.
	drain drain
	gone  string           // Why the broker does not say how the durable is; empty when it does.
	since lifecycle.Micros // Store time of the last line before others got the first one; zero for never.
	share share
}

// share says that somebody reads the same durable whose lines the store does not get.
type share struct {
	durable string    // Empty when nobody does.
	seq     uint64    // The last line that was acknowledged for the other store.
	at      time.Time // When that was found.
}

// shareOver is how long no line is acknowledged for another store until nobody else is said to read.
const shareOver = time.Minute

func newStatus(name string) *status {
	return &status{part: health.Part{Name: name, Kind: "collector", State: health.Starting}}
}

func (s *status) set(state health.State, detail string, lacks ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part.State, s.part.Detail, s.part.Lacks, s.gone = state, detail, lacks, ""
}

// failed notes that the store refused a batch.
func (s *status) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Failures++
	s.part.State, s.part.Detail, s.part.Lacks, s.gone = health.Down, err.Error(), nil, ""
}

func (s *status) committed(d *decoded, newEvents int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Batches++
	s.stats.Lines += uint64(d.lines)
	s.stats.Ignored += uint64(d.ignored)
	s.stats.Quarantined += uint64(len(d.batch.Quarantined))
	s.stats.Events += uint64(len(d.batch.Events))
	s.stats.New += uint64(newEvents)
	s.part.Handled, s.part.Quarantine = s.stats.Lines, s.stats.Quarantined
	s.part.LastAt = now
	s.upTo, s.last = max(s.upTo, d.upTo), max(s.last, d.last)
	s.part.Lag = max(0, now.Sub(latest(s.upTo.Time(), s.empty))) // Newer lines than these may wait.
	if d.last > s.share.seq && now.Sub(s.share.at) > shareOver {
		s.share = share{}
	}
	switch {
	case s.part.Lag > behindAfter:
		s.part.State, s.part.Detail = health.Behind, ""
	case s.part.State != health.Behind:
		s.part.State, s.part.Detail = health.OK, ""
	}
}

// added notes new events of others' lines.
func (s *status) added(newEvents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.New += uint64(newEvents)
}

// reached is the last line committed: its sequence and its store time.
func (s *status) reached() (seq uint64, at lifecycle.Micros) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.upTo
}

// backlog notes how many lines waited at the source at a time, which is before the broker was asked. stored is the store time of the last line that any replica
// committed; zero where that was not asked.
// It leaves a failure standing: only a commit ends that.
func (s *status) backlog(pending uint64, stored lifecycle.Micros, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = ""
	s.part.Pending, s.part.Lag = pending, 0
	if pending == 0 {
		s.part.LastAt, s.empty = now, now
	} else if own := latest(s.upTo.Time(), s.empty); !own.IsZero() {
		if stored.Time().After(own) {
			s.part.LastAt = now
		}
		s.part.Lag = max(0, now.Sub(latest(own, stored.Time())))
	}
	switch {
	case s.part.State == health.Down:
	case s.part.Lag > behindAfter:
		s.part.State, s.part.Detail = health.Behind, ""
	default:
		s.part.State, s.part.Detail = health.OK, ""
	}
	if s.part.State != health.Behind {
		s.drain = drain{}
	} else {
		s.drain.note(pending, now)
	}
	s.part.Drains, s.part.DrainsKnown = s.drain.perSecond, s.drain.known
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// drainSpan is how long what waits is watched before it is said how fast it shrinks.
const drainSpan = 10 * time.Second

// drain is how fast what waits shrinks, measured over the last whole [drainSpan].
type drain struct {
	from      time.Time
	pending   uint64 // At that time.
	perSecond float64
	known     bool
}

func (d *drain) note(pending uint64, now time.Time) {
	span := now.Sub(d.from)
	switch {
	case d.from.IsZero():
	case span < drainSpan:
		return
	default:
		d.perSecond, d.known = (float64(d.pending)-float64(pending))/span.Seconds(), true
	}
	d.from, d.pending = now, pending
}

// others notes since when others get lines too: replicas, or somebody with another store.
func (s *status) others(since lifecycle.Micros) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = cmp.Or(s.since, since)
}

func (s *status) othersSince() lifecycle.Micros {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since
}

// shares notes that a line of the durable was acknowledged for another store.
func (s *status) shares(durable string, seq uint64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share = share{durable: durable, seq: seq, at: now}
}

func (s *status) sharing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.share.durable != ""
}

// unreachable notes that the broker does not say how the durable is.
func (s *status) unreachable(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = why
}

func (s *status) snapshot() (health.Part, Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.part
	switch {
	case part.State == health.Down:
	case s.gone != "":
		part.State, part.Detail = health.Down, s.gone
	case s.share.durable != "":
		part.State, part.Detail = health.Down, errShared(s.share.durable).Error()+", then restart the other; or it was reset: restart Fleetglass"
	}
	return part, s.stats
}
