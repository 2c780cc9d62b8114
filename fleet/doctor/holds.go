package doctor

import (
	"fmt"
	"math"
	"time"

	"fleetglass/lifecycle"
)

// A capture stream shall hold longer than Fleetglass may be away.
const (
	leastHold  = time.Hour        // What holds less is a finding.
	rightHold  = 2 * time.Hour    // What the fix aims at.
	leastSeen  = 10 * time.Minute // How old the oldest line must be, before it is judged how soon a stream that is not full will be.
	mostGrowth = 16               // How many times larger than before a fix makes a bound.
)

// shortCaptures finds capture streams, and that of reports, whose bounds hold less than an hour.
func shortCaptures(l look) []trap {
	return eachStream(l.recorded(), func(s Stream) (string, string) {
		if age := s.Config.MaxAge; age > 0 && age < leastHold {
			return fmt.Sprintf("Its max_age is %s.", lifecycle.Lasting(age)), editStream(s, "--max-age "+span(day))
		}
		if what, growth := s.fills("max_bytes", s.State.Bytes, s.Config.MaxBytes); what != "" {
			return what, editStream(s, fmt.Sprintf("--max-bytes %d", growth*s.Config.MaxBytes))
		}
		what, growth := s.fills("max_msgs", s.State.Msgs, s.Config.MaxMsgs)
		return what, editStream(s, fmt.Sprintf("--max-msgs %d", growth*s.Config.MaxMsgs))
	})
}

// fills says that a bound holds less than an hour at the rate at which the stream got what it holds, and how many times larger the bound should be;
// empty where it holds more, there is none, or the stream is young and not full. The rate is a mean: a burst is told by it only when its lines have
// driven out those before it.
func (s Stream) fills(bound string, holds uint64, limit int64) (what string, growth int64) {
	seen, share := s.At.Sub(s.State.FirstTime), float64(holds)/float64(limit)
	if s.At.IsZero() || limit <= 0 || holds == 0 || seen < leastSeen && share < nearShare {
		return "", 0
	}
	hold := time.Duration(float64(seen) / share)
	if hold >= leastHold {
		return "", 0
	}
	growth = min(int64(math.Ceil(float64(rightHold)/float64(max(hold, 1)))), mostGrowth)
	return fmt.Sprintf("It got %.0f %% of its %s of %s within %s: at that rate it holds %s.", 100*share, bound, grouped(limit), lifecycle.Lasting(roughly(seen)), lifecycle.Lasting(roughly(hold))), growth
}

// roughly leaves seconds out of minutes, and fractions out of seconds.
func roughly(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Truncate(time.Minute)
	}
	return max(d.Truncate(time.Second), time.Second)
}
