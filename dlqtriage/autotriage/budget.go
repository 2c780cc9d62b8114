package autotriage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// overBudget are the budgets that were found to be used up in one look at all entries, so that they are not counted again for each. The zero value
// knows of none.
type overBudget struct {
	whole  string            // Why nothing more is applied; empty where something may be.
	agents map[string]string // The same, by agent.
}

// budget says which budget is known to be used up for an agent; empty for none.
func (o overBudget) budget(agent string) string { return cmp.Or(o.whole, o.agents[agent]) }

// spent says which budget of the last hour is used up; empty where none is.
func (d *Desk) spent(ctx context.Context, p dlqtriage.AutoPolicy, agent string) (why string, err error) {
	if why := d.over.budget(agent); why != "" {
		return why, nil
	}
	all, ofAgent, err := d.applied(ctx, p, agent)
	switch {
	case err != nil:
		return "", err
	case all >= p.PerHour:
		d.over.whole = fmt.Sprintf("auto-triage has applied %d plans in the last hour, which is its budget", p.PerHour)
		return d.over.whole, nil
	case ofAgent >= p.PerAgent:
		why = fmt.Sprintf("auto-triage has applied %d plans for this agent in the last hour, which is its budget", p.PerAgent)
		if d.over.agents == nil {
			d.over.agents = map[string]string{}
		}
		d.over.agents[agent] = why
	}
	return why, nil
}

// applied counts the plans that were applied in the last hour, up to the budget, and those for one agent. Records of what was decided are counted, so that
// restarts and replicas share one budget.
func (d *Desk) applied(ctx context.Context, p dlqtriage.AutoPolicy, agent string) (all, ofAgent int, err error) {
	records, more, err := d.cfg.Store.Audit(ctx, decision.AuditFilter{
		Actor: Actor, Action: string(dlqtriage.ActionRetry), Outcome: decision.Allowed, From: d.cfg.now().Add(-time.Hour),
	}, nil, max(p.PerHour, 1))
	if err != nil {
		return 0, 0, fmt.Errorf("count decisions: %w", err)
	}
	if more != nil || len(records) >= p.PerHour {
		return p.PerHour, 0, nil
	}
	for _, r := range records {
		e, err := d.cfg.Store.Entry(ctx, r.Target)
		if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
			return 0, 0, fmt.Errorf("read entry %s: %w", r.Target, err)
		}
		if e.Agent == agent {
			ofAgent++
		}
	}
	return len(records), ofAgent, nil
}
