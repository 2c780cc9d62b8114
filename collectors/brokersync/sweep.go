package brokersync

import (
	"fmt"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

const (
	// restAfter is how long nothing may have changed before a sweep that follows is the last one.
	restAfter = 10 * time.Second
	// restAtMost is how long a reconciler rests although nothing changes at the broker: the store may have learned more.
	restAtMost = 5 * time.Minute
	// restFrom is the number of open messages from which reading them all at every poll costs enough to rest.
	restFrom = 64
)

// sweep knows whether pages of the stream need to be read at all. Messages that nobody holds change only when the stream or the set of
// consumers changes, so a large backlog that stands still costs nothing once it was looked through.
type sweep struct {
	state   [3]uint64 // Messages, first and last sequence at the last look.
	set     string    // The consumers at the last look: names, creation times and filters.
	changed lifecycle.Micros
	began   lifecycle.Micros // When the sweep that is under way began.
	open    int              // Open messages met in it.
	done    lifecycle.Micros // When the last sweep that may be the last one began; zero when there is reason for another.
}

func (s *sweep) rests(now lifecycle.Micros) bool {
	return s.done.Known() && now < s.done.Add(restAtMost)
}

// look notes what the broker said, before it is asked whether to rest.
func (s *sweep) look(l Look) {
	var set strings.Builder
	for _, c := range l.Consumers {
		fmt.Fprintln(&set, c.Name, int64(c.CreatedAt), c.Filters)
	}
	state := [3]uint64{l.Msgs, l.FirstSeq, l.LastSeq}
	if state != s.state || set.String() != s.set {
		s.state, s.set, s.changed, s.done = state, set.String(), l.At, 0
	}
}

// turn notes that a page with so many open messages was read, whether it was the last of a sweep, and whether it left reason to look
// again.
func (s *sweep) turn(l Look, open int, last, again bool) {
	if !s.began.Known() {
		s.began = l.At
	}
	if s.open += open; !last {
		return
	}
	if s.done = 0; !again && s.open >= restFrom && s.began > s.changed.Add(restAfter) {
		s.done = s.began
	}
	s.began, s.open = 0, 0
}
