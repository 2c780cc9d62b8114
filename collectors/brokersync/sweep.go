package brokersync

import (
	"fmt"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

const (
	// idleAfter is how long nothing may have changed before a sweep that follows is the last one.
	idleAfter = 10 * time.Second
	// idleAtMost is how long no page is read although nothing changes at the broker: the store may have learned more.
	idleAtMost = 5 * time.Minute
	// idleFrom is the number of open messages from which reading them all at every poll costs too much.
	idleFrom = 64
)

// Sweep knows which page of the stream comes next, and whether pages need to be read at all. Messages change only when the stream, the set
// of consumers or what these delivered changes, so a large backlog that stands still costs nothing once it was read.
type Sweep struct {
	Cursor  uint64           // The next page begins here.
	extent  [3]uint64        // Messages, first and last sequence at the last observation.
	set     string           // The consumers at the last observation: names, creation times, filters and how much they delivered.
	changed lifecycle.Micros // When extent or set changed last.
	began   lifecycle.Micros // When the sweep that is under way began.
	open    int              // Open messages met in it.
	done    lifecycle.Micros // When the last complete sweep without a finding began; zero when there is reason for another.
}

// idle reports whether no page needs to be read now.
func (s Sweep) idle(now lifecycle.Micros) bool { return s.done.Known() && now < s.done.Add(idleAtMost) }

// observe notes what the broker said.
func (s Sweep) observe(o Observation) Sweep {
	var set strings.Builder
	for _, c := range sortedConsumers(o.Consumers) {
		fmt.Fprintln(&set, c.Name, int64(c.CreatedAt), c.Filters, c.DeliveredCSeq)
	}
	extent := [3]uint64{o.Msgs, o.FirstSeq, o.LastSeq}
	if extent != s.extent || set.String() != s.set {
		s.extent, s.set, s.changed, s.done = extent, set.String(), o.At, 0
	}
	return s
}

// turn notes that a page with so many open messages was read, whether it was the last of a sweep, and whether it left reason to read
// again.
func (s Sweep) turn(o Observation, open int, last, again bool) Sweep {
	if !s.began.Known() {
		s.began = o.At
	}
	if s.open += open; !last {
		return s
	}
	if s.done = 0; !again && s.open >= idleFrom && s.began > s.changed.Add(idleAfter) {
		s.done = s.began
	}
	s.began, s.open = 0, 0
	return s
}
