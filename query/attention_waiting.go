package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

const (
	untakenSample = 200             // How many of the oldest messages without a consumer are counted by agent.
	untakenAge    = 5 * time.Second // How long that is shared.
	pullPatience  = time.Minute     // How long messages may wait for a consumer that nobody asks.
)

// untaken finds the agents whose messages no consumer takes, those with most messages first.
func (s *Service) untaken(ctx context.Context) ([]Finding, error) {
	return ask(ctx, s.cache, "untaken", untakenAge, func(ctx context.Context, _ lifecycle.Micros) ([]Finding, error) {
		page, err := s.cfg.Store.ListTasks(ctx, UntakenTasks(), lifecycle.Page{Limit: untakenSample})
		if err != nil {
			return nil, err
		}
		byAgent := map[string]*Finding{}
		for _, t := range page.Tasks { // The oldest first.
			f := byAgent[t.Agent]
			if f == nil {
				f = &Finding{Kind: FindingNoConsumer, Agent: t.Agent, State: t.State, Since: t.PublishedAt, More: page.Next != nil}
				byAgent[t.Agent] = f
			}
			f.Count++
		}
		out := make([]Finding, 0, len(byAgent))
		for _, f := range byAgent {
			out = append(out, *f)
		}
		slices.SortFunc(out, func(a, b Finding) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Agent, b.Agent)) })
		return out, nil
	})
}

// UntakenTasks selects the tasks that wait and that no consumer takes, the oldest first.
func UntakenTasks(agents ...string) lifecycle.Filter {
	return lifecycle.Filter{
		States: []lifecycle.State{lifecycle.StatePublished}, Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalyOrphaned}, Agents: agents,
		Sort: lifecycle.SortPublished,
	}
}

// idle finds the consumers for which messages wait while nothing is done about it, those with most messages first.
func (s *Service) idle(snapshot FleetSnapshot) []Finding {
	var out []Finding
	for i := range snapshot.Consumers.All {
		c := &snapshot.Consumers.All[i]
		f := Finding{Count: int64(c.Pending), Consumer: c, Agent: s.cfg.AgentOf(c.Name), Since: cmp.Or(c.DeliveredAt, c.CreatedAt)}
		switch {
		case c.Pending == 0:
			continue
		case c.Gone:
			f.Kind, f.Since = FindingConsumerGone, c.ObservedAt
		case c.Paused:
			f.Kind = FindingPaused
		case c.AckPending == 0 && c.Waiting == 0 && f.Since.Known() && c.ObservedAt.Sub(f.Since) >= pullPatience:
			f.Kind = FindingNotPulled
		default:
			continue
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
