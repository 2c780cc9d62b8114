package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// FindingKind is a way in which something needs attention.
type FindingKind string

// The kinds of findings.
const (
	FindingNoConsumer      FindingKind = "no_consumer"      // Messages wait, and no consumer's filter matches their subjects.
	FindingNotPulled       FindingKind = "not_pulled"       // Messages wait for a consumer that no worker asks.
	FindingPaused          FindingKind = "paused"           // Messages wait for a consumer that is paused.
	FindingStaleLease      FindingKind = "stale_lease"      // Something is wrong with a lease.
	FindingAbandoned       FindingKind = "abandoned"        // Messages are dead, and no dead-letter entry was seen.
	FindingDiscrepancies   FindingKind = "discrepancies"    // The newest reconciliation found something.
	FindingDeadLettered    FindingKind = "dead_lettered"    // Dead-letter entries wait for a decision.
	FindingOutcomeUnknown  FindingKind = "outcome_unknown"  // What became of tasks is not known.
	FindingConsumerGone    FindingKind = "consumer_gone"    // A consumer is gone, and messages wait for it.
	FindingPartDown        FindingKind = "part_down"        // A part of this program does not work.
	FindingCollectorBehind FindingKind = "collector_behind" // A collector is more than a few seconds behind.
	FindingBlind           FindingKind = "blind"            // There are open gaps in the last hour.
)

// FindingKinds lists the kinds: first those about the fleet, the worst first, then those about the observation of it.
func FindingKinds() []FindingKind {
	return []FindingKind{
		FindingNoConsumer, FindingNotPulled, FindingConsumerGone, FindingAbandoned, FindingStaleLease, FindingPaused, FindingDiscrepancies,
		FindingDeadLettered, FindingOutcomeUnknown, FindingPartDown, FindingCollectorBehind, FindingBlind,
	}
}

// Finding is one thing that needs attention. Fields that its kind does not use are zero.
type Finding struct {
	Kind     FindingKind
	Count    int64                    // Tasks, messages, discrepancies or gaps; 1 for one thing.
	Since    lifecycle.Micros         // Of the oldest of them; zero when not known.
	More     bool                     // There are more than Count.
	State    lifecycle.State          // Of the tasks.
	Unread   bool                     // Of FindingAbandoned: the dead-letter queue was not read to its end, so entries may exist.
	Agent    string                   // Of FindingNoConsumer and FindingNotPulled: whose messages wait.
	Lease    *lifecycle.Lease         // Of FindingStaleLease.
	Causes   []Cause                  // Of FindingDeadLettered, the most frequent first.
	Report   *reconcile.Run           // Of FindingDiscrepancies.
	Consumer *lifecycle.ConsumerState // Of FindingNotPulled, FindingPaused and FindingConsumerGone.
	Part     *health.Part             // Of FindingPartDown and FindingCollectorBehind.
	Gap      *lifecycle.Gap           // Of FindingBlind: the latest.
}

// Attention returns what somebody should look at in the fleet, worst first.
func (s *Service) Attention(ctx context.Context) ([]Finding, error) {
	snapshot, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	dead, err := s.Dead(ctx)
	if err != nil {
		return nil, err
	}
	out, err := s.untaken(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, s.idle(snapshot)...)
	for i, l := range snapshot.InFlight.Leases {
		if l.Stale != "" {
			out = append(out, Finding{Kind: FindingStaleLease, Count: 1, Since: l.Deadline, State: l.State, Lease: &snapshot.InFlight.Leases[i]})
		}
	}
	for _, state := range lifecycle.StatesThat(lifecycle.State.Abandoned) {
		out = appendTasks(out, FindingAbandoned, state, snapshot, dead, !s.EntriesRead().Known())
	}
	if n, _ := snapshot.Discrepancies(); n > 0 {
		out = append(out, Finding{Kind: FindingDiscrepancies, Count: n, Since: snapshot.Reconciled.Report.AsOf, Report: snapshot.Reconciled})
	}
	out = appendTasks(out, FindingDeadLettered, lifecycle.StateDeadLettered, snapshot, dead, false)
	out = appendTasks(out, FindingOutcomeUnknown, lifecycle.StateOutcomeUnknown, snapshot, dead, false)
	kinds := FindingKinds()
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)) })
	return out, nil
}

// appendTasks adds the finding about the tasks in a state, if there are any.
func appendTasks(out []Finding, kind FindingKind, state lifecycle.State, snapshot FleetSnapshot, dead Dead, unread bool) []Finding {
	n := snapshot.Counts.Of(state)
	if n == 0 {
		return out
	}
	f := Finding{Kind: kind, Count: n, State: state, Since: dead.Oldest(state), Unread: unread}
	if kind == FindingDeadLettered {
		f.Causes = dead.Causes()
	}
	return append(out, f)
}

// blindSpan is how long after its end a gap still has a banner.
const blindSpan = time.Hour

// Blindness returns what may be missing from every answer: parts that are down, collectors that are behind, open gaps of the last hour.
func (s *Service) Blindness(snapshot FleetSnapshot) []Finding {
	var out, behind []Finding
	for _, p := range s.Parts() {
		switch {
		case p.State == health.Down:
			out = append(out, Finding{Kind: FindingPartDown, Count: 1, Part: &p})
		case p.State == health.Behind && p.Kind == "collector":
			behind = append(behind, Finding{Kind: FindingCollectorBehind, Count: 1, Part: &p})
		}
	}
	out = append(out, behind...)
	return append(out, blind(snapshot)...)
}

func blind(snapshot FleetSnapshot) []Finding {
	var recent []lifecycle.Gap
	for _, g := range OpenGaps(snapshot.Gaps) {
		if !g.To.Known() || g.To >= snapshot.AsOf.Add(-blindSpan) {
			recent = append(recent, g)
		}
	}
	if len(recent) == 0 {
		return nil
	}
	return []Finding{{Kind: FindingBlind, Count: int64(len(recent)), Since: recent[0].From, Gap: &recent[0]}}
}

// Parts says how the parts of the program are.
func (s *Service) Parts() []health.Part {
	if s.cfg.Health == nil {
		return nil
	}
	return s.cfg.Health.Health()
}
