package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// cards are the agents that hold something, worst first, then the busiest ones; at most agentCards, in the order of their names.
func cards(agents query.Agents, snap *query.FleetSnapshot) (out []views.AgentCard, more int) {
	shown := slices.Clone(agents.All)
	if len(shown) > agentCards {
		rank := map[string]int{}
		for i, l := range snap.InFlight.Leases {
			rank[l.Agent] = max(rank[l.Agent], len(snap.InFlight.Leases)-i)
		}
		slices.SortStableFunc(shown, func(x, y query.AgentStatistics) int {
			return cmp.Or(cmp.Compare(rank[y.Name], rank[x.Name]), cmp.Compare(y.Day.Completed, x.Day.Completed))
		})
		more = len(shown) - agentCards
		shown = shown[:agentCards]
		slices.SortFunc(shown, func(x, y query.AgentStatistics) int { return strings.Compare(x.Name, y.Name) })
	}
	for _, a := range shown {
		out = append(out, cardOf(a, snap))
	}
	return out, more
}

func cardOf(a query.AgentStatistics, snap *query.FleetSnapshot) views.AgentCard {
	card := views.AgentCard{Name: a.Name, Href: agentAddress(a.Name), Waiting: views.Count(a.Waiting()) + " waiting",
		Foot: fmt.Sprintf("%s completed, %s", views.Count(a.Day.Completed), counted(a.Day.Failed, "failed attempt", "failed attempts")), Activity: string(a.Activity(snap.AsOf)), Waits: a.Waiting() > 0, Seen: "never seen"}
	switch {
	case a.LastSeen.Known():
		card.Seen = "last seen " + views.AgoWords(snap.AsOf.Sub(a.LastSeen))
	case a.Activity(snap.AsOf) == query.ActivityUnseen: // That says already that it was never seen.
		card.Seen = "no consumer is known"
	}
	if len(a.Leases) > 0 {
		card.Lease, card.TaskHref = &a.Leases[0], lifecycle.PageOfTask(a.Leases[0].TaskID)
	}
	return card
}
