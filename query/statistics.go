package query

import (
	"context"
	"slices"

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
	gaps, err := s.RecentGaps(ctx)
	if err != nil {
		return out, err
	}
	out.OpenGaps = OpenGaps(gaps)
	_, out.Undecodable, err = s.Quarantine(ctx, 1)
	return out, err
}

// Executed is how many duplicates reached execution in the last 24 hours; known is false where none was found because nothing is read that would prove it.
func (s Statistics) Executed() (n int64, known bool) {
	n = s.Found[lifecycle.LayerExecution]
	return n, n > 0 || s.Proved
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
		}
	}
}
