package web

import (
	"cmp"
	"fmt"
	"slices"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// cards are the agents that hold something, worst first, then the busiest ones.
func cards(b *board, day lifecycle.Tally) ([]views.AgentCard, int) {
	names := topKeys(b.Facets.Agents, len(b.Facets.Agents))
	slices.Sort(names)
	byAgent := agentTallies(day)
	holds := map[string]*lifecycle.Lease{}
	rank := map[string]int{}
	for i := range b.Leases {
		l := &b.Leases[i]
		if holds[l.Agent] == nil {
			holds[l.Agent] = l
			rank[l.Agent] = len(b.Leases) - i
		}
	}
	more := 0
	if len(names) > agentCards {
		slices.SortStableFunc(names, func(x, y string) int {
			return cmp.Or(cmp.Compare(rank[y], rank[x]), cmp.Compare(byAgent[y].completed, byAgent[x].completed))
		})
		more = len(names) - agentCards
		names = names[:agentCards]
		slices.Sort(names)
	}
	var out []views.AgentCard
	for _, name := range names {
		t := byAgent[name]
		card := views.AgentCard{Name: name, Href: agentAddress(name), Waiting: views.Count(t.waiting) + " waiting", Lease: holds[name],
			Foot: fmt.Sprintf("%s done, %s failed", views.Count(t.completed), views.Count(t.failed)), Idle: "holds nothing"}
		if at := lastDelivery(b, name); at.Known() {
			card.Idle = "last delivery " + views.Age(max(0, b.Now.Sub(at))) + " ago"
		}
		if card.Lease != nil {
			card.TaskHref = taskAddress(card.Lease.TaskID)
		}
		out = append(out, card)
	}
	return out, more
}

// agentTally is an agent's share of the rollups.
type agentTally struct{ published, completed, failed, died, waiting, tasks int64 }

func agentTallies(t lifecycle.Tally) map[string]agentTally {
	out := map[string]agentTally{}
	for c, n := range t {
		a := out[c.Agent]
		switch c.Metric {
		case lifecycle.MetricPublished:
			a.published += n
		case lifecycle.MetricCompleted:
			a.completed += n
		case lifecycle.MetricFailedAttempts:
			a.failed += n
		case lifecycle.MetricDied:
			a.died += n
		case lifecycle.MetricState:
			a.tasks += n
			if c.Label == string(lifecycle.StatePublished) {
				a.waiting += n
			}
		}
		out[c.Agent] = a
	}
	return out
}

func lastDelivery(b *board, agent string) lifecycle.Micros {
	var at lifecycle.Micros
	for _, c := range b.Consumers {
		if c.Name == fleet.WorkerName(agent) {
			at = max(at, c.DeliveredAt)
		}
	}
	return at
}
