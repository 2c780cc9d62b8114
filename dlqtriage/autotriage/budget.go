package autotriage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// spent says which budget of the last hour is used up; empty where none is. Records of what was decided are counted, so that restarts and replicas
// share one budget.
func (d *Desk) spent(ctx context.Context, p dlqtriage.AutoPolicy, agent string) (string, error) {
	records, more, err := d.cfg.Store.Audit(ctx, decision.AuditFilter{
		Actor: Actor, Action: string(dlqtriage.ActionRetry), Outcome: decision.Allowed, From: d.cfg.now().Add(-time.Hour),
	}, nil, max(p.PerHour, 1))
	if err != nil {
		return "", fmt.Errorf("count decisions: %w", err)
	}
	if more != nil || len(records) >= p.PerHour {
		return fmt.Sprintf("auto-triage has applied %d plans in the last hour, which is its budget", p.PerHour), nil
	}
	n := 0
	for _, r := range records {
		e, err := d.cfg.Store.Entry(ctx, r.Target)
		if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
			return "", fmt.Errorf("read entry %s: %w", r.Target, err)
		}
		if e.Agent == agent {
			n++
		}
	}
	if n >= p.PerAgent {
		return fmt.Sprintf("auto-triage has applied %d plans for this agent in the last hour, which is its budget", p.PerAgent), nil
	}
	return "", nil
}
