package query

import (
	"context"
	"errors"
	"time"

	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// snapshotAge is how long a snapshot is shared. Its parts may be older by up to the same time.
const snapshotAge = 500 * time.Millisecond

// FleetSnapshot is what every page needs beside its own question: the counts of the navigation, leases, agents, gaps.
type FleetSnapshot struct {
	AsOf       lifecycle.Micros
	Counts     StateCounts // Of all tasks.
	Deleted    bool        // There is no task any more, and there were some: retention deleted them.
	Facets     lifecycle.Facets
	Consumers  Consumers
	Typical    map[string]lifecycle.Typical // By task type, over seven days.
	InFlight   InFlight
	AgentNames []string        // Agents that have tasks, a consumer, or a lease, sorted.
	Gaps       []lifecycle.Gap // Of the last day, latest first, repaired ones included.
	DeadOpen   int64           // Messages that died and wait for somebody to decide.
	Alerts     alerts.Counts   // On the board.
	Reconciled *reconcile.Run  // The newest that is done, without rows; nil where there is none or it could not be read.
}

// Discrepancies counts what the newest reconciliation found; known is false where there is none.
func (s FleetSnapshot) Discrepancies() (n int64, known bool) {
	if s.Reconciled == nil {
		return 0, false
	}
	return s.Reconciled.Report.Discrepancies(), true
}

// Snapshot returns the fleet at a glance.
func (s *Service) Snapshot(ctx context.Context) (FleetSnapshot, error) {
	return askAhead(ctx, s.cache, "snapshot", snapshotAge, func(ctx context.Context, now lifecycle.Micros) (out FleetSnapshot, err error) {
		out.AsOf = now
		if out.Counts, err = s.AllCounts(ctx); err != nil {
			return out, err
		}
		if out.Counts.Total() == 0 {
			seen, err := s.FirstSeen(ctx)
			if err != nil {
				return out, err
			}
			out.Deleted = seen.Known()
		}
		if out.Facets, err = s.Facets(ctx); err != nil {
			return out, err
		}
		if out.Consumers, err = s.Consumers(ctx); err != nil {
			return out, err
		}
		if out.Typical, err = s.Typical(ctx); err != nil {
			return out, err
		}
		if out.InFlight, err = s.InFlight(ctx); err != nil {
			return out, err
		}
		out.AgentNames = s.agentNames(out.Facets, out.Consumers, out.InFlight)
		if out.Gaps, err = s.RecentGaps(ctx); err != nil {
			return out, err
		}
		if out.DeadOpen, _, err = s.deadIn(ctx, dlqtriage.StatusOpen); err != nil {
			return out, err
		}
		if out.Alerts, err = s.AlertCounts(ctx); err != nil {
			return out, err
		}
		out.Reconciled = s.reconciled(ctx)
		return out, nil
	})
}

// deadIn counts the dead letters of a status; known is false where no store of them is configured.
func (s *Service) deadIn(ctx context.Context, status dlqtriage.Status) (n int64, known bool, err error) {
	n, err = s.CountEntries(ctx, dlqtriage.EntryFilter{Statuses: []dlqtriage.Status{status}})
	if errors.Is(err, errNoEntries) {
		return 0, false, nil
	}
	return n, err == nil, err
}

// reconciled is the newest report; nil where it cannot be read, so that the rest of the snapshot is still shown.
func (s *Service) reconciled(ctx context.Context) *reconcile.Run {
	made, err := s.Reconciled(ctx)
	if err != nil || made.Report == nil {
		return nil
	}
	return &made
}

// Reconciled returns the newest reconciliation that is done, without rows, or an error that wraps [lifecycle.ErrNotFound].
func (s *Service) Reconciled(ctx context.Context) (reconcile.Run, error) {
	if s.cfg.Reconcile == nil {
		return reconcile.Run{}, errors.Join(errors.New("nobody reconciles"), lifecycle.ErrNotFound)
	}
	return s.cfg.Reconcile.Latest(ctx)
}
