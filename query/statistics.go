package query

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fleetglass/dlqtriage"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/restarts"
)

// Statistics are the figures about the fleet as a whole (SPEC 7): how it is now, and the last 24 hours.
type Statistics struct {
	AsOf     lifecycle.Micros
	States   StateCounts
	InFlight InFlight

	Day          Throughput
	TimedOut     int64                     // Attempts whose lease ran out without an answer.
	Died         int64                     // Tasks that ended without completing.
	DeadLettered int64                     // Of these, those with a dead-letter entry.
	Found        map[lifecycle.Layer]int64 // Findings of the duplicate ledger.
	Proved       bool                      // Records or reports are read, which alone prove that a duplicate ran.
	Unproved     []string                  // Agents that completed work, and of which neither a record nor a report was seen; sorted.

	Reported  int64 // Attempts of which an agent reported the end.
	NoReceipt int64 // Attempts that announced an effect without a receipt, before the work began again.
	SentAgain int64 // Outgoing messages that agents announced again.
	Missed    int64 // What somebody outside waits for in vain.

	Quarantined int64           // Dead letters that a decision keeps apart, now; it counts where DLQRead.
	DLQRead     bool            // A store of dead letters is configured.
	Undecodable int64           // Lines that are kept aside.
	OpenGaps    []lifecycle.Gap // Of the last day, latest first.

	Recovered *restarts.Restart // The latest restart that is over; nil where none is known.
}

// Statistics returns the figures about the fleet.
func (s *Service) Statistics(ctx context.Context) (Statistics, error) {
	load, err := s.load(ctx)
	if err != nil {
		return Statistics{}, err
	}
	out := Statistics{AsOf: s.now(), Found: map[lifecycle.Layer]int64{}, Proved: executionProved(s.Parts())}
	out.add(load)
	out.Unproved = unproved(load)
	if out.States, err = s.AllCounts(ctx); err != nil {
		return out, err
	}
	if out.InFlight, err = s.InFlight(ctx); err != nil {
		return out, err
	}
	all, err := s.Restarts(ctx)
	if err != nil {
		return out, err
	}
	out.Recovered = LastRecovered(all)
	if out.Quarantined, out.DLQRead, err = s.deadIn(ctx, dlqtriage.StatusQuarantined); err != nil {
		return out, err
	}
	gaps, err := s.RecentGaps(ctx)
	if err != nil {
		return out, err
	}
	out.OpenGaps = OpenGaps(gaps)
	_, out.Undecodable, err = s.Quarantine(ctx, 1)
	return out, err
}

// Executed is how many duplicates reached execution in the last 24 hours; known is false where none was found and nothing was seen that would prove
// it, be it of one agent only.
func (s Statistics) Executed() (n int64, known bool) {
	n = s.Found[lifecycle.LayerExecution]
	return n, n > 0 || (s.Proved && len(s.Unproved) == 0)
}

// NotExecuted says why it is not known whether a duplicate reached execution; empty where it is known.
func (s Statistics) NotExecuted() string {
	switch n := len(s.Unproved); {
	case !s.Proved:
		return "not looked at: neither records nor reports are read"
	case n == 0:
		return ""
	case n == 1:
		return "24 h; no record or report of " + s.Unproved[0]
	default:
		return fmt.Sprintf("24 h; no record or report of %s and %d more", s.Unproved[0], n-1)
	}
}

// unproved lists the agents that completed work of which no record and no report was seen.
func unproved(load lifecycle.Tally) []string {
	completed, seen := map[string]bool{}, map[string]bool{}
	for c, n := range load {
		switch {
		case n <= 0:
		case c.Metric == lifecycle.MetricCompleted:
			completed[c.Agent] = true
		case c.Metric == lifecycle.MetricRecorded || c.Metric == lifecycle.MetricReported:
			seen[c.Agent] = true
		}
	}
	maps.DeleteFunc(completed, func(agent string, _ bool) bool { return seen[agent] })
	return slices.Sorted(maps.Keys(completed))
}

// executionProved reports whether completion records or reports of agents are read.
func executionProved(parts []health.Part) bool {
	return slices.ContainsFunc(parts, func(p health.Part) bool {
		proves := p.Name == "idempotency" || p.Name == "firestore" || p.Name == "reports"
		return p.Kind == "collector" && proves && p.State != health.NotConfigured
	})
}

func (s *Statistics) add(load lifecycle.Tally) {
	for c, n := range load {
		switch c.Metric {
		case lifecycle.MetricPublished:
			s.Day.Published += n
		case lifecycle.MetricCompleted:
			s.Day.Completed += n
		case lifecycle.MetricFailedAttempts:
			s.Day.Failed += n
			if c.Label == string(lifecycle.EndTimedOut) {
				s.TimedOut += n
			}
		case lifecycle.MetricDied:
			s.Died += n
			if c.Label == string(lifecycle.StateDeadLettered) {
				s.DeadLettered += n
			}
		case lifecycle.MetricDuplicates:
			s.Found[lifecycle.Layer(c.Label)] += n
		case lifecycle.MetricReported:
			s.Reported += n
		case lifecycle.MetricNoReceipt:
			s.NoReceipt += n
		case lifecycle.MetricSentAgain:
			s.SentAgain += n
		case lifecycle.MetricMissed:
			s.Missed += n
		}
	}
}
